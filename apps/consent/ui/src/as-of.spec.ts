import { describe, expect, test } from 'vitest';
import type { AllocationLine } from '#domain/audit/views';
import { costUntil, lineAsOf, momentOf } from './as-of.ts';

const line = (pos: number, at: string): AllocationLine => ({
  pos,
  at,
  type: 'X',
  stage: null,
  who: '',
  what: '',
  because: [],
  machines: [],
  after: null,
  texts: [],
  state: { pos, at, unreadable: null, record: null, placement: null },
});
const LINES = [
  line(3, '2026-01-01T00:00:00.000Z'),
  line(7, '2026-01-01T00:01:00.000Z'),
  line(9, '2026-01-01T00:01:00.000Z'),
];
const ms = (text: string) => Date.parse(`2026-01-01T${text}Z`);

describe('the state as of a moment is that after the last event until then', () => {
  test.each([
    [{ kind: 'now' } as const, 9],
    [{ kind: 'pos', pos: 2 } as const, null],
    [{ kind: 'pos', pos: 3 } as const, 3],
    [{ kind: 'pos', pos: 8 } as const, 7],
    [{ kind: 'time', ms: ms('00:00:00.000') - 1 } as const, null],
    [{ kind: 'time', ms: ms('00:00:59.999') } as const, 3],
    [{ kind: 'time', ms: ms('00:01:00.000') } as const, 9],
  ])('%o', (asOf, pos) => {
    expect(lineAsOf(LINES, asOf)?.pos ?? null).toBe(pos);
  });

  test('of a story without events there is none', () => {
    expect(lineAsOf([], { kind: 'now' })).toBeNull();
  });
});

test('a position is the time of its event', () => {
  expect(momentOf({ kind: 'pos', pos: 7 }, LINES[1] ?? null, 5)).toBe(ms('00:01:00.000'));
  expect(momentOf({ kind: 'pos', pos: 1 }, null, 5)).toBe(5);
  expect(momentOf({ kind: 'time', ms: 4 }, null, 5)).toBe(4);
  expect(momentOf({ kind: 'now' }, LINES[1] ?? null, 5)).toBe(5);
});

describe('cost', () => {
  const bill = { instance: 'i', lane: 'l', sinceAt: '2026-01-01T00:00:00.000Z', costSoFarUsd: 0 };
  test('grows with the time by the price', () => {
    expect(costUntil({ ...bill, costPerHourUsd: 2 }, ms('01:30:00.000'))).toBe(3);
  });
  test('is nothing before the machine was there', () => {
    expect(costUntil({ ...bill, costPerHourUsd: 2 }, ms('00:00:00.000') - 1)).toBe(0);
  });
  test('is not known without a price, and not called nothing', () => {
    expect(costUntil({ ...bill, costPerHourUsd: null }, ms('01:00:00.000'))).toBeNull();
  });
});
