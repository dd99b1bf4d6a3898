import type { Allocation, AttemptDecision } from '../allocation.ts';
import { explanations } from '../explanation.ts';
import { POOL_SWITCH } from './assess.ts';

export const API_VERSION = 'spillway.gpu-allocation-fallback/v1';

/** The record as an answer shows it: digests only, never raw invariants (fallback 1.1). */
export function allocationView(ref: string, allocation: Allocation) {
  const { scalars, provenance } = allocation;
  return {
    apiVersion: API_VERSION,
    logical_allocation_ref: ref,
    request_digest: scalars.requestDigest,
    selected_pool: scalars.pool,
    qualifying_attempts: scalars.count,
    status: scalars.status,
    consent: scalars.consent,
    provenance,
  };
}

/** All 13, as they were reported. */
export type ShownInvariants = Readonly<Record<string, string | number | boolean | null>>;

/** The question as it may be shown now. `erased`: its sealed texts are gone for good. */
export type ShownQuestion =
  | {
      readonly kind: 'shown';
      readonly token: string;
      readonly invariants: ShownInvariants;
      readonly renewed: boolean;
    }
  | { readonly kind: 'erased' };

const COMMON = { ok: true, grounded: true, usage: { total_tokens: 0 } } as const;

/** Fixed wording: nothing in it is taken from what a caller wrote (fallback 1.1). */
const QUESTION =
  'On-demand GPU capacity could not be had for this allocation. May the identical allocation use preemptible ' +
  'capacity instead? Preemptible machines can be taken away while they run.';

/**
 * The 200 body of an attempt from its decision and the record as that decision left it. Pure, so that a repeat
 * of the attempt gives the same answer years later.
 */
export function attemptAnswer(answer: {
  readonly ref: string;
  readonly attemptEventId: string;
  readonly decision: AttemptDecision;
  readonly after: Allocation;
  readonly question: ShownQuestion | null;
}) {
  const { decision, question } = answer;
  return {
    ...COMMON,
    decision: decisionBody(answer.ref, decision, question),
    ...(question?.kind === 'shown' ? { needs_confirmation: true, confirm_token: question.token } : {}),
    attempt_event_id: answer.attemptEventId,
    allocation: allocationView(answer.ref, answer.after),
  };
}

/** What an answer to a failover question decided, and where its move can be followed (fallback 1.2). */
export interface MoveAnswer {
  readonly outcome: string;
  readonly reason: string | null;
  readonly location: string;
}

/**
 * The 200 body of an answered question; `move` is null for the pool question. The record is shown only where
 * attempts were reported: a launch alone has none.
 */
export function consentAnswer(ref: string, after: Allocation, move: MoveAnswer | null = null) {
  const isReported = after.scalars.requestDigest !== null;
  return {
    ...COMMON,
    ...(move === null ? {} : { outcome: move.outcome, reason: move.reason, location: move.location }),
    ...(isReported ? { allocation: allocationView(ref, after) } : {}),
  };
}

function decisionBody(ref: string, decision: AttemptDecision, question: ShownQuestion | null) {
  switch (decision.type) {
    case 'AllocationSucceeded':
      return {
        prompt: false,
        reason: 'allocation_succeeded',
        explanation: explanations(decision.data.explanation),
      };
    case 'AttemptIgnored':
      return {
        prompt: false,
        reason: decision.data.reason,
        explanation: explanations(decision.data.explanation),
      };
    case 'AttemptTracked':
      return {
        prompt: false,
        reason: decision.data.reason,
        classification: classificationOf(decision.data),
        explanation: explanations(decision.data.explanation),
      };
    case 'FallbackPrompted': {
      const notes =
        question?.kind === 'erased' ? ['prompt_erased'] : question?.renewed ? ['prompt_renewed'] : [];
      return {
        prompt: true,
        reason: decision.data.reason,
        classification: classificationOf(decision.data),
        explanation: explanations([...decision.data.explanation, ...notes]),
        ...(question?.kind === 'shown'
          ? {
              message: QUESTION,
              proposed_action: {
                action: POOL_SWITCH.action,
                logical_allocation_ref: ref,
                from: POOL_SWITCH.from,
                to: POOL_SWITCH.to,
                invariants: question.invariants,
                evidence_digest: decision.data.evidenceDigest,
                digest: decision.data.actionDigest,
              },
            }
          : {}),
      };
    }
  }
}

function classificationOf(data: { readonly category: string; readonly qualifying: boolean }) {
  return { category: data.category, qualifying: data.qualifying };
}
