import { z } from 'zod';
import { Actor } from './attempt.events.ts';
import { Digest, defineEvent, Instant } from './define-event.ts';
import { LaneFailureKind } from './plan.ts';

export const PROVIDER_STATES = [
  'queued',
  'provisioning',
  'running',
  'terminated',
  'not_found',
  'probe_error',
] as const;

export const GUEST_PHASES = [
  'boot',
  'setup',
  'workload',
  'finalizing',
  'failed',
  'done',
  'done_unclean',
  'wedged',
] as const;

/** One poll of one instance, with every default filled in (failover 2.2). */
export const Observation = z.strictObject({
  instance: z.string(),
  lane: z.string(),
  observedAt: Instant,
  provider: z.enum(PROVIDER_STATES),
  /** Null = unreadable. */
  guest: z.strictObject({ phase: z.enum(GUEST_PHASES), workloadStarted: z.boolean().nullable() }).nullable(),
  alarm: z.enum(['none', 'transport', 'control_plane']),
  /** Null = unknown, which never counts. */
  logAgeS: z.number().nonnegative().nullable(),
  createOperation: z.enum(['done', 'running', 'failed', 'unknown']),
  /** Of a failed create: what it means, and where its text is sealed. */
  createError: z
    .strictObject({ kind: LaneFailureKind, code: z.string().nullable(), failureDigest: Digest.nullable() })
    .nullable(),
  deleteOperation: z.enum(['none', 'present', 'unknown']),
  port: z.boolean().nullable(),
});
export type Observation = z.output<typeof Observation>;

/** A poll as it came. */
export const ObservationReported = defineEvent({
  type: 'ObservationReported',
  version: 1,
  stage: 'watch',
  role: 'input',
  writtenBy: ['ingest'],
  consumedBy: ['classifier'],
  data: z.strictObject({
    messageIdDigest: Digest.nullable(),
    bodyDigest: Digest,
    reportedBy: Actor,
    observation: Observation,
  }),
});

/** Alarms in a row: how many, and when the first was. */
const Streak = z.strictObject({ count: z.int().positive(), since: Instant });

/** What is known of one instance by its observations (failover 3). Facts of another instance count for nothing. */
export const InstanceFacts = z.strictObject({
  /** The newest observation; older ones start, stop and fire nothing. */
  newest: Instant,
  seenQueued: z.boolean(),
  seenProvisioning: z.boolean(),
  /** Write-once. */
  reachedRunning: z.boolean(),
  /** Write-once. */
  workloadStarted: z.boolean(),
  /** First queued observation of this stretch; null while it is not queued. */
  queuedSince: Instant.nullable(),
  /** The guest's phase, or the provider's status while no guest was ever read; null before the first. */
  phase: z.string().nullable(),
  phaseSince: Instant.nullable(),
  /** Whether `phase` was read from a guest. */
  guestRead: z.boolean(),
  transportAlarms: Streak.nullable(),
  silentLogs: Streak.nullable(),
  /** Since when the guest says failed while the machine is up (failover 4.2). */
  failedUpSince: Instant.nullable(),
  /** The guest said, with phase `failed`, that its workload never began. */
  setupFailed: z.boolean(),
  /** Since when a public port is known to be missing; pods only. */
  noPortSince: Instant.nullable(),
  /** First seen running without an alarm since the open question about it was asked (failover 4.8). */
  reachableAgainAt: Instant.nullable(),
  /** Confirmed absent, or ended: it bills no more. */
  gone: z.boolean(),
});
export type InstanceFacts = z.output<typeof InstanceFacts>;

/** Machine-readable facts that a decision used; never a caller's text (failover 13). */
export const Evidence = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.union([z.string(), z.number()]))]),
);
export type Evidence = z.output<typeof Evidence>;

export const OUTCOMES = [
  'placed_primary',
  'running_on_terminal',
  'awaiting_consent',
  'waiting',
  'unchanged',
  'done',
  'blocked',
] as const;
export const Outcome = z.enum(OUTCOMES);
export type Outcome = z.output<typeof Outcome>;

