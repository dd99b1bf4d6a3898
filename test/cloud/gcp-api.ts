import type { FastifyInstance, FastifyRequest } from 'fastify';
import { answerCall, type HttpAnswer } from './answering.ts';
import type { Cloud } from './cloud.ts';
import { guestAttributes, Insert, instanceBody } from './gcp-instance.ts';
import {
  type Operation,
  type OperationError,
  type Operations,
  OUR_USER,
  operationBody,
} from './gcp-operations.ts';
import { gcpError, gcpRefusal, OPERATION_ERRORS } from './gcp-words.ts';
import type { CloudInstance } from './instance.ts';
import { labelMarkOf, numericId } from './marks.ts';
import type { Answer, Step } from './scripts.ts';

type Named = FastifyRequest<{
  Params: { readonly project: string; readonly zone: string; readonly name: string };
  Querystring: { readonly requestId?: string };
}>;
type InZone = FastifyRequest<{
  Params: { readonly project: string; readonly zone: string };
  Querystring: { readonly requestId?: string; readonly filter?: string };
}>;
type Listed = FastifyRequest<{ Querystring: { readonly pageToken?: string } }>;

const ZONES = ['us-central1-a', 'us-central1-b', 'europe-west4-a'];
const ZERO_UUID = '00000000-0000-0000-0000-000000000000';

/** Google's Compute REST v1 as far as the driver uses it, below `/gcp/compute/v1`. */
export function addGcpApi(server: FastifyInstance, cloud: Cloud, operations: Operations): void {
  const lane = 'gcp';
  const refuse = gcpRefusal;
  const world = { cloud, operations };

  void server.register(
    async (api) => {
      api.addHook('onRequest', async (request, reply) => {
        if (/^Bearer \S+$/.test(request.headers.authorization ?? '')) return undefined;
        return reply.status(401).send(gcpError(401, 'required', 'Login Required').body);
      });
      api.post('/zones/:zone/instances', (request: InZone, reply) =>
        answerCall(
          cloud,
          {
            lane,
            call: 'create',
            act: (atMs) => insert(world, request, atMs),
            refuse: (answer, step) => refusedInsert(world, request, answer, step),
          },
          reply,
        ),
      );
      const follow = (request: Named) => (): HttpAnswer => {
        const found = operations.named(request.params.zone, request.params.name);
        if (found === null) return gcpError(404, 'notFound', 'operation not found');
        return { status: 200, body: operationBody(found, cloud.nowMs()) };
      };
      api.get('/zones/:zone/operations/:name', (request: Named, reply) =>
        answerCall(cloud, { lane, call: 'follow', act: follow(request), refuse }, reply),
      );
      api.post('/zones/:zone/operations/:name/wait', (request: Named, reply) =>
        answerCall(cloud, { lane, call: 'follow', act: follow(request), refuse }, reply),
      );
      api.get('/zones/:zone/operations', (request: InZone, reply) => {
        const act = () => {
          const targetId = /targetId\s*=\s*"?(\d+)"?/.exec(request.query.filter ?? '')?.[1] ?? '';
          const items = operations
            .ofTarget(request.params.zone, targetId)
            .map((operation) => operationBody(operation, cloud.nowMs()));
          return {
            status: 200,
            body: { kind: 'compute#operationList', ...(items.length === 0 ? {} : { items }) },
          };
        };
        return answerCall(cloud, { lane, call: 'operations', act, refuse }, reply);
      });
      api.get('/aggregated/instances', (request: Listed, reply) => {
        const act = () => ({ status: 200, body: pageOf(cloud, request.query.pageToken) });
        return answerCall(cloud, { lane, call: 'list', act, refuse: refusedListOf(cloud) }, reply);
      });
      api.get('/zones/:zone/instances/:name', (request: Named, reply) => {
        const act = () => {
          const found = namedIn(cloud, request.params.zone, request.params.name);
          return found === null ? notFound(request.params.name) : { status: 200, body: instanceBody(found) };
        };
        return answerCall(cloud, { lane, call: 'get', act, refuse }, reply);
      });
      api.get('/zones/:zone/instances/:name/getGuestAttributes', (request: Named, reply) => {
        const act = () => {
          const found = namedIn(cloud, request.params.zone, request.params.name);
          const body = found === null ? null : guestAttributes(found, cloud.nowMs());
          return body === null ? notFound('guest attributes') : { status: 200, body };
        };
        return answerCall(cloud, { lane, call: 'guest', act, refuse }, reply);
      });
      api.delete('/zones/:zone/instances/:name', (request: Named, reply) =>
        answerCall(
          cloud,
          {
            lane,
            call: 'terminate',
            act: (atMs) => remove(world, request, atMs),
            pretend: () => startedDelete(world, request, false),
            refuse,
          },
          reply,
        ),
      );
      api.get('/zones/:zone/machineTypes/:name', (request: Named, reply) => {
        const known = ZONES.includes(request.params.zone) && /^[a-z]\d+[a-z]?-/.test(request.params.name);
        const act = () =>
          known ? { status: 200, body: { name: request.params.name } } : notFound(request.params.name);
        return answerCall(cloud, { lane, call: 'probe_lane', act, refuse }, reply);
      });
      // Its quotas are never scripted to fail: without an answer there is no opinion to test.
      api.get('/regions/:region', async () => {
        const { gpuLimit } = cloud.behaviour.gcp;
        const usage = cloud.existing(lane).filter(({ state }) => state === 'running').length;
        const quotas = ['', 'PREEMPTIBLE_'].map((pool) => ({
          metric: `${pool}NVIDIA_H100_GPUS`,
          limit: gpuLimit,
          usage,
        }));
        return { kind: 'compute#region', quotas: gpuLimit === null ? [] : quotas };
      });
    },
    { prefix: '/gcp/compute/v1/projects/:project' },
  );
}

