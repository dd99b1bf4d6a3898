import { z } from 'zod';
import { Digest, defineEvent, EventId } from './define-event.ts';
import { Scalars } from './scalars.ts';
import { Evidence, Verdict } from './watch.events.ts';

/** What sends an allocation to the terminal lane (failover 4). */
export const TRIGGERS = [
  'queue_vanish',
  'queue_timeout',
  'workload_crash',
  'workload_crash_placing',
  'infra_wedge',
  'boot_loop',
  'ladder_exhausted',
] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** A typed escalation into the terminal lane: there is no other way into it (failover 4.8). */
export const Escalation = z.strictObject({
  trigger: z.enum(TRIGGERS),
  reason: z.string(),
  rule: z.string(),
  evidence: Evidence,
  /** One terminal workload start per key: the failed instance, the rung's intent, or the launch (failover 8.1). */
  key: z.string(),
  failedInstance: z.string().nullable(),
  rung: z.string().nullable(),
  /** What must be cancelled before the move: nothing, a queued instance, or a machine that may still work. */
  cancel: z.enum(['nothing', 'queued', 'running']),
});
export type Escalation = z.output<typeof Escalation>;

const decidedBy = ['classifier', 'consent', 'provisioner'] as const;

/** The move to the terminal lane is decided, with the consent that it rests on. */
export const FailoverDecided = defineEvent({
  type: 'FailoverDecided',
  version: 1,
  stage: 'intent',
  role: 'decision',
  writtenBy: decidedBy,
  consumedBy: ['provisioner'],
  data: z.strictObject({
    escalation: Escalation,
    /** `standing`, or the question whose acceptance names this move. */
    consent: z.union([z.literal('standing'), EventId]),
    verdict: Verdict,
  }),
});

/** Under `never`: a queued instance is cancelled, and then the allocation is blocked (failover 14). */
export const CancelDecided = defineEvent({
  type: 'CancelDecided',
  version: 1,
  stage: 'intent',
  role: 'decision',
  writtenBy: ['classifier', 'provisioner'],
  consumedBy: ['provisioner'],
  data: z.strictObject({ escalation: Escalation, verdict: Verdict }),
});

/** The move is off: the instance runs, or is reachable again, and stays (failover 4.4, 4.8). */
export const FailoverVoided = defineEvent({
  type: 'FailoverVoided',
  version: 1,
  stage: 'intent',
  role: 'decision',
  writtenBy: [...decidedBy, 'admin'],
  consumedBy: ['classifier', 'consent', 'ingest'],
  data: z.strictObject({
    key: z.string(),
    instance: z.string().nullable(),
    why: z.enum(['running', 'reachable', 'done', 'adopted']),
    /** Whether an accepted move is voided: then the rung's queue loss is dropped too (failover 14). */
    dropsRungLoss: z.boolean(),
    verdict: Verdict,
    /** With the question gone, if one was open. */
    after: Scalars,
  }),
});

export const BLOCKED_REASONS = [
  'no_compute_available',
  'workload_failure',
  'setup_failure',
  'terminal_residue_unresolved',
  'terminal_workload_start_failed',
  'terminal_request_rejected',
  'terminal_balance_exhausted',
  'instance_deleted_externally',
  'instance_lost_after_start',
  'relaunch_spec_missing',
  'creates_per_day_reached',
  'failover_declined',
] as const;
export type BlockedReason = (typeof BLOCKED_REASONS)[number];

/** The allocation stands still until its owner, or the capacity-retry pass, moves it (failover 6). */
export const AllocationBlocked = defineEvent({
  type: 'AllocationBlocked',
  version: 1,
  stage: 'intent',
  role: 'decision',
  writtenBy: [...decidedBy, 'admin'],
  consumedBy: [],
  data: z.strictObject({ reason: z.enum(BLOCKED_REASONS), verdict: Verdict }),
});

/** What an intent is for: one zone of a rung, or the terminal entry. */
export const Entry = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('rung'), rung: z.string(), zone: z.string().nullable() }),
  z.strictObject({ kind: z.literal('terminal') }),
]);
export type Entry = z.output<typeof Entry>;

export const IntentId = z.string().regex(/^[a-z2-7]{26}$/);

/** The durable promise that a create may now be sent. The same append takes the lease (failover 9.1, step 5). */
export const IntentRecorded = defineEvent({
  type: 'IntentRecorded',
  version: 1,
  stage: 'intent',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({
    intent: IntentId,
    name: z.string(),
    lane: z.string(),
    entry: Entry,
    /** All intents of one failed instance, or of one entry of one placement. */
    chain: z.string(),
    requestDigest: Digest,
    fence: z.int().positive(),
    /** Reaps of the chain so far: a new intent never resets them. */
    reaps: z.int().nonnegative(),
    /** The intent that this one replaces in its chain. */
    replaces: IntentId.nullable(),
  }),
});

/** A worker took over an open intent (failover 11). */
export const LeaseTaken = defineEvent({
  type: 'LeaseTaken',
  version: 1,
  stage: 'intent',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ intent: IntentId, fence: z.int().positive() }),
});

export const INTENT_ENDS = ['missed', 'refused', 'replaced', 'blocked', 'voided'] as const;

/** An attempt ended without an instance that lasts. Success closes it by placement or completion instead. */
export const IntentClosed = defineEvent({
  type: 'IntentClosed',
  version: 1,
  stage: 'intent',
  role: 'decision',
  writtenBy: ['provisioner', 'admin'],
  consumedBy: [],
  data: z.strictObject({ intent: IntentId, why: z.enum(INTENT_ENDS) }),
});
