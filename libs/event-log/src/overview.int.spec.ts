import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withPostgres } from '#support/infra';
import { command, fresh } from '#support/log-builders';
import { openLog } from '#support/open-log';
import { overviewReads } from './overview.ts';
import type { PostgresLog } from './postgres-log.ts';

const CONSUMER = 'classifier';

describe('how far a consumer is', () => {
  const database = withPostgres();
  let log: PostgresLog;
  let busy: { readonly stream: string; readonly partition: number };

  beforeAll(async () => {
    log = await openLog(database.url);
    const stream = fresh('stream');
    await log.append([command({ stream }), command({ stream })]);
    const [row] = await log.readAfter(0, 1);
    busy = { stream, partition: (row?.slot ?? 0) % 4 };
  });
  afterAll(() => log.close());

  const partition = (index: number) => ({ index, count: 4 });

  test('a partition without events is not behind, however long the log is', async () => {
    for (const index of [0, 1, 2, 3].filter((each) => each !== busy.partition)) {
      await log.checkpoints.ensure(CONSUMER, partition(index));
    }
    expect(await log.overview.lags()).toMatchObject([{ consumer: CONSUMER, lagEvents: 0, lagS: 0 }]);
  });

  test('what waits in a partition is counted, and how long the oldest of it has waited', async () => {
    await log.checkpoints.ensure(CONSUMER, partition(busy.partition));
    const [lag] = await log.overview.lags();
    expect(lag).toMatchObject({ consumer: CONSUMER, lagEvents: 2 });
    expect(lag?.lagS).toBeGreaterThanOrEqual(0);
  });

  test('behind the checkpoint only what came after it waits', async () => {
    const [, second] = await log.readAfter(0, 2);
    const from = await log.checkpoints.ensure(CONSUMER, partition(busy.partition));
    await log.append([
      command({
        stream: `consumer-${CONSUMER}`,
        events: [],
        checkpoint: {
          consumer: CONSUMER,
          partition: busy.partition,
          from: from.pos,
          to: second?.pos ?? 0,
          hash: second?.hash ?? '',
        },
      }),
    ]);
    expect(await log.overview.lags()).toMatchObject([{ lagEvents: 0, lagS: 0 }]);
    await log.append([command({ stream: busy.stream })]);
    expect(await log.overview.lags()).toMatchObject([{ lagEvents: 1 }]);
  });

  test('the look is bounded: of what lies far behind it counts the ends', async () => {
    const pool = new Pool({ connectionString: database.url });
    try {
      const nine = Array.from({ length: 9 }, () => command({ stream: busy.stream }));
      await log.append(nine);
      expect(await log.overview.lags()).toMatchObject([{ lagEvents: 10 }]);
      const [lag] = await overviewReads(pool, 3).lags();
      expect(lag).toMatchObject({ lagEvents: 6 });
      expect(lag?.lagS).toBeGreaterThanOrEqual(0);
    } finally {
      await pool.end();
    }
  });
});