interface World {
  readonly cloud: Cloud;
  readonly operations: Operations;
}

function insert({ cloud, operations }: World, request: InZone, atMs: number): HttpAnswer {
  const { zone } = request.params;
  const parsed = Insert.safeParse(request.body);
  const requestId = request.query.requestId ?? null;
  if (!parsed.success) return gcpError(400, 'invalid', parsed.error.issues[0]?.message ?? 'invalid');
  if (requestId === ZERO_UUID) return gcpError(400, 'invalid', 'requestId must not be zero');

  const body = JSON.stringify(request.body);
  const before = requestId === null ? null : operations.ofRequest(zone, requestId);
  if (before !== null) {
    if (before.body !== body) return gcpError(400, 'invalid', 'requestId was used with another request');
    return { status: 200, body: operationBody(before, cloud.nowMs()) };
  }
  if (existingIn(cloud, zone, parsed.data.name) !== null) {
    return gcpError(409, 'alreadyExists', `The resource '${parsed.data.name}' already exists`);
  }
  const { scheduling: asked } = parsed.data;
  const provisioningModel = cloud.behaviour.gcp.deliversAs ?? asked.provisioningModel;
  const instance = cloud.create(
    {
      lane: 'gcp',
      id: numericId(),
      name: parsed.data.name,
      labels: parsed.data.labels,
      mark: labelMarkOf(parsed.data.labels),
      request: { ...parsed.data, scheduling: { ...asked, provisioningModel } },
      zone,
      pool: provisioningModel,
      queues: provisioningModel === 'FLEX_START',
      startsWorkload: parsed.data.metadata?.items.some(({ key }) => key === 'spillway-workload') ?? false,
    },
    atMs,
  );
  return begun(
    { cloud, operations },
    request,
    { target: instance.id, name: instance.name, body, errors: [] },
    atMs,
  );
}

/** A refusal that comes by the operation: the insert itself is taken, and nothing is left behind. */
function refusedInsert(world: World, request: InZone, answer: Answer, step: Step): HttpAnswer {
  const errors = OPERATION_ERRORS[answer];
  if (errors === undefined || step.status !== undefined) return gcpRefusal(answer, step);
  const name = Insert.partial().safeParse(request.body).data?.name ?? 'unnamed';
  const body = JSON.stringify(request.body);
  return begun(world, request, { target: numericId(), name, body, errors }, world.cloud.nowMs());
}

