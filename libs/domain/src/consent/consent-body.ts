import { z } from 'zod';
import { LogicalAllocation, optional, text } from '../attempt/attempt-body.ts';

/** Only the body's own bound holds for these: any text that is not ours is a wrong token or question. */
const anyText = text(Number.POSITIVE_INFINITY);

/**
 * The body of `POST .../consent` (fallback 1.2). `accept` is a literal boolean; a token that is not text is
 * refused, whatever the answer.
 */
export const ConsentBody = z.object({
  logical_allocation: LogicalAllocation,
  accept: z.boolean(),
  confirm_token: optional(anyText),
  question: optional(anyText),
});
export type ConsentBody = z.output<typeof ConsentBody>;
