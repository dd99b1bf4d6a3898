import { expect } from 'vitest';
import { type Allocation, type AllocationEventType, evolve } from '#domain/allocation';
import type { DataOfType } from '#events/catalogue';
import type { OpenQuestion, Scalars } from '#events/scalars';
import {
  actionDigestOf,
  at,
  DAY_S,
  DEFAULT_RULES,
  digestOf,
  EVIDENCE,
  idOf,
  QUESTION,
  REQUEST,
  record,
} from './builders.ts';

/** A whole decision about an allocation, as it is appended. */
export type WholeDecision = {
  [Type in AllocationEventType]: {
    readonly type: Type;
    readonly eventId: string;
    readonly data: DataOfType<Type>;
  };
}[AllocationEventType];

/** Folds an event of a history, and refuses one that could not have been decided there. */
export function evolveChecked(before: Allocation, event: WholeDecision): Allocation {
  const state = evolve(before, event);
  expect(event.data.after, `the record after ${event.type} in the history`).toEqual(state.scalars);
  return state;
}

/** What matters of a decision about an attempt; `after` is what differs from an untouched record. */
export interface DecisionChange {
  readonly request?: string;
  readonly evidence?: string;
  readonly decision?: string;
  readonly record?: 'opened' | 'kept';
  readonly explanation?: readonly string[];
  readonly after?: Partial<Scalars>;
}

const attemptPart = (change: DecisionChange, opened: boolean, after: Partial<Scalars>) => ({
  record: change.record ?? (opened ? ('opened' as const) : ('kept' as const)),
  requestDigest: digestOf(change.request ?? REQUEST),
  evidenceDigest: digestOf(change.evidence ?? EVIDENCE),
  after: record({ requestDigest: digestOf(change.request ?? REQUEST), ...after, ...change.after }),
});

type Tracked = Extract<WholeDecision, { type: 'AttemptTracked' }>;
type Facts = Pick<Tracked['data'], 'category' | 'qualifying' | 'proof' | 'compatible' | 'reason'>;

/** The `count`-th counting failure, below the threshold unless changed. */
export function counted(count: number, change: DecisionChange & Partial<Facts> = {}): Tracked {
  const rule = `rule:${change.category ?? 'capacity_exhausted'}`;
  const below =
    count < DEFAULT_RULES.threshold ? [`below_threshold:${count}/${DEFAULT_RULES.threshold}`] : [];
  return {
    type: 'AttemptTracked',
    eventId: idOf(change.decision ?? QUESTION),
    data: {
      ...attemptPart(change, count === 1, { count }),
      category: change.category ?? 'capacity_exhausted',
      qualifying: change.qualifying ?? true,
      proof: change.proof ?? false,
      compatible: change.compatible ?? true,
      reason: change.reason ?? 'threshold_not_met',
      explanation: [...(change.explanation ?? [rule, ...below])],
    },
  };
}

/** A failure that does not count, after `count` that did. */
export function notCounted(count: number, change: DecisionChange & Partial<Facts> = {}): Tracked {
  const below =
    count < DEFAULT_RULES.threshold ? [`below_threshold:${count}/${DEFAULT_RULES.threshold}`] : [];
  return counted(count, {
    record: count === 0 ? 'opened' : 'kept',
    category: 'auth',
    qualifying: false,
    explanation: ['rule:auth', 'failure_not_counting', ...below],
    ...change,
  });
}

/** A question's id, action and life, by the names of its decision, request and evidence. */
export function openQuestion(
  change: { decision?: string; request?: string; evidence?: string; at?: number; origin?: string } = {},
): OpenQuestion {
  const evidence = change.evidence ?? EVIDENCE;
  return {
    kind: 'pool',
    eventId: idOf(change.decision ?? QUESTION),
    originId: idOf(change.origin ?? change.decision ?? QUESTION),
    actionDigest: actionDigestOf(change.request ?? REQUEST, evidence),
    evidenceDigest: digestOf(evidence),
    expiresAt: at((change.at ?? 0) + DAY_S),
  };
}

