import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { withRole } from '#event-log/connect';
import type { PostgresLog } from '#event-log/postgres-log';
import { PARTITION_LEASE_MS } from '#messaging/consumer';
import { benches } from '#support/benches';
import { allRows, orderOf, report } from '#support/consumer-bench';
import { withPostgres } from '#support/infra';
import { fresh } from '#support/log-builders';
import { decidedOnce } from '#support/log-proof';
import { openLog, withClient } from '#support/open-log';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { isRunning, sendSignal } from '../../tools/up/infra/processes.ts';

const WORKER = fileURLToPath(new URL('../../dist/test/workers/consumer-worker.js', import.meta.url));
/** As the bench that the process runs. */
const TRIES_MAX = 3;
/** It is not known at first which event of a batch it was: once from the start, once where the others have got to. */
const KILLED_MAX = TRIES_MAX + 2;
const POLL_MS = 500;

describe('consumers as processes', () => {
  const database = withPostgres();
  const bench = benches();
  let log: PostgresLog;
  let children: ChildProcess[] = [];

  beforeAll(async () => {
    if (!existsSync(WORKER)) throw new Error(`${WORKER} is not built. Run: npm run build`);
    log = await openLog(database.url, { pollIntervalMs: 50 });
    return () => log.close();
  });
  afterEach(async () => {
    for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
    await waitUntil('the processes are gone', 10_000, () => children.every((child) => !isAlive(child)));
    children = [];
  });

  /** A consumer at the head of now. */
  async function consumerOf(partitions = 1): Promise<string> {
    return (await bench(log, { partitions })).name;
  }

  function run(consumer: string, partitions = 1, behaviour = 'plain'): ChildProcess {
    const args = [WORKER, withRole(database.url, 'spillway_app'), consumer, String(partitions), behaviour];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return child;
  }

  async function caughtUp(consumer: string, partitions = 1): Promise<void> {
    await waitUntil(`${consumer} has decided everything`, 25_000, async () => {
      const rows = await allRows(log);
      const checkpoints = await log.checkpoints.all();
      return Array.from({ length: partitions }, (_, index) => index).every((index) => {
        const newest = rows.findLast((row) => row.slot % partitions === index && row.role === 'input');
        const stored = checkpoints.find((row) => row.consumer === consumer && row.partition === index);
        return (stored?.pos ?? 0) >= (newest?.pos ?? 0);
      });
    });
  }

  /** What the killed owner held; a test need not wait for the end of its lease. */
  async function freeLeases(): Promise<void> {
    await withClient(database.url, async (client) => {
      await client.query(`update spillway.lease set holder = null where name like 'partition-%'`);
    });
  }

  test('pitfall 19: an event that kills its process each time is parked after its tries, and others flow', async () => {
    const consumer = await consumerOf();
    const [deadly, healthy] = [fresh('deadly'), fresh('healthy')];
    await report(log, healthy, 2);
    const [killer] = await report(log, deadly, 2);
    await report(log, healthy, 2);
    let killed = 0;
    for (; killed <= KILLED_MAX; killed += 1) {
      const child = run(consumer);
      await waitUntil('it ends, or has parked what ended it', 20_000, async () => {
        return !isAlive(child) || (await log.parked.find(consumer, deadly)) !== null;
      });
      if (isAlive(child)) break;
      await freeLeases();
    }
    await caughtUp(consumer);
    expect(killed).toBeLessThanOrEqual(KILLED_MAX);
    expect(await log.parked.find(consumer, deadly)).toMatchObject({
      firstPos: killer?.pos,
      tries: TRIES_MAX,
      state: 'parked',
    });
    const flowed = await orderOf(log, healthy);
    expect(flowed.decided).toEqual(flowed.inputs);
  });

  test('pitfall 20: killed between commit and acknowledgement, the effect happens once', async () => {
    const consumer = await consumerOf();
    const stream = fresh('stream');
    for (let round = 1; round <= 3; round += 1) {
      await report(log, stream);
      const child = run(consumer, 1, 'end-after-commit');
      await waitUntil('it ends after its commit', 20_000, () => !isAlive(child));
      expect((await orderOf(log, stream)).decided).toHaveLength(round);
      await freeLeases();
    }
    run(consumer);
    await caughtUp(consumer);
    const { inputs, decided } = await orderOf(log, stream);
    expect(decided).toEqual(inputs);
  });

  test(
    'a process that is stopped beyond its lease and resumed decides nothing that another one has',
    async () => {
      const partitions = 4;
      const consumer = await consumerOf(partitions);
      const streams = Array.from({ length: 8 }, () => fresh('stream'));
      const inputs = async () => {
        for (const stream of streams) await report(log, stream);
      };
      const first = run(consumer, partitions);
      await waitUntil('the first has begun', 20_000, async () => {
        return (await log.leases.read(`partition-${consumer}-3`)) !== null;
      });
      await inputs();
      const second = run(consumer, partitions);
      await caughtUp(consumer, partitions);

      sendSignal(pidOf(first), 'SIGSTOP');
      await inputs();
      // The second has to wait for the leases of the first.
      await caughtUp(consumer, partitions);
      sendSignal(pidOf(first), 'SIGCONT');
      for (let round = 0; round < 10; round += 1) await inputs();
      await caughtUp(consumer, partitions);
      expect([first, second].every(isAlive)).toBe(true);
      const ours = (await allRows(log)).filter((row) => streams.includes(row.stream));
      expect(decidedOnce(ours)).toEqual([]);
      for (const stream of streams) {
        const order = await orderOf(log, stream);
        expect(order.inputs).toHaveLength(12);
        expect(order.decided).toEqual(order.inputs);
      }
    },
    PARTITION_LEASE_MS * 8,
  );

  test('pitfall 23: without its notices a consumer is behind by less than two polling intervals', async () => {
    const follower = 'missed-notice';
    const own = await openLog(database.url, { pollIntervalMs: POLL_MS, applicationName: follower });
    const given = await bench(own, { tailCheckMs: 60_000 });
    await given.start();
    const stream = fresh('stream');
    const waits: number[] = [];
    for (let round = 1; round <= 4; round += 1) {
      await withClient(database.url, async (client) => {
        const { rowCount } = await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where application_name = $1 and query ~ '(^listen|transaction_read_only)'`,
          [follower],
        );
        expect(rowCount).toBeGreaterThan(0);
      });
      const startMs = performance.now();
      await report(log, stream);
      await waitUntil('it is decided', 10_000, async () => {
        return (await orderOf(log, stream)).decided.length === round;
      });
      waits.push(performance.now() - startMs);
    }
    await given.stop();
    await own.close();
    expect(Math.max(...waits)).toBeLessThan(2 * POLL_MS);
  });
});

function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && isRunning(child.pid);
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the process was never started');
  return child.pid;
}
