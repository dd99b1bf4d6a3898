import { z } from 'zod';
import { Actor } from './attempt.events.ts';
import { Digest, defineEvent, EventId, Instant } from './define-event.ts';
import { Entry, IntentId } from './intent.events.ts';
import { LaneFailureKind, Plan, Rung } from './plan.ts';
import { Verdict } from './watch.events.ts';

/** The owner asks for a placement. The workload, the name and the invariants are sealed. */
export const LaunchRequested = defineEvent({
  type: 'LaunchRequested',
  version: 1,
  stage: 'provision',
  role: 'input',
  writtenBy: ['ingest'],
  consumedBy: [],
  data: z.strictObject({
    ringKeyId: z.string(),
    messageIdDigest: Digest,
    bodyDigest: Digest,
    requestedBy: Actor,
    plan: Plan,
    /** Digest of the 13 invariants, the same as an attempt's; null = none were given (failover 5.8). */
    requestDigest: Digest.nullable(),
    /** Address of the sealed workload; null when there is none. */
    workloadDigest: Digest.nullable(),
  }),
});

/** The launch is taken: one command with its request, on an exact version, so of two at once one is refused. */
export const LaunchAccepted = defineEvent({
  type: 'LaunchAccepted',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['ingest'],
  consumedBy: ['provisioner'],
  data: z.strictObject({
    launch: EventId,
    plan: Plan,
    requestDigest: Digest.nullable(),
    workloadDigest: Digest.nullable(),
  }),
});

export const WALKS = ['launch', 'create_failed', 'on_demand', 'retry', 'pool_move'] as const;

/** The ladder is walked, or walked on (failover 5). */
export const WalkStarted = defineEvent({
  type: 'WalkStarted',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['classifier', 'provisioner'],
  consumedBy: ['provisioner'],
  data: z.strictObject({
    walk: z.enum(WALKS),
    /** Ids of the rungs to try, in order. */
    rungs: z.array(z.string()),
    /** Of a retry: its number in the UTC day (failover 7). */
    retry: z.int().positive().nullable(),
    day: z.iso.date(),
  }),
});

/** One primary create of the UTC day, counted before it is sent; a cut-off in between burns it (failover 5.2). */
export const RungCounted = defineEvent({
  type: 'RungCounted',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({
    rung: z.string(),
    day: z.iso.date(),
    count: z.int().positive(),
    /** Of the lease that the same append takes: a second worker does not count beside it. */
    fence: z.int().positive(),
  }),
});

export const SKIPS = ['queue_loss', 'boot_loop', 'creates_per_day', 'quota'] as const;

export const RungSkipped = defineEvent({
  type: 'RungSkipped',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ rung: z.string(), why: z.enum(SKIPS) }),
});

/** One refusal of one zone: the union member in clear, its code only if it is a row of the provider's table. */
export const Miss = z.strictObject({
  rung: z.string(),
  zone: z.string().nullable(),
  kind: LaneFailureKind,
  code: z.string().nullable(),
  failureDigest: Digest.nullable(),
});
export type Miss = z.output<typeof Miss>;

/** A zone refused; the rung's next one is tried. */
export const ZoneMissed = defineEvent({
  type: 'ZoneMissed',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: Miss,
});

/** Every zone of the rung refused, its state could not be read, or its create failed in the end. */
export const RungMissed = defineEvent({
  type: 'RungMissed',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['classifier', 'provisioner'],
  consumedBy: [],
  data: z.strictObject({ rung: z.string(), misses: z.array(Miss).min(1) }),
});

/** The allocation has an instance on a primary or batch lane: handle and closed intent in one append. */
export const InstancePlaced = defineEvent({
  type: 'InstancePlaced',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: ['ingest'],
  data: z.strictObject({
    instance: z.string(),
    lane: z.string(),
    rung: z.string(),
    /** The intent that this closes; null for one that came from outside of a walk. */
    intent: IntentId.nullable(),
    /** As delivered; null = unreadable. */
    pool: z.string().nullable(),
    createdAt: Instant.nullable(),
    costPerHourUsd: z.number().nonnegative().nullable(),
    verdict: Verdict,
  }),
});

/** The lane's delivered pool is another than the one consented to: nothing is dispatched (failover 5.8). */
export const DeliveredPoolDiffers = defineEvent({
  type: 'DeliveredPoolDiffers',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({
    instance: z.string(),
    intent: IntentId,
    consented: z.string(),
    delivered: z.string().nullable(),
    verdict: Verdict,
  }),
});

/** A person takes the machine as it was delivered: it is the instance from now on (failover 5.8). */
export const DeliveredPoolAccepted = defineEvent({
  type: 'DeliveredPoolAccepted',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['admin'],
  consumedBy: [],
  data: z.strictObject({
    instance: z.string(),
    lane: z.string(),
    /** That of the move: no plan names it. */
    rung: Rung,
    intent: IntentId,
    pool: z.string().nullable(),
    createdAt: Instant.nullable(),
    costPerHourUsd: z.number().nonnegative().nullable(),
    acceptedBy: Actor,
    verdict: Verdict,
  }),
});

/** A person does not want the machine: it is theirs to end, and bills until it is seen gone (failover 5.8, 12.2). */
export const DeliveredPoolReleased = defineEvent({
  type: 'DeliveredPoolReleased',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['admin'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), lane: z.string(), releasedBy: Actor }),
});

/** An acceptance of the pool question that provisions nothing, and why. */
export const PoolMoveNotProvisioned = defineEvent({
  type: 'PoolMoveNotProvisioned',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({
    prompt: EventId,
    why: z.enum(['no_launch', 'no_rung', 'other_request', 'running']),
  }),
});

