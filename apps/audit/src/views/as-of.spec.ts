import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '#events/envelope';
import { counted } from '#support/allocation-events';
import { recorded, recordedRow } from '#support/recorded';
import { allocationView } from './allocation-view.ts';
import { stateAsOf, stateNow } from './as-of.ts';

const AT = '2026-11-29T12:00:00.000Z';
const REF = 'a'.repeat(64);
const STREAM = `allocation-${REF}`;

/** A row by a version that comes after this one. */
const newer = (pos: number) => recordedRow({ pos, streamVersion: pos, type: 'SomethingNew' });
const known = (pos: number) => ({ ...recorded(counted(1), pos).row, pos, streamVersion: pos });

function logOf(rows: readonly RecordedEvent[]) {
  return {
    readStream: async (_stream: string, after: number) =>
      rows.filter(({ streamVersion }) => streamVersion > after),
    head: async () => ({ pos: rows.length, hash: '' }),
    at: async (pos: number) => rows.find((row) => row.pos === pos) ?? null,
  };
}

const why = (pos: number) => ({ pos, at: newer(pos).recordedAt, why: 'unknown_type' });

describe('an allocation with an event that this version cannot read', () => {
  test('is there all the same, also when it is the very first, and says which one it is', async () => {
    const log = logOf([newer(1), known(2)]);
    const state = { pos: 0, at: newer(1).recordedAt, unreadable: why(1), record: null, placement: null };
    expect(await stateNow(log, STREAM, AT)).toEqual(state);
    expect(await stateAsOf(log, STREAM, { pos: 1 })).toEqual(state);
    expect(await stateAsOf(log, STREAM, { time: AT })).toEqual(state);
  });

  test('stands as it did before it, and not as what follows would have left it', async () => {
    const log = logOf([known(1), newer(2), known(3)]);
    expect(await stateNow(log, STREAM, AT)).toMatchObject({
      pos: 1,
      unreadable: why(2),
      record: { count: 1 },
    });
    expect(await stateAsOf(log, STREAM, { pos: 1 })).toMatchObject({ pos: 1, unreadable: null });
  });

  test('shows its whole story, with the state before it from there on', async () => {
    const view = await allocationView(logOf([known(1), newer(2), known(3)]), STREAM, {
      limit: 10,
      at: AT,
      unsealer: null,
    });
    expect(view).toMatchObject({ upTo: 3, now: { pos: 1, unreadable: why(2) } });
    expect(view?.lines.map(({ pos, state }) => [pos, state.pos, state.unreadable?.pos ?? null])).toEqual([
      [1, 1, null],
      [2, 1, 2],
      [3, 1, 2],
    ]);
  });
});

test('an allocation that the log has nothing of is no such one', async () => {
  expect(await stateNow(logOf([]), STREAM, AT)).toBeNull();
  expect(await stateAsOf(logOf([newer(5)]), STREAM, { pos: 4 })).toBeNull();
});