/** What a decision says to whoever asked (failover 2.1, 2.2, 13). */
export const Verdict = z.strictObject({
  outcome: Outcome,
  reason: z.string().nullable(),
  failureClass: z.enum(['infra', 'code']).nullable(),
  redrivable: z.boolean(),
  /** The section's rule and arm, e.g. `4.3 queue_vanish seen`. */
  rule: z.string(),
  evidence: Evidence,
  /** Rules that did not fire, each with the first condition that failed: `queue_vanish:reached_running`. */
  notFired: z.array(z.string()),
});
export type Verdict = z.output<typeof Verdict>;

/** The one judgement of one observation. What follows from it are events of their own in the same command. */
export const ObservationJudged = defineEvent({
  type: 'ObservationJudged',
  version: 1,
  stage: 'watch',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: ['ingest'],
  data: z.strictObject({
    instance: z.string(),
    observedAt: Instant,
    /** The instance's mark as the rules saw it (failover 3.8). */
    mark: Instant.nullable(),
    verdict: Verdict,
    /** What is known of the instance after it; null for an instance that this allocation does not know. */
    facts: InstanceFacts.nullable(),
  }),
});

/** An instance died before its workload began: once per provider id (failover 4.7). */
export const BootDeathRecorded = defineEvent({
  type: 'BootDeathRecorded',
  version: 1,
  stage: 'watch',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: [],
  data: z.strictObject({
    instance: z.string(),
    rung: z.string(),
    day: z.iso.date(),
    streak: z.int().positive(),
  }),
});

/** A workload that really ran: the rung's streak of boot deaths ends. */
export const BootStreakReset = defineEvent({
  type: 'BootStreakReset',
  version: 1,
  stage: 'watch',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), rung: z.string() }),
});

/** One more alarm in a row (failover 4.6). */
export const WedgeAlarmRecorded = defineEvent({
  type: 'WedgeAlarmRecorded',
  version: 1,
  stage: 'watch',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: [],
  data: z.strictObject({
    instance: z.string(),
    arm: z.enum(['transport', 'reachable']),
    count: z.int().positive(),
    since: Instant,
  }),
});

/** The rung lost an instance in its queue: not booked again this UTC day (failover 5.4). */
export const QueueLossRecorded = defineEvent({
  type: 'QueueLossRecorded',
  version: 1,
  stage: 'watch',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), rung: z.string(), day: z.iso.date() }),
});

export const AllocationDone = defineEvent({
  type: 'AllocationDone',
  version: 1,
  stage: 'watch',
  role: 'decision',
  writtenBy: ['classifier', 'provisioner'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), verdict: Verdict }),
});

/** Why somebody should look; once per subject until it changes (failover 13). */
export const ALERTS = [
  'residue_unresolved',
  'kept_pod_billing',
  'keep_mark_blocks',
  'cancel_unconfirmed',
  'lane_unavailable',
  'lane_auth_failed',
  'create_unknown_repeated',
  'two_workloads',
  'foreign_marker_conflict',
  'failed_machine_up',
  'terminal_pod_unreachable',
  'wedge_without_consent',
  'capacity_retries_exhausted',
  'configuration_invalid',
  'input_rejected',
  'log_rewound',
  'terminal_limit_reached',
  'delivered_pool_differs',
] as const;
export type AlertKind = (typeof ALERTS)[number];

export const AlertRaised = defineEvent({
  type: 'AlertRaised',
  version: 1,
  stage: 'watch',
  role: 'decision',
  writtenBy: ['classifier', 'provisioner'],
  consumedBy: ['consent'],
  data: z.strictObject({
    alert: z.enum(ALERTS),
    /** What it is about: an instance, an intent, a rung, a lane or a day. */
    subject: z.string(),
    evidence: Evidence,
  }),
});
