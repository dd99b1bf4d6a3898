import type { DataOfType } from '#events/catalogue';
import { plusSeconds } from '#events/instant';
import { type Allocation, evolve } from '../allocation.ts';

/** Whether the open question has outlived its token at `at` (fallback 6). */
export function isExpired(question: { readonly expiresAt: string }, at: string): boolean {
  return at >= question.expiresAt;
}

/**
 * Renews the open question: same action, evidence and count, a new id, life time and token. Renewals do not
 * count against the budget (fallback 3, 6). Null when nothing is open or the question still lives.
 */
export function renewPrompt(
  state: Allocation,
  renewal: { readonly at: string; readonly decisionId: string; readonly tokenLifeS: number },
): { readonly data: DataOfType<'PromptRenewed'>; readonly state: Allocation } | null {
  const { openQuestion } = state.scalars;
  if (openQuestion === null || !isExpired(openQuestion, renewal.at)) return null;

  const data = {
    renews: openQuestion.eventId,
    expiresAt: plusSeconds(renewal.at, renewal.tokenLifeS),
  };
  const next = evolve(state, { type: 'PromptRenewed', eventId: renewal.decisionId, data });
  return { data: { ...data, after: next.scalars }, state: next };
}