/** The one attempt at the pool move of a prompt begins. */
export const PoolMoveStarted = defineEvent({
  type: 'PoolMoveStarted',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ prompt: EventId, rung: Rung }),
});

/** A cancel will be sent: of an instance that a move leaves behind, or that is superseded (failover 12.1). */
export const CancelSending = defineEvent({
  type: 'CancelSending',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), lane: z.string() }),
});

/** The instance is seen gone (failover 12.1). */
export const CancelConfirmed = defineEvent({
  type: 'CancelConfirmed',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string() }),
});

/** A cancel that is owed: tried again by every pass until it is confirmed. */
export const CancelUnconfirmed = defineEvent({
  type: 'CancelUnconfirmed',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), lane: z.string(), kind: LaneFailureKind.nullable() }),
});

/** A create of this intent will be sent, not later than `sendNotAfter` on the store's clock (failover 9.1, step 6). */
export const CreateSending = defineEvent({
  type: 'CreateSending',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ intent: IntentId, sendNotAfter: Instant, number: z.int().positive() }),
});

/** How a create call ended that brought no instance to hold. */
export const CreateEnded = defineEvent({
  type: 'CreateEnded',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({
    intent: IntentId,
    /** `workload_error`: the workload failed while placing (failover 4.5). */
    answer: z.union([LaneFailureKind, z.literal('name_taken'), z.literal('workload_error')]),
    code: z.string().nullable(),
    failureDigest: Digest.nullable(),
    /** The text of an unknown outcome speaks of missing capacity: used only after a look found nothing (failover 9.2). */
    speaksOfShortage: z.boolean(),
    /** When the call was over, on the store's clock: the listing grace counts from here. */
    endedAt: Instant,
    /** Before this instant nothing is sent again; null = no pause. */
    notBefore: Instant.nullable(),
  }),
});

/** An intent's instance, as the provider tells of it. */
const MadeInstance = z.strictObject({
  intent: IntentId,
  instance: z.string(),
  pool: z.string().nullable(),
  createdAt: Instant.nullable(),
  costPerHourUsd: z.number().nonnegative().nullable(),
});

/** The provider's id, recorded before any waiting. */
export const InstanceCreated = defineEvent({
  type: 'InstanceCreated',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: MadeInstance,
});

/** An own instance whose id the log did not know is taken over (failover 9.3). */
export const InstanceAdopted = defineEvent({
  type: 'InstanceAdopted',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: MadeInstance,
});

/** A create returned after its worker had lost the lease: says the id and no more (failover 11). */
export const LateInstanceSeen = defineEvent({
  type: 'LateInstanceSeen',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: ['provisioner'],
  data: z.strictObject({ intent: IntentId, instance: z.string() }),
});

/** A machine that nobody polls is missing from a complete listing begun after its grace: it bills nothing (failover 12.2). */
export const InstanceGone = defineEvent({
  type: 'InstanceGone',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({
    instance: z.string(),
    lane: z.string(),
    /** When the listing began, on the store's clock. */
    listedAt: Instant,
  }),
});

/** A machine without our marker that bears the allocation's name: recorded once, never touched (failover 10.2). */
export const ForeignInstanceSeen = defineEvent({
  type: 'ForeignInstanceSeen',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), lane: z.string() }),
});

/** A terminate will be sent: it counts, failed or not (failover 9.3). */
export const ReapAnnounced = defineEvent({
  type: 'ReapAnnounced',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({
    instance: z.string(),
    lane: z.string(),
    intent: IntentId,
    chain: z.string(),
    number: z.int().positive(),
  }),
});

export const ResidueReaped = defineEvent({
  type: 'ResidueReaped',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), intent: IntentId, chain: z.string() }),
});

export const ReapFailed = defineEvent({
  type: 'ReapFailed',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({
    instance: z.string(),
    intent: IntentId,
    chain: z.string(),
    kind: LaneFailureKind.nullable(),
  }),
});

/** Own machines prove a restored backup: no create until a person says so (failover 10.3). */
export const LogRewound = defineEvent({
  type: 'LogRewound',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ instance: z.string(), lane: z.string(), intent: IntentId }),
});

/** A person dealt with the machines of a rewound log: creates may go on. */
export const RewindReleased = defineEvent({
  type: 'RewindReleased',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['admin'],
  consumedBy: ['provisioner'],
  data: z.strictObject({ instance: z.string(), releasedBy: Actor }),
});

/**
 * A person says that the machine of a rewound log does the work: it is the current instance from now on, and the
 * intent that it carries is known and closed (failover 10.3). Nothing is sent to it.
 */
export const RewoundAdopted = defineEvent({
  type: 'RewoundAdopted',
  version: 1,
  stage: 'provision',
  role: 'decision',
  writtenBy: ['admin'],
  consumedBy: ['provisioner'],
  data: z.strictObject({
    instance: z.string(),
    lane: z.string(),
    /** As the machine carries them: what the log had forgotten. */
    intent: IntentId,
    name: z.string(),
    entry: Entry,
    chain: z.string(),
    /** The move that it completes, or the instance that it replaces, stamped by it; null = neither. */
    key: z.string().nullable(),
    /** The instance that was current and is left behind: its cancel is owed; null = there is none to cancel. */
    leaves: z.strictObject({ instance: z.string(), lane: z.string() }).nullable(),
    adoptedBy: Actor,
    verdict: Verdict,
  }),
});
