import { z } from 'zod';
import { type Classification, classify } from './classify.ts';
import type { CodeTable } from './code-table.ts';

/** What is made of an attempt that reports no failure. */
export const NOTHING_FAILED: Classification = { category: 'other', qualifying: false, rule: 'none' };
/** The text is gone: in doubt it does not count (fallback 2.6). */
export const TEXT_GONE: Classification = { category: 'other', qualifying: false, rule: 'text-gone' };

const SealedFailure = z.object({ code: z.string().nullable(), message: z.string().nullable() });

/** Classifies a failure as it was sealed (fallback 7). Throws for a text that is no sealed failure. */
export function classifySealed(text: string, table?: CodeTable): Classification {
  const { code, message } = SealedFailure.parse(JSON.parse(text));
  return classify({ code: code ?? undefined, message: message ?? undefined }, table);
}
