import { z } from 'zod';
import { FailoverConsent } from '#events/plan';
import { withoutAbsent } from '../attempt/assess.ts';
import {
  invariantMembers,
  LogicalAllocation,
  MESSAGE_MAX_CHARS,
  optional,
  TEXT_MAX_CHARS,
  text,
  wholeNumber,
} from '../attempt/attempt-body.ts';
import { digest } from '../digest.ts';
import type { RingKey } from '../key-ring.ts';
import type { LaneDirectory } from './lane-directory.ts';
import { type LimitName, mostOf, WORKER_LEASE_MIN_S } from './limits.ts';

export const MESSAGE_ID_MAX_CHARS = 128;
export const RUNGS_MAX = 32;
/** Each zone is an intent, a create and a miss of its own. */
export const ZONES_MAX = 32;
/** An event holds no more than 256 KiB; a plan is recorded with what the launch left out filled in. */
const PLAN_MAX_BYTES = 192 * 1024;
/** Ids and zones stand in every miss, and all misses of a ladder in one event. */
const NAME_MAX_CHARS = 64;

/** An id that a caller chose for a launch or an observation (failover 2.1). */
export const MessageId = text(MESSAGE_ID_MAX_CHARS).min(1);

const word = text(TEXT_MAX_CHARS).min(1);
const name = text(NAME_MAX_CHARS).min(1);
const passage = text(MESSAGE_MAX_CHARS);
const count = wholeNumber.min(1);
/** Positive, and not beyond what a number holds exactly. */
const positive = z.number().gt(0).max(Number.MAX_SAFE_INTEGER);

const gpu = z.object({ family: optional(word), product: optional(word), count: optional(count) });

const workload = z.object({
  command: optional(passage.min(1)),
  arguments: optional(z.array(passage).min(1)),
  image: optional(word),
  branch: optional(word),
  env: optional(z.record(word, optional(passage))),
  outputs: optional(z.array(word)),
  disk_bytes: optional(count),
  memory_bytes: optional(count),
});

/** What a deployment lets a launch ask for. */
export interface LaunchBounds {
  readonly lanes: LaneDirectory;
  /** 60 wherever time is real; 0 in the simulation (failover 14). */
  readonly workerLeaseMinS?: number;
}

/**
 * The body of `POST .../launch` (failover 2.1). Unknown members are ignored at every level; null is absent. Lanes
 * must be known to the deployment, and every bad member is named at once.
 */
export function launchBody(bounds: LaunchBounds) {
  const { lanes, workerLeaseMinS = WORKER_LEASE_MIN_S } = bounds;
  const rung = z.object({
    id: name,
    lane: laneOf(lanes, ['primary', 'batch']),
    pool: word,
    zones: optional(z.array(name).max(ZONES_MAX)),
    machine: optional(word),
    gpu: optional(gpu),
    max_run_s: optional(positive),
  });
  return z
    .object({
      message_id: optional(MessageId),
      logical_allocation: LogicalAllocation,
      request: optional(z.object(invariantMembers)),
      plan: z.object({
        rungs: z.array(rung).min(1).max(RUNGS_MAX),
        budget_s: optional(positive),
        terminal: optional(
          z.object({
            lane: laneOf(lanes, ['terminal']),
            machine: optional(word),
            gpu: optional(gpu),
            disk_bytes: optional(count),
            memory_bytes: optional(count),
          }),
        ),
      }),
      workload: optional(workload),
      limits: optional(limitsShape(workerLeaseMinS)),
      failover: FailoverConsent,
    })
    .superRefine(
      (body, context) => {
        for (const { path, code } of contradictionsOf(body)) {
          context.addIssue({ code: 'custom', path: [...path], params: { code } });
        }
      },
      // Beside the rules of the single members, whatever they found: all bad members come at once.
      { when: () => true },
    );
}
export type LaunchBody = z.output<ReturnType<typeof launchBody>>;

/** Digest of the known members without the id: two bodies are the same launch when it is equal (failover 2). */
export function launchBodyDigest(body: LaunchBody, key: RingKey): string {
  const { message_id: _id, ...rest } = body;
  return digest(key.digests, 'launch-body', withoutAbsent(rest));
}

function laneOf(lanes: LaneDirectory, kinds: readonly string[]) {
  return word.refine((lane) => kinds.includes(lanes.get(lane)?.kind ?? ''), {
    params: { code: 'not_allowed' },
  });
}

