import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InvalidCommand } from '#domain/log';
import { withPostgres } from '#support/infra';
import { command, decision, event, fresh } from '#support/log-builders';
import { openLog } from '#support/open-log';
import type { PostgresLog } from './postgres-log.ts';
import { verifyLog } from './verify.ts';

describe('one group of many callers', () => {
  const database = withPostgres();
  let log: PostgresLog;
  beforeAll(async () => {
    log = await openLog(database.url);
  });
  afterAll(() => log.close());

  test('pitfall 8: conflict, duplicate, NUL, oversized and a data error in one batch; the rest commits', async () => {
    const known = command({ events: [decision()] });
    await log.append([known]);
    const stream = fresh('stream');
    const good = [command({ stream }), command({ stream }), command({ stream })];
    const [first, second, third] = good;
    if (!first || !second || !third) throw new Error('three good commands');

    const settled = await Promise.allSettled([
      log.append([first]),
      log.append([{ ...known, digest: 'other' }]),
      log.append([known]),
      log.append([command({ commandId: 'with \0' })]),
      log.append([second]),
      log.append([command({ events: [event('Large', 'input', 'x'.repeat(300_000))] })]),
      log.append([command({ stream, expected: 'new' })]),
      // Passes every check of ours, and is no int4 to PostgreSQL: the statement fails as a whole.
      log.append([command({ expected: { decisionVersion: 2 ** 40 } })]),
      log.append([third]),
    ]);

    const outcomes = settled.map((one) =>
      one.status === 'fulfilled' ? one.value[0]?.outcome : one.reason instanceof InvalidCommand && 'invalid',
    );
    expect(outcomes).toEqual([
      'appended',
      'id_conflict',
      'duplicate',
      'invalid',
      'appended',
      'invalid',
      'wrong_version',
      'invalid',
      'appended',
    ]);
    expect((await log.readStream(stream, 0, 10)).map((row) => row.commandId)).toEqual(
      good.map((given) => given.commandId),
    );
    expect(await verifyLog(log)).toMatchObject({ ok: true });
  });

  test('a call of several commands is refused as a whole by its one bad command', async () => {
    const before = await log.head();
    await expect(
      log.append([command(), command({ expected: { decisionVersion: 2 ** 40 } })]),
    ).rejects.toBeInstanceOf(InvalidCommand);
    expect(await log.head()).toEqual(before);
  });

  test('callers of several processes on one stream: acked = stored = dense', async () => {
    const processes = await Promise.all([0, 1, 2].map(() => openLog(database.url)));
    try {
      const stream = fresh('stream');
      const results = await Promise.all(
        processes.flatMap((one, index) =>
          Array.from({ length: 40 }, async (_, n) => {
            const expected = (n + index) % 3 === 0 ? { decisionVersion: Math.floor(n / 4) } : 'any';
            return one.append([command({ stream, expected, events: [decision()] })]);
          }),
        ),
      );
      const acked = results.flat().filter((result) => result.outcome === 'appended');
      const rows = await log.readStream(stream, 0, 1000);
      expect(rows).toHaveLength(acked.length);
      expect(rows.map((row) => row.decisionVersion)).toEqual(rows.map((_, index) => index + 1));
      expect(new Set(acked.map((result) => 'decisionVersion' in result && result.decisionVersion)).size).toBe(
        acked.length,
      );
    } finally {
      await Promise.all(processes.map((one) => one.close()));
    }
  });
});