function begun(
  { cloud, operations }: World,
  request: InZone,
  {
    target,
    name,
    body,
    errors,
  }: { target: string; name: string; body: string; errors: readonly OperationError[] },
  atMs: number,
): HttpAnswer {
  const operation: Operation = operations.add({
    zone: request.params.zone,
    type: 'insert',
    targetId: target,
    targetName: name,
    user: OUR_USER,
    requestId: request.query.requestId ?? null,
    body,
    beganAtMs: atMs,
    doneAtMs: atMs + cloud.behaviour.gcp.operationS * 1_000,
    errors,
  });
  // The first answer is never the last word: whoever wants that follows the operation.
  return { status: 200, body: { ...operationBody(operation, atMs - 1), status: 'PENDING' } };
}

function remove(world: World, request: Named, atMs: number): HttpAnswer {
  const found = namedIn(world.cloud, request.params.zone, request.params.name);
  if (found === null) return notFound(request.params.name);
  if (found.locked) return gcpError(400, 'resourceInUseByAnotherResource', 'deletion protection is enabled');
  world.cloud.remove(found, 'api', atMs);
  return deleteOperation(world, request, found, true);
}

function startedDelete(world: World, request: Named, done: boolean): HttpAnswer {
  const found = namedIn(world.cloud, request.params.zone, request.params.name);
  return found === null ? notFound(request.params.name) : deleteOperation(world, request, found, done);
}

function deleteOperation(world: World, request: Named, target: CloudInstance, done: boolean): HttpAnswer {
  const { cloud, operations } = world;
  const nowMs = cloud.nowMs();
  const operation = operations.add({
    zone: request.params.zone,
    type: 'delete',
    targetId: target.id,
    targetName: target.name,
    user: OUR_USER,
    requestId: request.query.requestId ?? null,
    body: '',
    beganAtMs: nowMs,
    doneAtMs: done ? nowMs : Number.POSITIVE_INFINITY,
    errors: [],
  });
  return { status: 200, body: { ...operationBody(operation, nowMs - 1), status: 'PENDING' } };
}

function pageOf(cloud: Cloud, pageToken: string | undefined): Readonly<Record<string, unknown>> {
  const from = Number(pageToken ?? '0');
  const all = cloud.listed('gcp');
  const page = all.slice(from, from + cloud.behaviour.gcp.pageSize);
  const zones = new Set([...ZONES, ...page.map(({ zone }) => zone)]);
  const items = Object.fromEntries(
    [...zones].map((zone) => {
      const instances = page.filter((instance) => instance.zone === zone).map(instanceBody);
      const none = { warning: { code: 'NO_RESULTS_ON_PAGE', message: `No results for zones/${zone}.` } };
      return [`zones/${zone}`, instances.length === 0 ? none : { instances }];
    }),
  );
  const next = from + page.length;
  return {
    kind: 'compute#instanceAggregatedList',
    items,
    ...(next < all.length ? { nextPageToken: `${next}` } : {}),
  };
}

function refusedListOf(cloud: Cloud) {
  return (answer: Answer, step: Step): HttpAnswer => {
    if (answer !== 'partial') return gcpRefusal(answer, step);
    return { status: 200, body: { ...pageOf(cloud, '0'), unreachables: ['zones/us-central1-b'] } };
  };
}

/** As a read sees it: not yet what is too new. */
function namedIn(cloud: Cloud, zone: string, name: string): CloudInstance | null {
  const found = existingIn(cloud, zone, name);
  return found === null ? null : cloud.readable('gcp', found.id);
}

function existingIn(cloud: Cloud, zone: string, name: string): CloudInstance | null {
  return (
    cloud.existing('gcp').find((one) => one.zone === zone && (one.name === name || one.id === name)) ?? null
  );
}

function notFound(name: string): HttpAnswer {
  return gcpError(404, 'notFound', `The resource '${name}' was not found`);
}
