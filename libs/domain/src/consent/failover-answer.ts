import type { OpenQuestion } from '#events/scalars';
import { type Allocation, evolve } from '../allocation.ts';
import type { Fact } from '../fact.ts';
import { blocked } from '../intent/blocked.ts';
import { decided } from '../intent/escalate.ts';
import { voidedMove } from '../intent/void-failover.ts';
import type { Move, Placement } from '../placement.ts';
import { type AnswerToDecide, type ConsentRefusal, decideConsent, refusalOf } from './consent.ts';

/** What an answer decided: the facts in the order in which they are recorded, and the record after them. */
export type AnswerOutcome =
  | {
      readonly kind: 'decided';
      readonly facts: readonly Fact[];
      readonly record: Allocation;
      /** The question that was answered, by the id under which it was open. */
      readonly questionId: string;
    }
  | { readonly kind: 'refused'; readonly why: ConsentRefusal };

/**
 * Judges an answer to the one open question of an allocation, of whichever kind it is (failover 2.3): same order
 * of checks, and a refused answer burns nothing. Without an open question nothing changes.
 */
export function decideAnswer(
  placement: Placement,
  record: Allocation,
  answer: AnswerToDecide,
): AnswerOutcome {
  const { openQuestion } = record.scalars;
  if (openQuestion?.kind === 'failover') return decideFailoverAnswer(placement, record, answer);
  // Launched, but no attempt was ever reported: there is a record of it all the same.
  if (openQuestion === null && placement.launch !== null) return { kind: 'refused', why: 'no_question_open' };
  const outcome = decideConsent(record, answer);
  if (outcome.kind === 'refused') return outcome;
  const { type, data, state } = outcome;
  return { kind: 'decided', facts: [{ type, data }], record: state, questionId: data.questionId };
}

/**
 * Judges an answer to the open failover question (failover 4.8). An acceptance looks once more: an instance that
 * has begun to run, or is reachable again, voids the move. A decline is final. Throws when the open question and
 * the placement contradict each other.
 */
export function decideFailoverAnswer(
  placement: Placement,
  record: Allocation,
  answer: AnswerToDecide,
): AnswerOutcome {
  const { openQuestion } = record.scalars;
  if (openQuestion?.kind !== 'failover') return { kind: 'refused', why: 'no_question_open' };
  const { move } = placement;
  if (move?.state !== 'asked') throw new Error('a failover question is open, but no move is asked for');
  const why = refusalOf(openQuestion, answer);
  if (why !== null) return { kind: 'refused', why };
  return answer.accept
    ? accepted(placement, record, move, openQuestion, answer)
    : declined(record, move, openQuestion, answer);
}

function accepted(
  placement: Placement,
  record: Allocation,
  move: Move,
  question: OpenQuestion,
  answer: AnswerToDecide,
): AnswerOutcome {
  const data = { ...answerData(move, question, answer), expiresAt: question.expiresAt };
  const closed = evolve(record, { type: 'FailoverAccepted', eventId: answer.decisionId, data });
  const acceptance: Fact = { type: 'FailoverAccepted', data: { ...data, after: closed.scalars } };
  const off = whyOff(placement, move);
  const next =
    off === null
      ? decided(move.escalation, question.eventId)
      : voidedMove(move, closed, { why: off, rule: '4.8 accept_rechecked', dropsRungLoss: true });
  return outcome([acceptance, next], closed, question);
}

function declined(
  record: Allocation,
  move: Move,
  question: OpenQuestion,
  answer: AnswerToDecide,
): AnswerOutcome {
  const data = answerData(move, question, answer);
  const closed = evolve(record, { type: 'FailoverDeclined', eventId: answer.decisionId, data });
  const { evidence, trigger, key } = move.escalation;
  return outcome(
    [
      { type: 'FailoverDeclined', data: { ...data, after: closed.scalars } },
      blocked('failover_declined', '4.8 declined', {
        ...evidence,
        trigger,
        key,
        answeredBy: answer.answeredBy,
      }),
    ],
    closed,
    question,
  );
}

function answerData({ escalation }: Move, { eventId, actionDigest }: OpenQuestion, answer: AnswerToDecide) {
  return { questionId: eventId, actionDigest, key: escalation.key, answeredBy: answer.answeredBy };
}

/** `closed` is the record after the first fact: the second changes no scalar, but counts one version. */
function outcome(facts: readonly Fact[], closed: Allocation, { eventId }: OpenQuestion): AnswerOutcome {
  const version = closed.version + facts.length - 1;
  return { kind: 'decided', facts, record: { ...closed, version }, questionId: eventId };
}

/** Why an accepted move is off: its instance has begun to run since it was asked, or is reachable again. */
function whyOff({ instances }: Placement, { escalation, known }: Move): 'running' | 'reachable' | null {
  const { failedInstance } = escalation;
  const facts = failedInstance === null ? null : (instances[failedInstance]?.facts ?? null);
  if (facts === null) return null;
  if (facts.reachedRunning && known?.hadRun === false) return 'running';
  return facts.reachableAgainAt === null ? null : 'reachable';
}
