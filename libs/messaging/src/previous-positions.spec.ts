import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '#events/envelope';
import { PreviousPositions } from './previous-positions.ts';

type Row = Pick<RecordedEvent, 'pos' | 'hash' | 'slot'>;
const PARTITIONS = 2;

/** Row n is in partition 0, save those listed. */
function logOf(rows: number, inPartition1: readonly number[]) {
  const all: RecordedEvent[] = Array.from({ length: rows }, (_, index) => row(index + 1, inPartition1));
  const reads: number[] = [];
  const readAfter = (pos: number, limit: number) => {
    reads.push(pos);
    return Promise.resolve(all.slice(pos, pos + limit));
  };
  return { all, reads, readAfter };
}

function row(pos: number, inPartition1: readonly number[]): RecordedEvent {
  return {
    pos,
    slot: inPartition1.includes(pos) ? 1 : 0,
    hash: `hash-${pos}`,
    prevHash: '',
    stream: 's',
    streamVersion: pos,
    decisionVersion: 0,
    eventId: '',
    commandId: '',
    commandIndex: 0,
    commandDigest: '',
    type: '',
    schemaVersion: 1,
    role: 'input',
    occurredAt: '',
    recordedAt: '',
    body: '',
    meta: '',
    format: 1,
  };
}

describe('the position before a row in its partition', () => {
  test('is exact from the first row on', async () => {
    const log = logOf(6, [2, 5]);
    const previous = new PreviousPositions(log, PARTITIONS, 100);
    await previous.moveTo(0, '');
    expect(log.all.map((each: Row) => previous.step(each))).toEqual([0, 0, 1, 3, 2, 4]);
  });

  test('is looked up in the log when the relay starts in the middle', async () => {
    const log = logOf(6, [2, 5]);
    const previous = new PreviousPositions(log, PARTITIONS, 100);
    await previous.moveTo(4, 'hash-4');
    expect(log.all.slice(4).map((each: Row) => previous.step(each))).toEqual([2, 4]);
  });

  test('is never named too low where the look back ends before it', async () => {
    const log = logOf(50, [2, 50]);
    const previous = new PreviousPositions(log, PARTITIONS, 10);
    await previous.moveTo(49, 'hash-49');
    expect(previous.step(row(50, [50]))).toBe(39);
  });

  test('is remembered while the relay goes on where it was, and read again elsewhere', async () => {
    const log = logOf(6, [2, 5]);
    const previous = new PreviousPositions(log, PARTITIONS, 100);
    await previous.moveTo(2, 'hash-2');
    previous.step(row(3, []));
    const reads = log.reads.length;
    await previous.moveTo(3, 'hash-3');
    expect(log.reads.length).toBe(reads);
    await previous.moveTo(2, 'hash-2');
    expect(log.reads.length).toBeGreaterThan(reads);
    expect(previous.step(row(3, []))).toBe(1);
  });
});
