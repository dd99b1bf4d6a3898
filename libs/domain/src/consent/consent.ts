import type { DataOfType } from '#events/catalogue';
import type { OpenQuestion } from '#events/scalars';
import { type Allocation, evolve } from '../allocation.ts';
import { isExpired } from '../prompt/renewal.ts';

/** A person's answer, with what the edge checked of it. */
export interface AnswerToDecide {
  readonly accept: boolean;
  /** The question the caller says it answers; null = the one that is open. */
  readonly question: string | null;
  /** Whether the token is that of the open question: derived and compared by the caller of this rule. */
  readonly tokenMatches: boolean;
  readonly answeredBy: string;
  /** Id that the decision will have. */
  readonly decisionId: string;
  /** When the answer is judged: a token may have expired. */
  readonly at: string;
}

export type ConsentOutcome =
  | {
      readonly kind: 'decided';
      readonly type: 'ConsentAccepted' | 'ConsentDeclined';
      readonly data: DataOfType<'ConsentAccepted'>;
      readonly state: Allocation;
    }
  /** Nothing changes; the open question and its token stay usable (fallback 1.2). */
  | { readonly kind: 'refused'; readonly why: ConsentRefusal };

export type ConsentRefusal =
  | 'never_reported'
  | 'no_question_open'
  | 'other_question_open'
  | 'token_missing_or_wrong'
  | 'token_expired';

/**
 * Judges an answer on the decisions made until then, in the order of fallback 1.2: reported, question open,
 * token. Declining needs no token; an expired question can still be declined.
 */
export function decideConsent(state: Allocation, answer: AnswerToDecide): ConsentOutcome {
  const { openQuestion, requestDigest } = state.scalars;
  if (state.version === 0 || requestDigest === null) return { kind: 'refused', why: 'never_reported' };
  if (openQuestion === null) return { kind: 'refused', why: 'no_question_open' };
  // Its answer changes nothing in this record (fallback 3): taken for one here, it would switch the pool.
  if (openQuestion.kind !== 'pool') throw new Error('only an open pool question is answered by this rule');

  const why = refusalOf(openQuestion, answer);
  if (why !== null) return { kind: 'refused', why };

  const data = {
    questionId: openQuestion.eventId,
    actionDigest: openQuestion.actionDigest,
    evidenceDigest: openQuestion.evidenceDigest,
    requestDigest,
    answeredBy: answer.answeredBy,
  };
  const type = answer.accept ? 'ConsentAccepted' : 'ConsentDeclined';
  const next = evolve(state, { type, eventId: answer.decisionId, data });
  return { kind: 'decided', type, data: { ...data, after: next.scalars }, state: next };
}

/**
 * Why an answer to the open question is refused, in the order of fallback 1.2; null = it is taken. Declining
 * needs no token, and an expired question can still be declined.
 */
export function refusalOf(question: OpenQuestion, answer: AnswerToDecide): ConsentRefusal | null {
  const names = [question.eventId, question.originId];
  if (answer.question !== null && !names.includes(answer.question)) return 'other_question_open';
  if (answer.accept && !answer.tokenMatches) return 'token_missing_or_wrong';
  return answer.accept && isExpired(question, answer.at) ? 'token_expired' : null;
}
