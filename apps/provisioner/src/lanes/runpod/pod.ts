import { z } from 'zod';
import type { InstanceState, LaneInstance } from '#domain/provision/lane';
import { createdAtOf } from '../created-at.ts';

const Port = z.object({ private: z.number(), public: z.number(), ip: z.string() });

/** A pod as REST v2 shows it, as far as it is read. What is not needed to know whose it is may be unreadable. */
const Pod = z.object({
  id: z.string().min(1),
  name: z.string(),
  status: z.string(),
  env: z.record(z.string(), z.string()).nullable().catch(null),
  locked: z.boolean().nullable().catch(null),
  cloud: z.string().nullable().catch(null),
  dataCenterId: z.string().nullable().catch(null),
  cost: z.number().nonnegative().nullable().catch(null),
  createdAt: z.string().nullable().catch(null),
  runtime: z
    .object({ ports: z.array(Port).nullable().catch(null) })
    .nullable()
    .catch(null),
});
export type Pod = z.output<typeof Pod>;

/** The answer to a listing. A member that speaks of more pages makes it a part, which is no listing. */
const PodList = z.looseObject({ pods: z.array(Pod) });
const SPEAKS_OF_MORE = /pag[ei]|cursor|next|more|truncat|offset|total|count/i;

/** A pod, or null when it cannot be read. */
export function podOf(json: unknown): Pod | null {
  return Pod.safeParse(json).data ?? null;
}

/** All pods of an answer, or null when one of them cannot be read or the answer is only a part. */
export function podsOf(json: unknown): readonly Pod[] | null {
  const list = PodList.safeParse(json).data;
  if (list === undefined) return null;
  const hints = Object.entries(list).filter(([member]) => SPEAKS_OF_MORE.test(member));
  return hints.every(([, value]) => saysNothing(value) || value === list.pods.length) ? list.pods : null;
}

/** A pod that has been deleted can stand in an answer for a while; it counts as absent (providers 3). */
export function isGone(pod: Pod): boolean {
  return pod.status === 'TERMINATED';
}

/** A pod in our words. */
export function instanceOf(pod: Pod): LaneInstance {
  return {
    id: pod.id,
    name: pod.name,
    marker: {
      deployment: pod.env?.SPILLWAY_DEPLOYMENT ?? null,
      allocation: pod.env?.SPILLWAY_ALLOCATION ?? null,
      intent: pod.env?.SPILLWAY_INTENT ?? null,
    },
    keep: pod.locked !== false || pod.env === null || isKept(pod.env.SPILLWAY_KEEP),
    state: stateOf(pod.status),
    // REST v2 rents nothing that can be taken away again.
    pool: pod.cloud === null ? null : 'on-demand',
    zone: pod.dataCenterId,
    createdAt: createdAtOf(pod.createdAt),
    costPerHourUsd: pod.cost,
  };
}

const STATES: ReadonlyMap<string, InstanceState> = new Map([
  ['PROVISIONING', 'provisioning'],
  ['STARTING', 'provisioning'],
  ['RUNNING', 'running'],
  ['EXITED', 'terminated'],
  ['ERROR', 'terminated'],
]);

/**
 * A status that is not known counts as running: such a pod bills, and whoever wants to do something to it has
 * to ask the pod itself first.
 */
function stateOf(status: string): InstanceState {
  return STATES.get(status) ?? 'running';
}

const NOT_KEPT: ReadonlySet<string> = new Set(['', '0', 'false', 'no']);

function isKept(mark: string | undefined): boolean {
  return mark !== undefined && !NOT_KEPT.has(mark.trim().toLowerCase());
}

function saysNothing(value: unknown): boolean {
  return value === null || value === false || value === '';
}
