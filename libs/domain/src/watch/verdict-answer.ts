import type { Verdict } from '#events/watch.events';
import { explain, explanations } from '../explanation.ts';
import type { ProposedFailover } from '../intent/proposed-action.ts';
import { currentInstance, isGone, type Placement } from '../placement.ts';
import { waitOf } from '../provision/waits.ts';

/** A decision as whoever asked sees it (failover 2.1, 2.2, 13). `position` is where it stands in the log. */
export function verdictAnswer(verdict: Verdict, position: number) {
  return {
    outcome: verdict.outcome,
    reason: verdict.reason,
    failure_class: verdict.failureClass,
    redrivable: verdict.redrivable,
    rule: verdict.rule,
    evidence: verdict.evidence,
    not_fired: verdict.notFired,
    position,
  };
}

/** Fixed wording: nothing in it is taken from what a caller wrote (failover 4.8). */
const FAILOVER_QUESTION =
  'The run was lost on its lane, or never got one. May it be moved to the paid terminal lane, once? Nothing is ' +
  'cancelled or created before the answer.';

/** The members of an answer that shows the open failover question (failover 4.8). */
export function failoverQuestion(token: string, action: ProposedFailover) {
  return {
    needs_confirmation: true as const,
    confirm_token: token,
    question: FAILOVER_QUESTION,
    proposed_action: action,
  };
}

/** What stands in the place of a question whose allocation was erased since (fallback 7). */
export const ERASED_QUESTION = { explanation: explanations([explain.promptErased]) };
export type ShownFailover = ReturnType<typeof failoverQuestion> | typeof ERASED_QUESTION;

/** The instance that answers for the allocation now; null where there is none, or it is known to be gone. */
export function shownInstance(state: Placement) {
  const instance = currentInstance(state);
  if (instance === null || isGone(state, instance.id) || state.cancelled.includes(instance.id)) return null;
  return {
    lane: instance.lane,
    id: instance.id,
    pool: instance.pool,
    started_at: instance.createdAt ?? instance.placedAt,
  };
}

/** What the allocation waits for, where its stream tells; no member otherwise (failover 13). */
export function shownWait(state: Placement) {
  const wait = waitOf(state);
  return wait === null ? {} : { waits: { reason: wait.why, until: wait.until } };
}
