import { z } from 'zod';

/** Which failures of a provider's call there are: the closed union (providers 1.1). */
export const LANE_FAILURES = [
  'capacity',
  'quota',
  'rejected',
  'auth',
  'balance',
  'rate_limited',
  'outcome_unknown',
  'unavailable',
  'not_found',
] as const;

export const LaneFailureKind = z.enum(LANE_FAILURES);

export const LaneKind = z.enum(['primary', 'batch', 'terminal']);

export const Gpu = z.strictObject({
  family: z.string().nullable(),
  product: z.string().nullable(),
  count: z.int().positive().nullable(),
});

/** One way to get an instance, as resolved at launch (failover 1). */
export const Rung = z.strictObject({
  id: z.string(),
  lane: z.string(),
  kind: z.enum(['primary', 'batch']),
  pool: z.string(),
  /** Whether a create in this pool succeeds before capacity is found. */
  queues: z.boolean(),
  /** Tried in order inside the rung, each as an intent and a create of its own; empty = the lane chooses. */
  zones: z.array(z.string()),
  machine: z.string().nullable(),
  gpu: Gpu.nullable(),
  maxRunS: z.number().positive().nullable(),
});
export type Rung = z.output<typeof Rung>;

export const Terminal = z.strictObject({
  lane: z.string(),
  machine: z.string().nullable(),
  gpu: Gpu.nullable(),
});
export type Terminal = z.output<typeof Terminal>;

/** The owner's consent to paid failover, given beforehand (failover 4.8). */
export const FailoverConsent = z.enum(['standing', 'ask', 'never']);
export type FailoverConsent = z.output<typeof FailoverConsent>;

/** Every limit, also those that the launch did not name (failover 5): later defaults change no recorded run. */
export const Limits = z.strictObject({
  createsPerDay: z.number().positive(),
  queueWaitS: z.number().positive(),
  vanishMaxAgeS: z.number().positive(),
  bootDeathMaxAgeS: z.number().positive(),
  bootDeaths: z.number().positive(),
  maxReaps: z.number().positive(),
  workerLeaseS: z.number().positive(),
  capacityRetryBackoffS: z.number().positive(),
  capacityRetriesPerDay: z.number().positive(),
  wedgeStaleS: z.number().positive(),
  wedgeObservations: z.number().positive(),
  wedgeSpanS: z.number().positive(),
  wedgeLogAgeS: z.number().positive(),
  wedgeBudgetFactor: z.number().positive(),
  noPortS: z.number().positive(),
});
export type Limits = z.output<typeof Limits>;

export const Plan = z.strictObject({
  rungs: z.array(Rung).min(1).max(32),
  terminal: Terminal.nullable(),
  /** The owner's declared run time; null = unknown, then a silent machine never counts as hung. */
  budgetS: z.number().positive().nullable(),
  failover: FailoverConsent,
  limits: Limits,
  /** False = there is nothing to run: such an allocation only provisions and never fails over. */
  hasWorkload: z.boolean(),
});
export type Plan = z.output<typeof Plan>;
