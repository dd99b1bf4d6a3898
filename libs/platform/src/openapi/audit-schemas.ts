import { z } from 'zod';
import type { AllocationList, AllocationView, OverviewView, StateView } from '#domain/audit/views';
import { Instant, STAGES } from '#events/define-event';
import { Scalars } from '#events/scalars';
import { OUTCOMES } from '#events/watch.events';

/**
 * The bodies of the audit's reads, for their description and for tests. Each is held to its view by the compiler:
 * a member that is only in one of the two does not compile.
 */

const Time = Instant;
const Name = z
  .string()
  .nullable()
  .exactOptional()
  .describe('Absent = the caller may not unseal; null = it was erased, or its retention has ended.');
const Usd = z.number().nonnegative().nullable();

export const Bill = z.strictObject({
  instance: z.string(),
  lane: z.string(),
  sinceAt: Time,
  costPerHourUsd: Usd.describe('Null = no price is known.'),
  costSoFarUsd: Usd.describe('From `sinceAt` to the moment of the view.'),
});

const OpenQuestionId = z.string().nullable().describe('Event id of the open question.');

export const StateBody = z.strictObject({
  pos: z.int().describe('The last event of the allocation that this state holds; 0 = none can be read.'),
  at: Time.describe('When the log recorded it.'),
  unreadable: z
    .strictObject({ pos: z.int(), at: Time, why: z.string() })
    .nullable()
    .describe('The first event that this version cannot read: the state is as it was before.'),
  record: z
    .strictObject({
      count: z.int(),
      status: Scalars.shape.status,
      consent: Scalars.shape.consent,
      pool: Scalars.shape.pool,
      openQuestion: OpenQuestionId,
    })
    .nullable()
    .describe('Null = nothing was decided about attempts.'),
  placement: z
    .strictObject({
      outcome: z.string().nullable(),
      reason: z.string().nullable(),
      rule: z.string().nullable(),
      instance: z
        .strictObject({
          id: z.string(),
          lane: z.string(),
          pool: z.string().nullable(),
          rung: z.string().nullable(),
        })
        .nullable(),
      provider: z
        .strictObject({ status: z.string(), observedAt: Time })
        .nullable()
        .describe('What the provider last said of the instance.'),
      openIntent: z.string().nullable(),
      bills: z.array(Bill),
    })
    .nullable()
    .describe('Null = it was never launched.'),
}) satisfies z.ZodType<StateView>;

const Line = z.strictObject({
  pos: z.int(),
  at: Time,
  type: z.string(),
  stage: z.enum(STAGES).nullable().describe('Null = an event that this version cannot read.'),
  who: z.string(),
  what: z.string().describe('In plain words; nothing that a caller wrote.'),
  because: z.array(z.strictObject({ code: z.string(), text: z.string() })),
  machines: z.array(z.string()).describe('Ids of machines that `what` shortens, whole.'),
  after: z
    .discriminatedUnion('of', [
      z.strictObject({
        of: z.literal('record'),
        count: z.int(),
        status: Scalars.shape.status,
        consent: Scalars.shape.consent,
        pool: Scalars.shape.pool,
      }),
      z.strictObject({
        of: z.literal('placement'),
        outcome: z.enum(OUTCOMES),
        reason: z.string().nullable(),
      }),
    ])
    .nullable()
    .describe('The record as a decision about attempts left it, or the placement as one about a move did.'),
  texts: z
    .array(
      z.strictObject({
        kind: z.enum(['failure', 'invariants', 'launch']),
        text: z.string().nullable().describe('Null = it was erased, or its retention has ended.'),
      }),
    )
    .describe('What a caller wrote; empty for a caller who may not unseal.'),
  state: StateBody.describe('The state after this event.'),
});

const Bar = z.strictObject({
  track: z.string(),
  label: z.string(),
  tone: z.enum(['calm', 'asked', 'moving', 'bad', 'good']),
  from: Time,
  to: Time.nullable().describe('Null = it still holds.'),
});

export const AllocationBody = z.strictObject({
  ref: z.string(),
  name: Name,
  erased: z.boolean(),
  upTo: z.int().describe('Position of the newest event of the allocation.'),
  at: Time.describe('Moment of the view: what bills is counted up to it.'),
  now: StateBody,
  lines: z.array(Line).describe('Oldest first.'),
  bars: z.array(Bar).describe('Of its whole life, at most 500 that have ended.'),
  earlier: z.int().nullable().describe('Older lines exist: ask with `before` = this position.'),
}) satisfies z.ZodType<AllocationView>;

const Row = z.strictObject({
  ref: z.string(),
  name: Name,
  status: z.string().nullable(),
  outcome: z
    .string()
    .nullable()
    .describe(
      'Null = never launched: a record that is `consented` may then use preemptible capacity by whoever reported it.',
    ),
  reason: z.string().nullable(),
  lane: z.string().nullable(),
  instance: z.string().nullable(),
  openQuestion: OpenQuestionId,
  bills: z.boolean(),
  pos: z.int().describe('Of the newest decision about it.'),
  at: Time,
});

export const AllocationListBody = z.strictObject({
  rows: z.array(Row).describe('Newest change first.'),
  next: z.string().nullable().describe('Give it back as `after`; null = this was the last page.'),
}) satisfies z.ZodType<AllocationList>;

const more = 'There are more than are listed.';

export const OverviewBody = z.strictObject({
  at: Time,
  head: z.strictObject({ pos: z.int(), at: Time.nullable() }),
  openQuestions: z.int(),
  allocations: z.strictObject({
    total: z.int(),
    byStatus: z.record(z.string(), z.int()),
    byOutcome: z.record(z.string(), z.int()),
  }),
  bills: z.array(Bill.extend({ ref: z.string(), name: Name })),
  billsMore: z.boolean().describe(more),
  alerts: z.array(
    z.strictObject({
      ref: z.string(),
      name: Name,
      alert: z.string(),
      subject: z.string(),
      at: Time,
      pos: z.int(),
    }),
  ),
  alertsMore: z.boolean().describe(more),
  consumers: z.array(
    z.strictObject({
      consumer: z.string(),
      lagEvents: z.int(),
      lagS: z.number().describe('Age of the oldest event that it has not dealt with, in seconds.'),
      updatedAt: Time,
    }),
  ),
  parked: z.array(
    z.strictObject({
      consumer: z.string(),
      ref: z.string(),
      name: Name,
      firstPos: z.int(),
      reason: z.string(),
      tries: z.int(),
      parkedAt: Time,
      state: z.string(),
    }),
  ),
  deadLetters: z.int(),
  notices: z
    .strictObject({ waiting: z.int(), failing: z.int() })
    .nullable()
    .describe('Outgoing notices that were not delivered yet; null = no receiver is configured.'),
}) satisfies z.ZodType<OverviewView>;
