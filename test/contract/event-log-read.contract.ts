import { describe, expect, test, vi } from 'vitest';
import { verifyLog } from '#event-log/verify';
import { eventIdOf } from '#events/envelope';
import { command, decision, fresh, input } from '#support/log-builders';
import { firstPosOf, type LogUnderTest } from './log-under-test.ts';

/** Reading, following and verifying. */
export function readContract({ log, appendOne }: LogUnderTest): void {
  describe('reading', () => {
    test('partitions share every event once, in order', async () => {
      await log().append(Array.from({ length: 20 }, () => command()));
      const all = await log().readAfter(0, 10_000);
      const shares = await Promise.all(
        [0, 1, 2].map((index) => log().readAfter(0, 10_000, { index, count: 3 })),
      );
      for (const share of shares) {
        expect(share.map((row) => row.pos)).toEqual([...share.map((row) => row.pos)].sort((a, b) => a - b));
      }
      expect(
        shares
          .flat()
          .map((row) => row.pos)
          .sort((a, b) => a - b),
      ).toEqual(all.map((row) => row.pos));
      expect((await log().readAfter(3, 2)).map((row) => row.pos)).toEqual([4, 5]);
    });

    test('finds by position, by event id and by stream version', async () => {
      const given = command({ events: [input('A'), input('B'), input('C')] });
      const pos = firstPosOf(await appendOne(given));
      expect((await log().at(pos + 1))?.type).toBe('B');
      expect(await log().at((await log().head()).pos + 1)).toBeNull();
      expect((await log().byEventId(eventIdOf(given.commandId, 2)))?.pos).toBe(pos + 2);
      expect(await log().byEventId('nothing')).toBeNull();
      expect((await log().readStream(given.stream, 1, 1)).map(({ type }) => type)).toEqual(['B']);
    });

    test('the newest decisions of some types, newest first, up to a version', async () => {
      const stream = fresh('stream');
      await appendOne(
        command({ stream, events: [decision('A'), decision('B'), input('A'), decision('A'), decision('C')] }),
      );
      const newest = async (types: readonly string[], limit: number, upTo?: number) =>
        (await log().newestDecisions(stream, types, limit, upTo)).map(
          (row) => `${row.type}${row.decisionVersion}`,
        );
      expect(await newest(['A'], 5)).toEqual(['A3', 'A1']);
      expect(await newest(['A', 'B', 'A'], 2)).toEqual(['A3', 'B2']);
      expect(await newest(['A', 'B', 'C'], 9, 3)).toEqual(['A3', 'B2', 'A1']);
      expect(await newest([], 5)).toEqual([]);
    });

    test('a follower is told of the head, and no more after it has ended', async () => {
      const told: number[] = [];
      const stop = log().follow((pos) => told.push(pos));
      const first = firstPosOf(await appendOne(command()));
      await vi.waitFor(() => expect(told).toContain(first));
      stop();
      const count = told.length;
      const other: number[] = [];
      const stopOther = log().follow((pos) => other.push(pos));
      const second = firstPosOf(await appendOne(command()));
      await vi.waitFor(() => expect(other).toContain(second));
      stopOther();
      expect(told).toHaveLength(count);
      expect([...other].sort((a, b) => a - b)).toEqual(other);
      expect(log().lastReadAgeMs()).toBeLessThan(5_000);
    });
  });

  test('the whole log verifies', async () => {
    const head = await log().head();
    expect(await verifyLog(log())).toEqual({ ok: true, head });
    expect(await verifyLog(log(), { pageSize: 7, streamsInMemory: 2 })).toEqual({ ok: true, head });
    expect(await verifyLog(log(), { from: head.pos - 5, pageSize: 2 })).toEqual({ ok: true, head });
    expect(await verifyLog(log(), { to: 3 })).toMatchObject({ ok: true, head: { pos: 3 } });
    expect(await verifyLog(log(), { to: head.pos + 1 })).toEqual({
      ok: false,
      pos: head.pos + 1,
      kind: 'gap',
    });
  });
}
