import { z } from 'zod';
import { Digest, EventId, Instant } from '#events/define-event';
import { INVARIANTS } from '../attempt/invariants.ts';
import type { AnswerTaken, CallerView, ClosedView, PromptPage, PromptView } from './views.ts';

/** The forms of what the page reads, as clients may rely on them; held to the types in views.ts. */

const Sentence = z.string().min(1);
const Line = z.strictObject({ code: z.string(), text: z.string() });

const ClosedBody = z.strictObject({
  at: Instant,
  how: z.enum(['accepted', 'declined', 'superseded', 'withdrawn']),
  by: z
    .string()
    .nullable()
    .describe('you, local, or the beginning of the digest of who answered; null = nobody did.'),
  why: Sentence.nullable().describe('Why it ended without an answer, or why a yes led to nothing.'),
}) satisfies z.ZodType<ClosedView>;

const StoryPart = z.strictObject({
  pos: z.int().positive(),
  at: Instant,
  type: z.string(),
  who: z.string(),
  what: z.string(),
  because: z.array(Line),
});

export const PromptBody = z.strictObject({
  id: EventId.describe('What an answer names. A renewal gives the same question another one.'),
  originId: EventId.describe('The id of its first asking: stays the same.'),
  ref: Digest,
  name: z.string().nullable().exactOptional().describe('Absent = not for this caller; null = it was erased.'),
  kind: z.enum(['pool', 'failover']),
  state: z
    .enum(['open', 'expired', 'closed'])
    .describe('expired: it may still be declined, and reading it by its id renews it.'),
  askedAt: Instant,
  expiresAt: Instant,
  closed: ClosedBody.nullable(),
  asks: Sentence,
  differs: z
    .strictObject({ what: z.enum(['pool', 'lane']), from: z.string(), to: z.string() })
    .describe('What differs, and nothing else does.'),
  invariants: z
    .array(
      z.strictObject({
        member: z.enum(INVARIANTS),
        value: z.union([z.string(), z.number(), z.boolean(), z.null()]),
      }),
    )
    .nullable()
    .exactOptional()
    .describe('The identical allocation. Absent = not for this caller; null = it was erased.'),
  why: z.strictObject({ rule: z.string(), sentence: Sentence, lines: z.array(Line) }),
  attempts: z.array(StoryPart).describe('What led here, oldest first: the newest 12.'),
  onYes: z.array(Sentence),
  onNo: z.array(Sentence),
  buys: Sentence,
  costPerHourUsd: z.number().nullable().describe('Null = no price is known.'),
}) satisfies z.ZodType<PromptView>;

export const PromptPageBody = z.strictObject({
  prompts: z.array(PromptBody),
  next: z.string().nullable().describe('Give it back as `after`; null = this was the last page.'),
}) satisfies z.ZodType<PromptPage>;

export const AnswerTakenBody = z.strictObject({
  ok: z.literal(true),
  prompt: PromptBody,
}) satisfies z.ZodType<AnswerTaken>;

export const CallerBody = z.strictObject({
  subject: z.string(),
  authenticated: z.boolean().describe('False = everyone is local and may do everything.'),
  may: z.strictObject({
    consent: z.boolean(),
    audit: z.boolean(),
    unseal: z.boolean(),
    operate: z.boolean(),
  }),
}) satisfies z.ZodType<CallerView>;
