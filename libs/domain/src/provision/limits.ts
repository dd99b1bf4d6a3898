import { z } from 'zod';
import { Limits } from '#events/plan';

/** A limit's name in a body and in the configuration, its name in a plan, and its built-in default (failover 5). */
interface LimitRow {
  readonly sentAs: string;
  readonly member: keyof Limits;
  readonly builtIn: number;
}

/** Every limit there is, in the order of failover 5. */
export const LIMITS = [
  { sentAs: 'creates_per_day', member: 'createsPerDay', builtIn: 16 },
  { sentAs: 'queue_wait_s', member: 'queueWaitS', builtIn: 600 },
  { sentAs: 'vanish_max_age_s', member: 'vanishMaxAgeS', builtIn: 1_500 },
  { sentAs: 'boot_death_max_age_s', member: 'bootDeathMaxAgeS', builtIn: 1_500 },
  { sentAs: 'boot_deaths', member: 'bootDeaths', builtIn: 2 },
  { sentAs: 'max_reaps', member: 'maxReaps', builtIn: 2 },
  { sentAs: 'worker_lease_s', member: 'workerLeaseS', builtIn: 60 },
  { sentAs: 'capacity_retry_backoff_s', member: 'capacityRetryBackoffS', builtIn: 3_600 },
  { sentAs: 'capacity_retries_per_day', member: 'capacityRetriesPerDay', builtIn: 4 },
  { sentAs: 'wedge_stale_s', member: 'wedgeStaleS', builtIn: 900 },
  { sentAs: 'wedge_observations', member: 'wedgeObservations', builtIn: 2 },
  { sentAs: 'wedge_span_s', member: 'wedgeSpanS', builtIn: 480 },
  { sentAs: 'wedge_log_age_s', member: 'wedgeLogAgeS', builtIn: 1_800 },
  { sentAs: 'wedge_budget_factor', member: 'wedgeBudgetFactor', builtIn: 2 },
  { sentAs: 'no_port_s', member: 'noPortS', builtIn: 900 },
] as const satisfies readonly LimitRow[];

export type LimitName = (typeof LIMITS)[number]['sentAs'];

/** Limits as they are sent: what is absent takes the deployment's. */
export type SentLimits = { readonly [Name in LimitName]?: number | undefined };

/** A lease that ends before a slow call does lets two workers act at once (failover 14). */
export const WORKER_LEASE_MIN_S = 60;

/** The log keeps no longer lease: whoever dies with one holds its allocation up for as long. */
const WORKER_LEASE_MAX_S = 86_400;
/** Longer waits are a slip of the pen, and near the end of the calendar no time can be reckoned any more. */
const SECONDS_MAX = 366 * 86_400;

/** The most that a limit may be; the least is above 0, and for a lease `WORKER_LEASE_MIN_S`. */
export function mostOf(limit: LimitName): number {
  if (limit === 'worker_lease_s') return WORKER_LEASE_MAX_S;
  return limit.endsWith('_s') ? SECONDS_MAX : Number.MAX_SAFE_INTEGER;
}

/** What holds without any configuration. */
export const BUILT_IN_LIMITS: Limits = limitsOf(({ builtIn }) => builtIn);

/** All limits, those that were not sent filled in from `defaults`. */
export function filledLimits(sent: SentLimits, defaults: Limits): Limits {
  return limitsOf((row) => sent[row.sentAs] ?? defaults[row.member]);
}

export interface ConfiguredLimits {
  readonly limits: Limits;
  /** Limits that read as the built-in default because what was configured is no limit; `limits` = all of it. */
  readonly bad: readonly (LimitName | 'limits')[];
}

const Limit = z.number().positive();

/**
 * The deployment's own limits. A bad one reads as the built-in default and is named, never quoted, so that a slip
 * in the configuration stops no placement and loosens no bound (failover 2.4). Unknown members are ignored.
 */
export function configuredLimits(configured: unknown): ConfiguredLimits {
  const given = z.record(z.string(), z.unknown()).safeParse(configured);
  if (!given.success) return { limits: BUILT_IN_LIMITS, bad: ['limits'] };
  const sent = new Map<LimitName, number>();
  const bad: LimitName[] = [];
  for (const { sentAs } of LIMITS) {
    const value = given.data[sentAs];
    if (value === undefined || value === null) continue;
    const limit = Limit.safeParse(value);
    const least = sentAs === 'worker_lease_s' ? WORKER_LEASE_MIN_S : 0;
    if (limit.success && limit.data >= least && limit.data <= mostOf(sentAs)) sent.set(sentAs, limit.data);
    else bad.push(sentAs);
  }
  return { limits: limitsOf((row) => sent.get(row.sentAs) ?? row.builtIn), bad };
}

/** One value a limit. The parse refuses a table that lacks one. */
function limitsOf(limitOf: (row: (typeof LIMITS)[number]) => number): Limits {
  return Limits.parse(Object.fromEntries(LIMITS.map((row) => [row.member, limitOf(row)])));
}
