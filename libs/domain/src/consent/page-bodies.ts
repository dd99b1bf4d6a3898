import { z } from 'zod';
import { Digest } from '#events/define-event';
import { text } from '../attempt/attempt-body.ts';

export const CONSUMER_MAX_CHARS = 200;

/** The body of `POST /api/prompts/:id/answer`: the rest of an answer is ours to know. */
export const PromptAnswerBody = z.object({ accept: z.boolean() });

/** The body of `POST /api/parked/requeue` and `/skip`. */
export const ParkedBody = z.object({
  consumer: text(CONSUMER_MAX_CHARS)
    .min(1)
    // No database takes such a text, so that nothing is called so.
    .refine((name) => !name.includes('\0'), { params: { code: 'wrong_format' } }),
  ref: Digest,
  /** The event that the operator saw waiting: another one is another decision. */
  first_pos: z.int().positive(),
});

/** What both of them answer. */
export const ParkedReleasedBody = z.strictObject({
  ok: z.literal(true),
  outcome: z
    .enum(['released', 'released_already'])
    .describe('released_already = somebody said the same before; nothing was recorded again.'),
});
export type ParkedReleased = z.output<typeof ParkedReleasedBody>;
