import type { DataOfType } from '#events/catalogue';
import { plusSeconds } from '#events/instant';
import type { Scalars } from '#events/scalars';
import {
  type Allocation,
  type AllocationEvent,
  type AttemptDecisionType,
  evolve,
  questionTimesInWindow,
} from '../allocation.ts';
import type { Classification } from '../classify/classify.ts';
import { explain } from '../explanation.ts';

/** What a deployment may set; never per call (fallback 3). */
export interface PromptRules {
  /** Counting failures before a question: 3 by default. */
  readonly threshold: number;
  /** Questions per allocation in 24 h: 20 by default. */
  readonly questionsPerDay: number;
  /** Life of a question's token in seconds: 86,400 by default. */
  readonly tokenLifeS: number;
}

/** One reported attempt with what the classifier made of its sealed failure. */
export interface AttemptToDecide {
  readonly input: DataOfType<'AttemptReported'>;
  /** Recorded time of the input: the clock of the budget. */
  readonly recordedAt: string;
  /** When the decision is made: the question's life begins here. */
  readonly decidedAt: string;
  /** Id that the decision will have: derived from the input's. */
  readonly decisionId: string;
  readonly classification: Classification;
}

/** A decision with the record after it. */
export type DecidedAttempt = {
  [Type in AttemptDecisionType]: {
    readonly type: Type;
    readonly data: DataOfType<Type>;
    readonly state: Allocation;
  };
}[AttemptDecisionType];

/**
 * The attempt table of fallback 3, rows 1 to 9: exactly one decision per attempt. It asks a question after
 * `threshold` counting failures or one proof, never twice about the same evidence, and never decides itself.
 */
export function decideAttempt(
  state: Allocation,
  attempt: AttemptToDecide,
  rules: PromptRules,
): DecidedAttempt {
  const { input } = attempt;
  const { scalars } = state;
  const opens = scalars.requestDigest !== input.requestDigest;
  const changed = opens && scalars.requestDigest !== null;
  const record = {
    record: opens ? ('opened' as const) : ('kept' as const),
    requestDigest: input.requestDigest,
    evidenceDigest: input.evidenceDigest,
  };
  const notes = changed ? [explain.requestChanged] : [];
  const pool = opens ? 'on-demand' : scalars.pool;

  if (input.success) return decided(state, attempt, 'AllocationSucceeded', { ...record, explanation: notes });
  if (pool === 'preemptible') {
    return decided(state, attempt, 'AttemptIgnored', {
      ...record,
      reason: 'preemptible_already_selected',
      explanation: notes,
    });
  }
  if (input.pool !== 'on-demand') {
    return decided(state, attempt, 'AttemptIgnored', {
      ...record,
      reason: 'not_on_demand',
      explanation: notes,
    });
  }

  const { category, qualifying, rule } = attempt.classification;
  const facts = { category, qualifying, proof: input.proof, compatible: input.compatible };
  const count = (opens ? 0 : scalars.count) + (qualifying ? 1 : 0);
  const enough = qualifying && count >= rules.threshold && input.compatible;
  const held = heldBack(opens ? null : scalars, state, attempt, rules);
  const lines = [explain.rule(rule), ...notes];

  if ((input.proof || enough) && held.length === 0) {
    const supersedes = !opens && scalars.openQuestion?.kind === 'pool';
    return decided(state, attempt, 'FallbackPrompted', {
      ...record,
      ...facts,
      reason: input.proof ? 'deterministic_preflight' : 'failed_attempt_threshold',
      explanation: supersedes ? [...lines, explain.promptSuperseded] : lines,
      actionDigest: input.actionDigest,
      askedAt: attempt.recordedAt,
      expiresAt: plusSeconds(attempt.decidedAt, rules.tokenLifeS),
    });
  }

  const lacking: string[] = [];
  if (!input.proof && !enough) {
    if (!qualifying) lacking.push(explain.failureNotCounting);
    if (count < rules.threshold) lacking.push(explain.belowThreshold(count, rules.threshold));
    lacking.push(...input.blockers);
  }
  const isOld = held.includes(explain.evidenceDeclined) || held.includes(explain.evidenceAlreadyPrompted);
  const suppressed = input.proof || enough || isOld;
  return decided(state, attempt, 'AttemptTracked', {
    ...record,
    ...facts,
    reason: suppressed ? 'suppressed' : 'threshold_not_met',
    explanation: [...lines, ...lacking, ...held],
  });
}

/** What holds back a question that is otherwise due (row 8): old evidence, a failover question, the budget. */
function heldBack(
  scalars: Scalars | null,
  state: Allocation,
  attempt: AttemptToDecide,
  rules: PromptRules,
): readonly string[] {
  const codes: string[] = [];
  const { evidenceDigest } = attempt.input;
  if (scalars !== null && state.declined.includes(evidenceDigest)) codes.push(explain.evidenceDeclined);
  else if (scalars?.promptedEvidence === evidenceDigest) codes.push(explain.evidenceAlreadyPrompted);
  if (state.scalars.openQuestion?.kind === 'failover') codes.push(explain.promptOpen);
  const asked = questionTimesInWindow(state.scalars, attempt.recordedAt).length;
  if (asked >= rules.questionsPerDay) codes.push(explain.promptBudgetSpent);
  return codes;
}

function decided<Type extends AttemptDecisionType>(
  before: Allocation,
  attempt: AttemptToDecide,
  type: Type,
  data: Omit<DataOfType<Type>, 'after'>,
): DecidedAttempt {
  const event = { type, eventId: attempt.decisionId, data } as AllocationEvent;
  const state = evolve(before, event);
  return { type, data: { ...data, after: state.scalars }, state } as DecidedAttempt;
}
