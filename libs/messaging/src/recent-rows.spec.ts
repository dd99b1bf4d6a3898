import { describe, expect, test } from 'vitest';
import { InMemoryLog } from '#event-log/in-memory-log';
import type { RecordedEvent } from '#events/envelope';
import { withMembers } from '#support/consumer-bench';
import { command } from '#support/log-builders';
import { RecentRows } from './recent-rows.ts';

const ROWS_KEPT = 512;

/** A log of so many rows whose reads are counted, and what a tail of it has told from `first` on. */
async function readerOf(rows: number, first: number) {
  const log = new InMemoryLog({ logId: 'in-memory', now: () => performance.timeOrigin + performance.now() });
  for (let made = 0; made < rows; made += 1) await log.append([command()]);
  let reads = 0;
  const counted = withMembers(log, {
    readAfter: (pos, limit) => {
      reads += 1;
      return log.readAfter(pos, limit);
    },
  });
  const told = new Set<(row: RecordedEvent) => void>();
  const subscribe = (onEvent: (row: RecordedEvent) => void) => {
    told.add(onEvent);
    return () => told.delete(onEvent);
  };
  const recent = new RecentRows({ subscribe }, counted);
  const heads: number[] = [];
  recent.follow((pos) => heads.push(pos));
  for (const row of await log.readAfter(first - 1, rows)) for (const tell of told) tell(row);
  const after = async (pos: number, limit = 10) => (await recent.readAfter(pos, limit)).map((row) => row.pos);
  return { recent, after, heads, reads: () => reads };
}

describe('the rows that the tail has just read', () => {
  test.each([
    { name: 'all of them', after: 2, limit: 10, gives: [3, 4, 5], reads: 0 },
    { name: 'the newest', after: 4, limit: 10, gives: [5], reads: 0 },
    { name: 'no more than asked for', after: 2, limit: 2, gives: [3, 4], reads: 0 },
    { name: 'nothing at the end', after: 5, limit: 10, gives: [], reads: 0 },
    { name: 'older ones from the log', after: 1, limit: 10, gives: [2, 3, 4, 5], reads: 1 },
    { name: 'what the tail has not reached from the log', after: 6, limit: 10, gives: [], reads: 1 },
  ])('gives $name', async ({ after, limit, gives, reads }) => {
    const given = await readerOf(5, 3);
    expect(await given.after(after, limit)).toEqual(gives);
    expect(given.reads()).toBe(reads);
  });

  test('asks the log while the tail has told nothing', async () => {
    const given = await readerOf(2, 3);
    expect(await given.after(0)).toEqual([1, 2]);
    expect(given.reads()).toBe(1);
  });

  test('tells of a row when it can be had', async () => {
    expect((await readerOf(4, 3)).heads).toEqual([3, 4]);
  });

  test('keeps the newest and lets the oldest go', async () => {
    const given = await readerOf(2 * ROWS_KEPT, 1);
    expect(await given.after(ROWS_KEPT, 1)).toEqual([ROWS_KEPT + 1]);
    expect(given.reads()).toBe(0);
    expect(await given.after(ROWS_KEPT - 1, 1)).toEqual([ROWS_KEPT]);
    expect(given.reads()).toBe(1);
  });

  test('after the end everything comes from the log', async () => {
    const given = await readerOf(3, 1);
    given.recent.stop();
    expect(await given.after(1)).toEqual([2, 3]);
    expect(given.reads()).toBe(1);
  });
});
