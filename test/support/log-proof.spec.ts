import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '#events/envelope';
import type { AnsweredAttempt, LoadReport } from './load.ts';
import { answeredOnce, decidedOnce, denseLog, latencyPercentile } from './log-proof.ts';
import { recordedRow } from './recorded.ts';

const answered = (name: string, more: Partial<AnsweredAttempt> = {}): AnsweredAttempt => ({
  attemptId: name,
  allocation: 'team-a/run',
  eventId: `event-${name}`,
  status: 200,
  latencyMs: 1,
  tries: 1,
  prompted: false,
  qualifyingAttempts: 1,
  eventIds: [`event-${name}`],
  ...more,
});
const reportOf = (...attempts: readonly AnsweredAttempt[]): LoadReport => ({
  sent: attempts.length,
  answered: attempts,
  unanswered: [],
});
const input = (name: string, pos: number, more: Partial<RecordedEvent> = {}) =>
  recordedRow({
    type: 'AttemptReported',
    eventId: `event-${name}`,
    pos,
    streamVersion: pos,
    decisionVersion: 0,
    ...more,
  });
const decision = (name: string, pos: number, more: Partial<RecordedEvent> = {}) =>
  recordedRow({
    type: 'AttemptTracked',
    eventId: `decision-${pos}`,
    pos,
    streamVersion: pos,
    meta: JSON.stringify({ causedBy: `event-${name}`, saw: 0 }),
    ...more,
  });

describe('each answered attempt is in the log exactly once', () => {
  test('proven', () => {
    expect(
      answeredOnce(reportOf(answered('a'), answered('b')), [input('a', 1), decision('a', 2), input('b', 3)]),
    ).toEqual([]);
  });

  test('lost', () => {
    expect(answeredOnce(reportOf(answered('a')), [])).toEqual([
      'attempt a is in the log 0 times, expected once',
    ]);
  });

  test('recorded twice under one event id', () => {
    expect(
      answeredOnce(reportOf(answered('a'), answered('b')), [input('a', 1), input('a', 2), input('b', 3)]),
    ).toEqual([
      'attempt a is in the log 2 times, expected once',
      'the log holds 3 attempts, but 2 were sent',
    ]);
  });

  test('recorded twice under two event ids, also when only one was ever named', () => {
    const twice = answered('a', { eventIds: ['event-a', 'event-x'] });
    expect(answeredOnce({ ...reportOf(twice), sent: 2 }, [input('a', 1), input('x', 2)])).toEqual([
      'attempt a was given 2 event ids',
    ]);
    expect(answeredOnce(reportOf(answered('a')), [input('a', 1), input('x', 2)])).toEqual([
      'the log holds 2 attempts, but 1 were sent',
    ]);
  });

  test('one attempt id recorded twice, although nobody was told', () => {
    const body = JSON.stringify({ attemptIdDigest: 'd1' });
    const lost = { attemptId: 'u', allocation: 'x', tries: 9, why: 'undecided', eventIds: [] };
    const rows = [input('x', 1, { body }), input('y', 2, { body })];
    expect(answeredOnce({ sent: 2, answered: [], unanswered: [lost, lost] }, rows)).toEqual([
      'the attempt id with digest d1 is in the log 2 times, expected once',
    ]);
  });

  test('two attempts answered by one event', () => {
    const other = answered('b', { eventId: 'event-a', eventIds: ['event-a'] });
    expect(answeredOnce(reportOf(answered('a'), other), [input('a', 1)])).toEqual([
      'event event-a answered 2 attempts',
    ]);
  });

  test('a 202 whose trail was lost must be there too; an attempt never acknowledged need not', () => {
    const lost = { attemptId: 'u', allocation: 'x', tries: 9, why: 'undecided' };
    const unanswered = [
      { ...lost, eventIds: ['event-u'] },
      { ...lost, attemptId: 'v', eventIds: [] },
    ];
    expect(answeredOnce({ sent: 2, answered: [], unanswered }, [input('u', 1)])).toEqual([]);
    expect(answeredOnce({ sent: 2, answered: [], unanswered }, [])).toEqual([
      'attempt u is in the log 0 times, expected once',
    ]);
  });
});

describe('each attempt is decided exactly once', () => {
  test('proven', () => {
    expect(decidedOnce([input('a', 1), decision('a', 2)])).toEqual([]);
  });

  test('not decided', () => {
    expect(decidedOnce([input('a', 1)])).toEqual(['the attempt at 1 was decided 0 times, expected once']);
    expect(decidedOnce([input('a', 1)], true)).toEqual([]);
  });

  test('decided twice', () => {
    const rows = [input('a', 1), decision('a', 2), decision('a', 3)];
    expect(decidedOnce(rows)).toEqual(['the attempt at 1 was decided 2 times, expected once']);
    expect(decidedOnce(rows, true)).toHaveLength(1);
  });

  test('decided before it was recorded, or elsewhere', () => {
    expect(decidedOnce([decision('a', 1), input('a', 2)])).toEqual([
      'the decision at 1 stands before its attempt at 2',
    ]);
    expect(decidedOnce([input('a', 1), decision('a', 2, { stream: 'allocation-other' })])).toHaveLength(1);
  });
});

describe('the log is dense', () => {
  test('proven', () => {
    expect(denseLog([input('a', 1), decision('a', 2), input('b', 3, { decisionVersion: 1 })])).toEqual([]);
  });

  test.each([
    { reason: 'a position is missing', row: decision('a', 3, { streamVersion: 2 }) },
    { reason: 'a stream version is missing', row: decision('a', 2, { streamVersion: 3 }) },
    { reason: 'a decision version is missing', row: decision('a', 2, { decisionVersion: 2 }) },
  ])('$reason', ({ row }) => {
    expect(denseLog([input('a', 1), row])).toHaveLength(1);
  });
});

test('percentiles of the latency', () => {
  const report = reportOf(...[5, 1, 3, 2, 4].map((latencyMs) => answered(`${latencyMs}`, { latencyMs })));
  expect(latencyPercentile(report, 50)).toBe(3);
  expect(latencyPercentile(report, 99)).toBe(5);
  expect(latencyPercentile(reportOf(), 50)).toBe(0);
});
