import { describe, expect, test } from 'vitest';
import {
  at,
  authFailure,
  capacityFailure,
  DAY_S,
  DEFAULT_RULES,
  HOUR_S,
  proof,
  record,
} from '#support/builders';
import { type Allocation, questionTimesInWindow, UNKNOWN_ALLOCATION } from '../allocation.ts';
import { decideAttempt } from './prompt.ts';
import { renewPrompt } from './renewal.ts';

const rules = { ...DEFAULT_RULES, questionsPerDay: 2 };

/** Decides one attempt after the other; the answers and the record at the end. */
function decideAll(attempts: readonly ReturnType<typeof capacityFailure>[], start = UNKNOWN_ALLOCATION) {
  let state: Allocation = start;
  const decisions = attempts.map((attempt) => {
    const decision = decideAttempt(state, attempt, rules);
    state = decision.state;
    return decision;
  });
  return { state, types: decisions.map(({ type }) => type), last: decisions.at(-1)?.data };
}

const fingerprints = (count: number) =>
  Array.from({ length: count }, (_, index) => proof({ evidence: `fingerprint ${index}`, at: index }));

describe('question budget', () => {
  test('a rotating fingerprint does not wear a person down', () => {
    const { types, last } = decideAll(fingerprints(4));
    expect(types).toEqual(['FallbackPrompted', 'FallbackPrompted', 'AttemptTracked', 'AttemptTracked']);
    expect(last).toMatchObject({ reason: 'suppressed', explanation: ['rule:other', 'prompt_budget_spent'] });
  });
  test('the open question stays usable, and the count goes on', () => {
    const { state } = decideAll([
      ...fingerprints(2),
      capacityFailure({ evidence: 'fingerprint 9', at: 3, decision: 'ninth' }),
    ]);
    expect(state.scalars.openQuestion?.evidenceDigest).toBe(fingerprints(2)[1]?.input.evidenceDigest);
    expect(state.scalars.count).toBe(1);
  });
  test('belongs to the name: a changed request does not renew it', () => {
    const { types, last } = decideAll([...fingerprints(2), proof({ request: 'other', at: 2 })]);
    expect(types.at(-1)).toBe('AttemptTracked');
    expect(last?.explanation).toEqual(['rule:other', 'request_changed', 'prompt_budget_spent']);
  });
  test('is named beside the other blocking rules', () => {
    const { last } = decideAll([...fingerprints(2), authFailure({ evidence: 'fingerprint 1', at: 2 })]);
    expect(last?.explanation).toEqual([
      'rule:auth',
      'failure_not_counting',
      'below_threshold:0/3',
      'evidence_already_prompted',
      'prompt_budget_spent',
    ]);
  });
  test.each([
    { reason: 'a question 24 h ago no longer counts', seconds: DAY_S, type: 'FallbackPrompted' },
    { reason: 'one second earlier it does', seconds: DAY_S - 1, type: 'AttemptTracked' },
  ] as const)('$reason', ({ seconds, type }) => {
    const { types } = decideAll([...fingerprints(2), proof({ evidence: 'new', at: seconds })]);
    expect(types.at(-1)).toBe(type);
  });
  test('only the questions inside the window are carried on', () => {
    const { state } = decideAll([...fingerprints(2), proof({ evidence: 'new', at: DAY_S })]);
    expect(state.scalars.questionTimes).toEqual([at(1), at(DAY_S)]);
  });
  test('runs on the recorded time of the attempt, not on when it is decided', () => {
    const late = { ...proof({ evidence: 'new', at: HOUR_S }), decidedAt: at(2 * DAY_S) };
    expect(decideAll([...fingerprints(2), late]).types.at(-1)).toBe('AttemptTracked');
    expect(decideAll([late]).state.scalars.questionTimes).toEqual([at(HOUR_S)]);
  });
  test('a renewal costs nothing', () => {
    const { state } = decideAll(fingerprints(1));
    const renewed = renewPrompt(state, { at: at(DAY_S), decisionId: 'renewal', tokenLifeS: 60 });
    expect(renewed?.state.scalars.questionTimes).toEqual(state.scalars.questionTimes);
  });
});

test('twenty questions a day by default', () => {
  expect(DEFAULT_RULES.questionsPerDay).toBe(20);
  const questionTimes = Array.from({ length: 20 }, (_, index) => at(index));
  expect(questionTimesInWindow(record({ questionTimes }), at(DAY_S + 4))).toEqual(questionTimes.slice(5));
});
