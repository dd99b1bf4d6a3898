import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Cloud } from './cloud.ts';
import type { CloudInstance } from './instance.ts';
import { CLOUD_CALLS, CLOUD_LANES, Step } from './scripts.ts';

/** `POST /_cloud/script`: how the next calls of one kind are answered. */
export const ScriptOrder = z.strictObject({
  lane: z.enum(CLOUD_LANES),
  call: z.enum(CLOUD_CALLS),
  steps: z.array(Step),
  /** After the last step the call works again, instead of repeating that step. */
  once: z.boolean().default(false),
});

/** `POST /_cloud/behaviour`: how instances of a lane behave from now on; members not given stay. */
export const BehaviourOrder = z.strictObject({
  lane: z.enum(CLOUD_LANES),
  listLagS: z.number().nonnegative().optional(),
  getLagS: z.number().nonnegative().optional(),
  queueS: z.number().nonnegative().nullable().optional(),
  queueEndsIn: z.enum(['placed', 'vanished']).optional(),
  startS: z.number().nonnegative().optional(),
  startEndsIn: z.enum(['running', 'error', 'vanished']).optional(),
  bootstrapS: z.number().nonnegative().optional(),
  bootstrapEndsIn: z.enum(['complete', 'failed', 'stuck']).optional(),
  workloadS: z.number().nonnegative().nullable().optional(),
  workloadEndsIn: z.enum(['done', 'failed', 'wedged']).optional(),
  pageSize: z.int().positive().optional(),
  operationS: z.number().nonnegative().optional(),
  gpuLimit: z.number().nonnegative().nullable().optional(),
  deliversAs: z.enum(['STANDARD', 'SPOT', 'FLEX_START']).nullable().optional(),
});

/** `POST /_cloud/instances`: an instance that somebody else made, whatever it carries. */
export const ForeignOrder = z.strictObject({
  lane: z.enum(CLOUD_LANES),
  name: z.string(),
  /** Env of a pod; labels of a machine or a job. */
  labels: z.record(z.string(), z.string()).default({}),
  state: z.enum(['queued', 'provisioning', 'running', 'stopped', 'error']).default('running'),
  locked: z.boolean().default(false),
  zone: z.string().nullable().default(null),
  pool: z.string().nullable().default(null),
  bootstrap: z.enum(['not_begun', 'begun', 'failed', 'complete']).default('complete'),
  workload: z.enum(['none', 'running', 'finished']).default('none'),
  result: z.enum(['done', 'failed']).nullable().default(null),
});

/** `POST /_cloud/instances/:id`: what happens to an instance. Members are applied in this order. */
export const InstanceOrder = z.strictObject({
  state: z.enum(['queued', 'provisioning', 'running', 'stopped', 'error']).optional(),
  locked: z.boolean().optional(),
  port: z.boolean().optional(),
  message: z.string().nullable().optional(),
  guest: z.strictObject({ phase: z.string(), workloadStarted: z.boolean().nullable() }).nullable().optional(),
  logAgeS: z.number().nullable().optional(),
  agent: z
    .strictObject({
      bootstrap: z.enum(['not_begun', 'begun', 'failed', 'complete']).optional(),
      workload: z.enum(['none', 'running', 'finished']).optional(),
      result: z.enum(['done', 'failed']).nullable().optional(),
      answers: z.boolean().optional(),
    })
    .optional(),
  /** The workload ends. */
  workload: z.enum(['done', 'failed', 'wedged']).optional(),
  /** `provider` = it vanishes and no delete operation is kept; `person` = somebody deletes it. */
  remove: z.enum(['provider', 'person']).optional(),
});

type ById = FastifyRequest<{ Params: { readonly id: string } }>;

/** How a test or a demo moves the world. Not part of any provider. */
export function addAdminApi(
  server: FastifyInstance,
  cloud: Cloud,
  addForeign: (order: z.infer<typeof ForeignOrder>) => CloudInstance,
): void {
  server.post('/_cloud/script', async (request, reply) => {
    const { lane, call, steps, once } = ScriptOrder.parse(request.body);
    cloud.scripts.set(lane, call, steps, once);
    return reply.status(204).send();
  });
  server.post('/_cloud/behaviour', async (request, reply) => {
    const { lane, ...given } = BehaviourOrder.parse(request.body);
    Object.assign(cloud.behaviour[lane], given);
    return reply.status(204).send();
  });
  server.post('/_cloud/instances', async (request) => {
    cloud.settle();
    return { id: addForeign(ForeignOrder.parse(request.body)).id };
  });
  server.post('/_cloud/instances/:id', async (request: ById, reply) => {
    cloud.settle();
    const found = cloud.instances.get(request.params.id);
    if (found === undefined) return reply.status(404).send({ error: 'no such instance' });
    change(cloud, found, InstanceOrder.parse(request.body));
    return reply.status(204).send();
  });
  server.post('/_cloud/settle', async (_request, reply) => {
    cloud.settle();
    return reply.status(204).send();
  });
  server.get('/_cloud/ledger', async () => cloud.report());
  server.get('/_cloud/health', async () => ({ status: 'ok' }));
}

function change(cloud: Cloud, instance: CloudInstance, order: z.infer<typeof InstanceOrder>): void {
  if (order.state !== undefined) cloud.setState(instance, order.state);
  if (order.locked !== undefined) instance.locked = order.locked;
  if (order.port !== undefined) instance.port = order.port;
  if (order.message !== undefined) instance.message = order.message;
  if (order.guest !== undefined) instance.guest = order.guest;
  if (order.logAgeS !== undefined) instance.logAgeS = order.logAgeS;
  if (order.agent !== undefined) Object.assign(instance.agent, order.agent);
  if (order.workload !== undefined) cloud.endWorkload(instance, order.workload);
  if (order.remove !== undefined) cloud.remove(instance, order.remove);
}
