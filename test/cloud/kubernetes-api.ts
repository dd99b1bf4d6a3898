import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { answerCall, type HttpAnswer } from './answering.ts';
import type { Cloud } from './cloud.ts';
import type { CloudInstance, CloudState } from './instance.ts';
import { labelMarkOf } from './marks.ts';
import type { Answer, Step } from './scripts.ts';

const NewPod = z.object({
  metadata: z.object({
    name: z.string().max(63),
    labels: z.record(z.string(), z.string().max(63)).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.looseObject({
    nodeSelector: z.record(z.string(), z.string()).default({}),
    containers: z.array(z.looseObject({ name: z.string(), image: z.string() })).min(1),
  }),
});
const DeleteOptions = z.object({ preconditions: z.object({ uid: z.string() }).optional() }).nullish();

type InNamespace = FastifyRequest<{
  Params: { readonly namespace: string };
  Querystring: { readonly continue?: string };
}>;
type Named = FastifyRequest<{ Params: { readonly namespace: string; readonly name: string } }>;

/** Pods of a Kubernetes API server as far as the driver uses them, below `/kubernetes`. */
export function addKubernetesApi(server: FastifyInstance, cloud: Cloud): void {
  const lane = 'kubernetes';
  const refuse = refusalOf;

  void server.register(
    async (api) => {
      api.addHook('onRequest', async (request, reply) => {
        if (/^Bearer \S+$/.test(request.headers.authorization ?? '')) return undefined;
        return reply.status(401).send(status(401, 'Unauthorized', 'Unauthorized').body);
      });
      api.post('/namespaces/:namespace/pods', (request: InNamespace, reply) =>
        answerCall(
          cloud,
          { lane, call: 'create', act: (atMs) => create(cloud, request, atMs), refuse },
          reply,
        ),
      );
      api.get('/namespaces/:namespace/pods', (request: InNamespace, reply) => {
        const act = () => ({ status: 200, body: pageOf(cloud, request, false) });
        const refuseList = (answer: Answer, step: Step): HttpAnswer =>
          answer === 'partial'
            ? { status: 200, body: pageOf(cloud, request, true) }
            : refusalOf(answer, step);
        return answerCall(cloud, { lane, call: 'list', act, refuse: refuseList }, reply);
      });
      api.get('/namespaces/:namespace/pods/:name', (request: Named, reply) => {
        const act = () => {
          const found = readable(cloud, request);
          return found === null ? notFound(request.params.name) : { status: 200, body: podBody(found) };
        };
        return answerCall(cloud, { lane, call: 'get', act, refuse }, reply);
      });
      api.delete('/namespaces/:namespace/pods/:name', (request: Named, reply) => {
        const pretend = (): HttpAnswer => ({ status: 200, body: { kind: 'Status', status: 'Success' } });
        return answerCall(
          cloud,
          { lane, call: 'terminate', act: (atMs) => remove(cloud, request, atMs), pretend, refuse },
          reply,
        );
      });
    },
    { prefix: '/kubernetes/api/v1' },
  );
}

function create(cloud: Cloud, request: InNamespace, atMs: number): HttpAnswer {
  const parsed = NewPod.safeParse(request.body);
  if (!parsed.success) return status(422, 'Invalid', parsed.error.issues[0]?.message ?? 'invalid');
  const { metadata, spec } = parsed.data;
  const { namespace } = request.params;
  if (existing(cloud, namespace, metadata.name) !== null) {
    return status(409, 'AlreadyExists', `pods "${metadata.name}" already exists`);
  }
  const made = cloud.create(
    {
      lane: 'kubernetes',
      id: randomUUID(),
      name: metadata.name,
      labels: metadata.labels,
      mark: labelMarkOf(metadata.labels),
      request: { metadata, spec },
      zone: namespace,
      pool: null,
      // Behaviour `queueS` null = there is room at once.
      queues: cloud.behaviour.kubernetes.queueS !== null,
      startsWorkload: spec.containers.some((container) => 'command' in container),
    },
    atMs,
  );
  return { status: 201, body: podBody(made) };
}

function remove(cloud: Cloud, request: Named, atMs: number): HttpAnswer {
  const found = readable(cloud, request);
  if (found === null) return notFound(request.params.name);
  const uid = DeleteOptions.safeParse(request.body).data?.preconditions?.uid;
  if (uid !== undefined && uid !== found.id) {
    return status(
      409,
      'Conflict',
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found.id}`,
    );
  }
  if (found.locked) return status(403, 'Forbidden', 'admission webhook denied the request: it is locked');
  cloud.remove(found, 'api', atMs);
  return { status: 200, body: podBody(found) };
}

function pageOf(cloud: Cloud, request: InNamespace, partial: boolean): Readonly<Record<string, unknown>> {
  const from = Number(request.query.continue ?? '0');
  const all = cloud.listed('kubernetes').filter(({ zone }) => zone === request.params.namespace);
  const page = all.slice(from, from + cloud.behaviour.kubernetes.pageSize);
  const next = from + page.length;
  const more = next < all.length ? { continue: String(next), remainingItemCount: all.length - next } : {};
  return {
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '1', ...(partial ? { remainingItemCount: 3 } : more) },
    items: page.map(podBody),
  };
}

const PHASE: Readonly<Record<CloudState, string>> = {
  queued: 'Pending',
  provisioning: 'Pending',
  running: 'Running',
  stopped: 'Succeeded',
  error: 'Failed',
  gone: 'Succeeded',
};

function podBody(instance: CloudInstance): Readonly<Record<string, unknown>> {
  const wanted = NewPod.safeParse(instance.request).data;
  const failed = instance.guest?.phase === 'failed' || instance.state === 'error';
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: instance.name,
      namespace: instance.zone,
      uid: instance.id,
      labels: instance.labels,
      annotations: wanted?.metadata.annotations ?? {},
      // The API server writes whole seconds.
      creationTimestamp: new Date(instance.createdAtMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    },
    spec: { nodeSelector: wanted?.spec.nodeSelector ?? {}, containers: wanted?.spec.containers ?? [] },
    status: {
      phase: instance.state === 'stopped' && failed ? 'Failed' : PHASE[instance.state],
      conditions: [scheduledOf(instance)],
      containerStatuses: containersOf(instance, failed),
    },
  };
}

function scheduledOf({ state, message }: CloudInstance) {
  if (state !== 'queued') return { type: 'PodScheduled', status: 'True' };
  const words =
    message ??
    '0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: 0/4 nodes are available: 4 No preemption victims found for incoming pod.';
  return { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: words };
}

function containersOf({ state, guest, createdAtMs }: CloudInstance, failed: boolean) {
  const startedAt = new Date(createdAtMs).toISOString();
  const started = guest?.workloadStarted === true;
  if (state === 'running') return [{ state: started ? { running: { startedAt } } : { waiting: {} } }];
  if (state !== 'stopped' && state !== 'error') return [];
  return [{ state: { terminated: { exitCode: failed ? 1 : 0, ...(started ? { startedAt } : {}) } } }];
}

function existing(cloud: Cloud, namespace: string, name: string): CloudInstance | null {
  return cloud.existing('kubernetes').find((pod) => pod.zone === namespace && pod.name === name) ?? null;
}

function readable(cloud: Cloud, request: Named): CloudInstance | null {
  const found = existing(cloud, request.params.namespace, request.params.name);
  return found === null ? null : cloud.readable('kubernetes', found.id);
}

function notFound(name: string): HttpAnswer {
  return status(404, 'NotFound', `pods "${name}" not found`);
}

const REFUSALS: Readonly<Partial<Record<Answer, readonly [code: number, reason: string, message: string]>>> =
  {
    quota: [
      403,
      'Forbidden',
      'pods "x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8',
    ],
    rejected: [422, 'Invalid', 'Pod "x" is invalid: spec.containers[0].image: Required value'],
    auth: [401, 'Unauthorized', 'Unauthorized'],
    rate_limited: [429, 'TooManyRequests', 'too many requests, please try again later'],
    not_found: [404, 'NotFound', 'pods "x" not found'],
    unavailable: [503, 'ServiceUnavailable', 'the server is currently unable to handle the request'],
    error: [500, 'InternalError', 'Internal error occurred: 4 Insufficient nvidia.com/gpu'],
  };

function refusalOf(answer: Answer, step: Step): HttpAnswer {
  const [code, reason, message] = REFUSALS[answer] ?? [500, 'InternalError', 'Internal error occurred'];
  return status(step.status ?? code, reason, message);
}

function status(code: number, reason: string, message: string): HttpAnswer {
  return {
    status: code,
    body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code },
  };
}