/** The record while that question is open. */
export function awaiting(
  count: number,
  change: { decision?: string; request?: string; evidence?: string; at?: number } = {},
): Partial<Scalars> {
  return {
    count,
    status: 'awaiting-consent',
    consent: 'pending',
    promptedEvidence: digestOf(change.evidence ?? EVIDENCE),
    openQuestion: openQuestion(change),
    questionTimes: [at(change.at ?? 0)],
  };
}

type Prompted = Extract<WholeDecision, { type: 'FallbackPrompted' }>;

/** The question that the `count`-th counting failure opens, unless changed. */
export function prompted(
  count: number,
  change: DecisionChange &
    Partial<Pick<Prompted['data'], 'category' | 'qualifying' | 'proof' | 'reason'>> & { at?: number } = {},
): Prompted {
  const { expiresAt, actionDigest } = openQuestion(change);
  return {
    type: 'FallbackPrompted',
    eventId: idOf(change.decision ?? QUESTION),
    data: {
      ...attemptPart(change, false, awaiting(count, change)),
      category: change.category ?? 'capacity_exhausted',
      qualifying: change.qualifying ?? true,
      proof: change.proof ?? false,
      compatible: true,
      reason: change.reason ?? 'failed_attempt_threshold',
      explanation: [...(change.explanation ?? [`rule:${change.category ?? 'capacity_exhausted'}`])],
      actionDigest,
      askedAt: at(change.at ?? 0),
      expiresAt,
    },
  };
}

/** The question that a proof opens before anything has failed. */
export function promptedByProof(change: Parameters<typeof prompted>[1] = {}): Prompted {
  return prompted(0, {
    record: 'opened',
    category: 'other',
    qualifying: false,
    proof: true,
    reason: 'deterministic_preflight',
    ...change,
  });
}

export function succeeded(
  after: Partial<Scalars> & Pick<Scalars, 'evidenceSince'>,
  change: DecisionChange = {},
): Extract<WholeDecision, { type: 'AllocationSucceeded' }> {
  return {
    type: 'AllocationSucceeded',
    eventId: idOf(change.decision ?? QUESTION),
    data: {
      ...attemptPart(change, false, { status: 'succeeded', ...after }),
      explanation: [...(change.explanation ?? [])],
    },
  };
}

export function ignored(
  reason: 'preemptible_already_selected' | 'not_on_demand',
  change: DecisionChange = {},
): Extract<WholeDecision, { type: 'AttemptIgnored' }> {
  return {
    type: 'AttemptIgnored',
    eventId: idOf(change.decision ?? QUESTION),
    data: { ...attemptPart(change, false, {}), reason, explanation: [...(change.explanation ?? [])] },
  };
}

interface AnswerChange {
  readonly question?: string;
  readonly request?: string;
  readonly evidence?: string;
  readonly decision?: string;
  readonly answeredBy?: string;
  readonly after?: Partial<Scalars>;
}

const answerPart = (change: AnswerChange, after: Partial<Scalars>) => ({
  questionId: idOf(change.question ?? QUESTION),
  actionDigest: actionDigestOf(change.request ?? REQUEST, change.evidence ?? EVIDENCE),
  evidenceDigest: digestOf(change.evidence ?? EVIDENCE),
  requestDigest: digestOf(change.request ?? REQUEST),
  answeredBy: change.answeredBy ?? 'local',
  after: record({
    count: DEFAULT_RULES.threshold,
    promptedEvidence: digestOf(change.evidence ?? EVIDENCE),
    questionTimes: [at(0)],
    ...after,
    ...change.after,
  }),
});

/** The ordinary question, asked at the third failure, was accepted. */
export function accepted(change: AnswerChange = {}): Extract<WholeDecision, { type: 'ConsentAccepted' }> {
  return {
    type: 'ConsentAccepted',
    eventId: idOf(change.decision ?? 'answer'),
    data: answerPart(change, { pool: 'preemptible', status: 'consented', consent: 'accepted' }),
  };
}

/** The ordinary question, asked at the third failure, was declined. */
export function declined(change: AnswerChange = {}): Extract<WholeDecision, { type: 'ConsentDeclined' }> {
  return {
    type: 'ConsentDeclined',
    eventId: idOf(change.decision ?? 'answer'),
    data: answerPart(change, { status: 'declined', consent: 'declined' }),
  };
}
