import { expect, test } from 'vitest';
import type { AllocationLine, StateView } from '#domain/audit/views';
import { chaptersOf } from './chapters.ts';

type Placement = NonNullable<StateView['placement']>;

const QUEUED: Placement = {
  outcome: 'placed_primary',
  reason: null,
  rule: null,
  instance: { id: 'i', lane: 'gcp', pool: null, rung: null },
  provider: { status: 'queued', observedAt: '2026-01-01T00:00:00.000Z' },
  openIntent: null,
  bills: [],
};

function line(pos: number, type: string, change: Partial<Placement> = {}): AllocationLine {
  const at = new Date(Date.UTC(2026, 0, 1, 0, pos)).toISOString();
  const placement = { ...QUEUED, provider: { status: 'queued', observedAt: at }, ...change };
  return {
    pos,
    at,
    type,
    stage: 'watch',
    who: 'local',
    what: type,
    because: [],
    machines: [],
    after: null,
    texts: [],
    state: { pos, at, unreadable: null, record: null, placement },
  };
}

const report = (pos: number, change: Partial<Placement> = {}) => [
  line(pos, 'ObservationReported', change),
  line(pos + 1, 'ObservationJudged', change),
];
const shape = (lines: readonly AllocationLine[]) =>
  chaptersOf(lines).map((part) =>
    part.kind === 'quiet' ? part.chapters.length : part.lines.map(({ pos }) => pos),
  );

test('an input begins a chapter, and what was made of it follows', () => {
  expect(shape([line(1, 'LaunchRequested'), line(2, 'LaunchAccepted'), line(3, 'ConsentAnswered')])).toEqual([
    [1, 2],
    [3],
  ]);
});

test('a story that begins in the middle begins with what is there', () => {
  expect(shape([line(5, 'IntentRecorded'), line(6, 'ObservationReported')])).toEqual([[5], [6]]);
});

test('three reports in a row that changed nothing are folded, two are not', () => {
  const first = line(1, 'LaunchRequested');
  expect(shape([first, ...report(2), ...report(4)])).toEqual([[1], [2, 3], [4, 5]]);
  expect(shape([first, ...report(2), ...report(4), ...report(6)])).toEqual([[1], 3]);
});

test.each([
  {
    reason: 'the provider says something else',
    change: { provider: { status: 'running', observedAt: 'x' } },
  },
  {
    reason: 'something bills',
    change: { bills: [{ instance: 'i', lane: 'gcp', sinceAt: 'x', costPerHourUsd: 1, costSoFarUsd: 0 }] },
  },
  { reason: 'the outcome changes', change: { outcome: 'awaiting_consent' } },
])('a report is told where $reason', ({ change }) => {
  const lines = [line(1, 'LaunchRequested'), ...report(2), ...report(4), ...report(6), ...report(8, change)];
  expect(shape(lines)).toEqual([[1], 3, [8, 9]]);
});

test('that time passed and cost grew is no change', () => {
  const bills = (costSoFarUsd: number) => [
    { instance: 'i', lane: 'gcp', sinceAt: 'x', costPerHourUsd: 1, costSoFarUsd },
  ];
  const lines = [
    line(1, 'LaunchRequested', { bills: bills(0) }),
    ...[2, 4, 6].flatMap((pos) => report(pos, { bills: bills(pos) })),
  ];
  expect(shape(lines)).toEqual([[1], 3]);
});
