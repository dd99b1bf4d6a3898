import { z } from 'zod';
import type { GuestPhase, InstanceState, LaneInstance } from '#domain/provision/lane';
import { createdAtOf } from '../created-at.ts';

const Terminated = z.object({ exitCode: z.number(), startedAt: z.string().nullish() });
const ContainerStatus = z.object({
  state: z
    .object({
      running: z.unknown().optional(),
      terminated: Terminated.optional(),
      waiting: z.unknown().optional(),
    })
    .default({}),
});

/** A pod of the API server, as far as it is read. */
const Pod = z.object({
  metadata: z.object({
    uid: z.string().min(1),
    name: z.string().min(1),
    labels: z.record(z.string(), z.string()).optional().nullable().catch(null),
    annotations: z.record(z.string(), z.string()).optional().nullable().catch(null),
    creationTimestamp: z.string().nullable().catch(null),
  }),
  spec: z
    .object({ nodeSelector: z.record(z.string(), z.string()).catch({}).default({}) })
    .default({ nodeSelector: {} }),
  status: z
    .object({
      phase: z.string().default('Pending'),
      reason: z.string().optional().catch(undefined),
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z.string().optional(),
            message: z.string().optional(),
          }),
        )
        .catch([])
        .default([]),
      initContainerStatuses: z.array(ContainerStatus).catch([]).default([]),
      containerStatuses: z.array(ContainerStatus).catch([]).default([]),
    })
    .default({ phase: 'Pending', conditions: [], initContainerStatuses: [], containerStatuses: [] }),
});
export type Pod = z.output<typeof Pod>;

const PodList = z.object({
  kind: z.literal('PodList'),
  metadata: z.object({ continue: z.string().optional(), remainingItemCount: z.number().optional() }),
  items: z.array(Pod),
});

/** A pod, or null when it cannot be read. */
export function readPod(json: unknown): Pod | null {
  return Pod.safeParse(json).data ?? null;
}

/** A page of a listing, or null when it or one pod of it cannot be read. */
export function readPage(
  json: unknown,
): { readonly pods: readonly Pod[]; readonly next: string | null } | null {
  const page = PodList.safeParse(json).data;
  if (page === undefined) return null;
  const next = page.metadata.continue ?? '';
  // More is said to be there, and no way to it: a part is no listing.
  if (next === '' && (page.metadata.remainingItemCount ?? 0) > 0) return null;
  return { pods: page.items, next: next === '' ? null : next };
}

export interface PodRef {
  readonly name: string;
  readonly uid: string;
}

/** The id of the lane: calls go by name, identity is the uid. */
export function idOf({ name, uid }: PodRef): string {
  return `${name}/${uid}`;
}

/** Null = no id that this lane has given. */
export function refOf(id: string): PodRef | null {
  const [, name, uid] = /^([a-z0-9][a-z0-9.-]*)\/([A-Za-z0-9-]+)$/.exec(id) ?? [];
  return name === undefined || uid === undefined ? null : { name, uid };
}

export const MARK = 'spillway/';
const NOT_KEPT: ReadonlySet<string> = new Set(['0', 'false', 'no']);

/** A pod in our words; `pools` gives each pool its node selector. */
export function instanceOf(
  pod: Pod,
  pools: ReadonlyMap<string, Readonly<Record<string, string>>>,
): LaneInstance {
  const { name, uid, labels, annotations, creationTimestamp } = pod.metadata;
  const mark = (member: string) => {
    const [label, note] = [labels?.[`${MARK}${member}`], annotations?.[`${MARK}${member}`]];
    // A label and a note that disagree are no marker: somebody has changed one of them.
    return label !== undefined && (note === undefined || note === label) ? label : null;
  };
  const keep = labels?.[`${MARK}keep`] ?? annotations?.[`${MARK}keep`] ?? labels?.['spillway-keep'];
  return {
    id: idOf({ name, uid }),
    name,
    marker: { deployment: mark('deployment'), allocation: mark('allocation'), intent: mark('intent') },
    keep: labels === null || annotations === null || (keep !== undefined && !NOT_KEPT.has(keep)),
    // A node that is not heard of may still run the pod.
    state: stateOf(pod) ?? 'running',
    pool: isPlaced(pod) ? poolOf(pod, pools) : null,
    zone: pod.spec.nodeSelector['topology.kubernetes.io/zone'] ?? null,
    createdAt: createdAtOf(creationTimestamp),
    costPerHourUsd: null,
  };
}

/** Null = the API server does not know itself (`Unknown`), or a phase that is not known here. */
export function stateOf(pod: Pod): InstanceState | null {
  switch (pod.status.phase) {
    case 'Pending':
      return isPlaced(pod) ? 'provisioning' : 'queued';
    case 'Running':
      return 'running';
    case 'Succeeded':
    case 'Failed':
      return 'terminated';
    default:
      return null;
  }
}

export interface PodGuest {
  readonly phase: GuestPhase;
  readonly workloadStarted: boolean | null;
}

/** Reasons by which a pod is taken from its node: its workload has not failed. */
const TAKEN_AWAY: ReadonlySet<string> = new Set([
  'Evicted',
  'Preempting',
  'Preempted',
  'NodeLost',
  'NodeShutdown',
  'Terminated',
]);

/** What its containers say; null = nothing that could be told from another thing. */
export function guestOf(pod: Pod): PodGuest | null {
  const { phase, reason, conditions, containerStatuses, initContainerStatuses } = pod.status;
  const started = containerStatuses.some(
    ({ state }) => state.running !== undefined || hasRun(state.terminated),
  );
  if (phase === 'Succeeded') return { phase: 'done', workloadStarted: true };
  if (phase === 'Running') {
    return started
      ? { phase: 'workload', workloadStarted: true }
      : { phase: 'setup', workloadStarted: false };
  }
  if (phase !== 'Failed') return null;

  const disrupted = conditions.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  if (disrupted || TAKEN_AWAY.has(reason ?? ''))
    return started ? { phase: 'workload', workloadStarted: true } : null;
  if (started) return { phase: 'failed', workloadStarted: true };
  const setupFailed = initContainerStatuses.some(({ state }) => (state.terminated?.exitCode ?? 0) !== 0);
  return setupFailed ? { phase: 'failed', workloadStarted: false } : null;
}

/** Why the scheduler has not placed a pod, in its own words; null = it has, or says nothing. */
export function waitingMessage(pod: Pod): string | null {
  const placed = pod.status.conditions.find(({ type }) => type === 'PodScheduled');
  return placed?.status === 'False' && placed.reason === 'Unschedulable' ? (placed.message ?? null) : null;
}

function isPlaced(pod: Pod): boolean {
  return pod.status.conditions.some(({ type, status }) => type === 'PodScheduled' && status === 'True');
}

function hasRun(terminated: z.output<typeof Terminated> | undefined): boolean {
  return terminated !== undefined && typeof terminated.startedAt === 'string';
}

/** The scheduler keeps to the selector, so a placed pod is in the pool whose selector it carries. */
function poolOf(pod: Pod, pools: ReadonlyMap<string, Readonly<Record<string, string>>>): string | null {
  for (const [pool, selector] of pools) {
    const wanted = Object.entries(selector);
    if (wanted.length > 0 && wanted.every(([key, value]) => pod.spec.nodeSelector[key] === value))
      return pool;
  }
  return null;
}
