import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { answerCall, type HttpAnswer } from './answering.ts';
import type { Cloud } from './cloud.ts';
import type { CloudInstance, CloudState } from './instance.ts';
import { markOf } from './marks.ts';
import type { Answer, Step } from './scripts.ts';

/** The body of a create, as REST v2 takes it: an unknown member is refused by name. */
const CreatePod = z.strictObject({
  name: z.string().min(1),
  image: z.string().min(1),
  gpu: z.strictObject({
    id: z.string().min(1),
    count: z.int().positive().default(1),
    minRamPerGpu: z.int().positive().optional(),
  }),
  cloud: z.enum(['SECURE', 'COMMUNITY']).default('SECURE'),
  disk: z.int().positive().default(50),
  ports: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  args: z.string().default(''),
  dataCenterIds: z.array(z.string()).optional(),
});

const STATUS: Readonly<Record<CloudState, string>> = {
  queued: 'PROVISIONING',
  provisioning: 'PROVISIONING',
  running: 'RUNNING',
  stopped: 'EXITED',
  error: 'ERROR',
  gone: 'TERMINATED',
};

/** GPU types that the catalogue knows. */
const GPU_TYPES = ['NVIDIA H100 80GB HBM3', 'NVIDIA A100-SXM4-80GB', 'NVIDIA GeForce RTX 4090'];

type ById = FastifyRequest<{ Params: { readonly id: string } }>;

/** Runpod's REST v2 as far as the driver uses it, below `/runpod/v2`. */
export function addRunpodApi(server: FastifyInstance, cloud: Cloud, portOf: () => number): void {
  const lane = 'runpod';
  const refuse = refusalOf;
  const show = (instance: CloudInstance) => podOf(instance, portOf());

  void server.register(
    async (api) => {
      api.addHook('onRequest', async (request, reply) => {
        if (/^Bearer \S+$/.test(request.headers.authorization ?? '')) return undefined;
        return reply
          .status(401)
          .header('content-type', 'application/problem+json')
          .send(JSON.stringify(problem(401, 'missing bearer token').body));
      });
      api.post('/pods', (request, reply) => {
        const parsed = CreatePod.safeParse(request.body);
        const act = (atMs: number): HttpAnswer => {
          if (!parsed.success)
            return problem(
              422,
              'Request validation failed.',
              parsed.error.issues.map((i) => i.message),
            );
          return { status: 201, body: show(createPod(cloud, parsed.data, atMs)) };
        };
        return answerCall(cloud, { lane, call: 'create', act, refuse }, reply);
      });
      api.get('/pods', (_request, reply) => {
        const act = () => ({ status: 200, body: { pods: cloud.listed(lane).map(show) } });
        return answerCall(cloud, { lane, call: 'list', act, refuse: refusedListOf(cloud, show) }, reply);
      });
      api.get('/pods/:id', (request: ById, reply) => {
        const act = () => {
          const found = cloud.readable(lane, request.params.id);
          return found === null ? problem(404, 'resource not found') : { status: 200, body: show(found) };
        };
        return answerCall(cloud, { lane, call: 'get', act, refuse }, reply);
      });
      api.delete('/pods/:id', (request: ById, reply) => {
        const act = (atMs: number): HttpAnswer => {
          const found = cloud.readable(lane, request.params.id);
          if (found === null) return problem(404, 'resource not found');
          if (found.locked) return problem(400, 'pod is locked and cannot be terminated');
          cloud.remove(found, 'api', atMs);
          return GONE;
        };
        return answerCall(cloud, { lane, call: 'terminate', act, pretend: () => GONE, refuse }, reply);
      });
      api.get('/catalog/gpus', (_request, reply) => {
        const gpus = GPU_TYPES.map((id) => ({ id, availability: 'HIGH', maxCount: { secure: 8 } }));
        return answerCall(
          cloud,
          { lane, call: 'probe_lane', act: () => ({ status: 200, body: { gpus } }), refuse },
          reply,
        );
      });
    },
    { prefix: '/runpod/v2' },
  );
}

const GONE: HttpAnswer = { status: 204, body: undefined };

function createPod(cloud: Cloud, wanted: z.infer<typeof CreatePod>, atMs: number): CloudInstance {
  return cloud.create(
    {
      lane: 'runpod',
      name: wanted.name,
      labels: wanted.env,
      mark: markOf(wanted.env),
      request: wanted,
      zone: wanted.dataCenterIds?.[0] ?? 'US-KS-2',
      pool: wanted.cloud,
      queues: false,
      startsWorkload: false,
    },
    atMs,
  );
}

function podOf(instance: CloudInstance, port: number): Readonly<Record<string, unknown>> {
  const wanted = CreatePod.partial().safeParse(instance.request);
  const { image = 'somebody/elses:latest', gpu, cloud: pool, disk = 50, ports = [] } = wanted.data ?? {};
  return {
    id: instance.id,
    name: instance.name,
    image,
    args: '',
    disk,
    ports,
    env: instance.labels,
    registry: null,
    status: STATUS[instance.state],
    actions: ['terminate'],
    gpu: { id: gpu?.id ?? GPU_TYPES[0], count: gpu?.count ?? 1, vcpuCount: 16, memory: 64 },
    cloud: pool ?? instance.pool ?? 'SECURE',
    dataCenterId: instance.zone,
    cost: instance.costPerHourUsd,
    locked: instance.locked,
    runtime: runtimeOf(instance, ports, port),
    // In another form than the log's.
    createdAt: new Date(instance.createdAtMs).toISOString().replace('Z', '000Z'),
    startedAt: instance.state === 'running' ? new Date(instance.createdAtMs).toISOString() : null,
  };
}

/** Ports are public once the pod runs. All agents are served by the stand-in itself. */
function runtimeOf(instance: CloudInstance, ports: readonly string[], port: number) {
  if (!instance.port) return {};
  return {
    uptime: 1,
    ports: ports.map((text) => {
      const [number, type] = text.split('/');
      return { private: Number(number), public: port, type, ip: '127.0.0.1' };
    }),
  };
}

function refusedListOf(cloud: Cloud, show: (instance: CloudInstance) => unknown) {
  return (answer: Answer, step: Step): HttpAnswer => {
    if (answer !== 'partial') return refusalOf(answer, step);
    // Nothing in the description says how a page would be announced: this is one of the ways.
    const [first] = cloud.listed('runpod');
    return {
      status: 200,
      body: { pods: first === undefined ? [] : [show(first)], nextCursor: 'abc' },
    };
  };
}

const REFUSALS: Readonly<Partial<Record<Answer, readonly [status: number, detail: string]>>> = {
  capacity: [
    400,
    'There are no longer any instances available with the requested specifications. Please refresh and try again.',
  ],
  quota: [400, 'You have reached the maximum number of GPUs for your account'],
  rejected: [422, 'Request validation failed.'],
  auth: [401, 'invalid bearer token'],
  balance: [402, 'insufficient balance'],
  rate_limited: [429, 'rate limit exceeded for the minute window'],
  not_found: [404, 'resource not found'],
  unavailable: [503, 'service unavailable'],
  error: [500, 'This machine does not have the resources to deploy your pod. Please try a different machine'],
};

function refusalOf(answer: Answer, step: Step): HttpAnswer {
  const [status, detail] = REFUSALS[answer] ?? [500, 'internal error'];
  return problem(step.status ?? status, detail);
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  500: 'Internal Server Error',
};

function problem(status: number, detail: string, errors?: readonly string[]): HttpAnswer {
  return {
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: { title: TITLES[status] ?? 'Error', status, detail, ...(errors === undefined ? {} : { errors }) },
  };
}
