import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LogUnavailable } from '#domain/log';
import type { PostgresLog } from '#event-log/postgres-log';
import { verifyLog } from '#event-log/verify';
import { eventIdOf } from '#events/envelope';
import { ownPostgres } from '#support/infra';
import { command, decision, event, fresh } from '#support/log-builders';
import { openLog } from '#support/open-log';

const ROUNDS = 4;
const WRITERS = 24;
const ACKED_BEFORE_KILL = 300;

describe('kill -9 of all of PostgreSQL under appends', () => {
  let own: Awaited<ReturnType<typeof ownPostgres>>;
  let log: PostgresLog;
  beforeAll(async () => {
    own = await ownPostgres();
    log = await openLog(own.url, { appendDeadlineMs: 60_000, pollIntervalMs: 50 });
  });
  afterAll(async () => {
    await log.close();
    await own.remove();
  });

  test('every acknowledged append is there exactly once, and the chain is whole', async () => {
    const acked = new Map<string, number>();
    const unproven = new Set<string>();
    const streams = Array.from({ length: 6 }, () => fresh('stream'));
    let writing = true;

    const write = async (writer: number): Promise<void> => {
      while (writing) {
        const given = command({
          stream: streams[writer % streams.length] ?? '',
          events: writer % 3 === 0 ? [decision(), event('More')] : [event('Seen')],
        });
        try {
          const [result] = await log.append([given]);
          if (result?.outcome !== 'appended' && result?.outcome !== 'duplicate') {
            throw new Error(`unexpected outcome ${result?.outcome}`);
          }
          expect(acked.has(given.commandId)).toBe(false);
          acked.set(given.commandId, result.firstPos);
        } catch (error) {
          if (!(error instanceof LogUnavailable)) throw error;
          unproven.add(given.commandId);
        }
      }
    };
    const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));

    for (let round = 0; round < ROUNDS; round++) {
      const before = acked.size;
      await vi.waitFor(() => expect(acked.size).toBeGreaterThan(before + ACKED_BEFORE_KILL), {
        timeout: 30_000,
      });
      await own.kill();
      await own.restart();
    }
    const before = acked.size;
    await vi.waitFor(() => expect(acked.size).toBeGreaterThan(before), { timeout: 30_000 });
    writing = false;
    await writers;

    const rows = await log.readAfter(0, 1_000_000);
    const positions = new Map<string, number[]>();
    for (const row of rows) positions.set(row.commandId, [...(positions.get(row.commandId) ?? []), row.pos]);
    for (const [commandId, firstPos] of acked) {
      const found = positions.get(commandId) ?? [];
      // A command's events stand once and together.
      expect(found).toEqual(found.map((_, index) => firstPos + index));
      expect(found.length).toBeGreaterThan(0);
    }
    const unasked = [...positions.keys()].filter((id) => !acked.has(id) && !unproven.has(id));
    expect(unasked).toEqual([]);
    expect(new Set(rows.map((row) => row.eventId)).size).toBe(rows.length);
    expect(rows.every((row) => row.eventId === eventIdOf(row.commandId, row.commandIndex))).toBe(true);
    expect(await verifyLog(log)).toMatchObject({ ok: true, head: { pos: rows.length } });
    expect(acked.size).toBeGreaterThan(ROUNDS * ACKED_BEFORE_KILL);
  });
});