function limit(name: LimitName) {
  return z.number().gt(0).max(mostOf(name));
}

function limitsShape(workerLeaseMinS: number) {
  return z.object({
    creates_per_day: optional(limit('creates_per_day')),
    queue_wait_s: optional(limit('queue_wait_s')),
    vanish_max_age_s: optional(limit('vanish_max_age_s')),
    boot_death_max_age_s: optional(limit('boot_death_max_age_s')),
    boot_deaths: optional(limit('boot_deaths')),
    max_reaps: optional(limit('max_reaps')),
    worker_lease_s: optional(limit('worker_lease_s').min(workerLeaseMinS)),
    capacity_retry_backoff_s: optional(limit('capacity_retry_backoff_s')),
    capacity_retries_per_day: optional(limit('capacity_retries_per_day')),
    wedge_stale_s: optional(limit('wedge_stale_s')),
    wedge_observations: optional(limit('wedge_observations')),
    wedge_span_s: optional(limit('wedge_span_s')),
    wedge_log_age_s: optional(limit('wedge_log_age_s')),
    wedge_budget_factor: optional(limit('wedge_budget_factor')),
    no_port_s: optional(limit('no_port_s')),
  } satisfies Record<LimitName, z.ZodType>);
}

const looseCount = z.number().nullish().catch(null);
const looseText = z.string().nullish().catch(null);
const looseGpu = z.object({ count: looseCount }).nullish().catch(null);

/** The members that are compared with each other, as far as each is of its type. */
const Compared = z.object({
  plan: z
    .object({
      rungs: z.array(z.object({ id: looseText, gpu: looseGpu }).nullish().catch(null)).catch([]),
      terminal: z
        .object({ gpu: looseGpu, disk_bytes: looseCount, memory_bytes: looseCount })
        .nullish()
        .catch(null),
    })
    .catch({ rungs: [], terminal: null }),
  workload: z
    .object({
      command: z.unknown().optional(),
      arguments: z.unknown().optional(),
      disk_bytes: looseCount,
      memory_bytes: looseCount,
    })
    .nullish()
    .catch(null),
});
type Compared = z.output<typeof Compared>;

function contradictionsOf(body: unknown): readonly Contradiction[] {
  const compared = Compared.safeParse(body);
  return compared.success ? [...oversized(body), ...contradictions(compared.data)] : [];
}

function oversized(body: unknown): readonly Contradiction[] {
  const planned = z.object({ plan: z.unknown() }).safeParse(body);
  const text = planned.success ? JSON.stringify(planned.data.plan) : undefined;
  const isTooLong = text !== undefined && new TextEncoder().encode(text).length > PLAN_MAX_BYTES;
  return isTooLong ? [{ path: ['plan'], code: 'too_long' }] : [];
}

interface Contradiction {
  readonly path: readonly (string | number)[];
  readonly code: 'required' | 'not_allowed' | 'out_of_range' | 'too_long';
}

function contradictions({ plan, workload }: Compared): readonly Contradiction[] {
  const { rungs, terminal } = plan;
  const found: Contradiction[] = [];
  for (const [index, rung] of rungs.entries()) {
    const id = rung?.id ?? null;
    if (id !== null && rungs.findIndex((other) => other?.id === id) < index) {
      found.push({ path: ['plan', 'rungs', index, 'id'], code: 'not_allowed' });
    }
  }
  const counts = rungs.flatMap((rung) => rung?.gpu?.count ?? []);
  if ((terminal?.gpu?.count ?? 0) > Math.min(...counts)) {
    found.push({ path: ['plan', 'terminal', 'gpu', 'count'], code: 'out_of_range' });
  }
  for (const member of ['disk_bytes', 'memory_bytes'] as const) {
    if ((terminal?.[member] ?? Number.POSITIVE_INFINITY) < (workload?.[member] ?? 0)) {
      found.push({ path: ['plan', 'terminal', member], code: 'out_of_range' });
    }
  }
  if (workload === null || workload === undefined) return found;
  const hasCommand = isGiven(workload.command);
  if (hasCommand && isGiven(workload.arguments)) {
    found.push({ path: ['workload', 'arguments'], code: 'not_allowed' });
  }
  if (!hasCommand && !isGiven(workload.arguments)) {
    found.push({ path: ['workload', 'command'], code: 'required' });
  }
  return found;
}

function isGiven(member: unknown): boolean {
  return member !== undefined && member !== null;
}
