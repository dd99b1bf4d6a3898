import { type Allocation, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { type AttemptToDecide, decideAttempt, type PromptRules } from '#domain/prompt/prompt';
import {
  accepted,
  counted,
  declined,
  evolveChecked,
  prompted,
  type WholeDecision,
} from './allocation-events.ts';
import { at, DEFAULT_RULES, digestOf, EVIDENCE } from './builders.ts';
import { type History, specify } from './specify.ts';

/** The attempt table as a rule to specify, from an untouched allocation unless another is given. */
export function attemptRule(
  initial: Allocation = UNKNOWN_ALLOCATION,
  rules: PromptRules = DEFAULT_RULES,
): (...history: readonly WholeDecision[]) => History<AttemptToDecide, WholeDecision> {
  return specify<Allocation, AttemptToDecide, WholeDecision>({
    initial,
    decide(state, attempt) {
      const { state: _after, ...decision } = decideAttempt(state, attempt, rules);
      return [{ ...decision, eventId: attempt.decisionId }];
    },
    evolve: evolveChecked,
  });
}

export const CAPACITY_RULE = 'rule:capacity_exhausted';

/** Three failures, and the question that the third opened. */
export const asked = [counted(1), counted(2), prompted(3)] as const;
export const refused = [...asked, declined()] as const;
export const switched = [...asked, accepted()] as const;

const closed = { openQuestion: null, questionTimes: [at(0)], promptedEvidence: digestOf(EVIDENCE) };
/** What the record says after `refused` and `switched`, beside the count. */
export const afterDecline = { ...closed, status: 'declined', consent: 'declined' } as const;
export const afterAcceptance = {
  ...closed,
  status: 'consented',
  consent: 'accepted',
  pool: 'preemptible',
} as const;
