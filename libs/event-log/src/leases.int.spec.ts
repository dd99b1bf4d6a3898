import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Command } from '#domain/log';
import { withPostgres } from '#support/infra';
import { command, decision, fresh } from '#support/log-builders';
import { openLog, withClient } from '#support/open-log';
import { encodeCommand } from './encode-command.ts';
import type { PostgresLog } from './postgres-log.ts';

const LEASE_MS = 60_000;

/** A lease is taken by appends, which wait for each other, and by `take`, which waits for the row only. */
describe('a lease that several processes want', () => {
  const database = withPostgres();
  let log: PostgresLog;
  let others: readonly PostgresLog[] = [];
  beforeAll(async () => {
    log = await openLog(database.url);
    others = await Promise.all([openLog(database.url), openLog(database.url)]);
  });
  afterAll(() => Promise.all([log, ...others].map((one) => one.close())));

  const taking = (name: string, holder: string, from: number): Command =>
    command({ events: [decision()], lease: { lease: name, holder, from, forMs: LEASE_MS } });

  /** A lease that was taken once and given back. */
  async function freed(name: string): Promise<void> {
    await log.leases.take(name, 'x', LEASE_MS);
    await log.leases.release(name, 1);
  }

  async function untilMsOf(name: string): Promise<number> {
    return Date.parse((await log.leases.read(name))?.until ?? '');
  }

  /** Appends in a transaction that stays open, as a process does whose commit is under way. */
  async function appendOpen(client: Client, given: Command): Promise<string> {
    await client.query('begin');
    const { rows } = await client.query<{ results: string }>('select spillway.append($1) as results', [
      `[${encodeCommand(given).text}]`,
    ]);
    return rows[0]?.results ?? '';
  }

  /** Until another session waits for a lock that this one holds. */
  async function untilOthersWait(client: Client): Promise<void> {
    await vi.waitFor(async () => {
      const { rows } = await client.query(
        'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))',
      );
      expect(rows.length).toBeGreaterThan(0);
    });
  }

  test.each([
    ['that has no row yet', 0],
    ['that is free', 1],
  ])(
    'and an append has taken, but not committed: nobody else takes one %s meanwhile',
    async (_which, from) => {
      const name = fresh('lease');
      if (from > 0) await freed(name);
      await withClient(database.url, async (client) => {
        expect(await appendOpen(client, taking(name, 'a', from))).toContain('appended');
        const other = log.leases.take(name, 'b', LEASE_MS);
        await untilOthersWait(client);
        await client.query('commit');
        expect(await other).toBeNull();
      });
      expect(await log.leases.read(name)).toMatchObject({ fence: from + 1, holder: 'a' });
    },
  );

  test.each([
    ['that has no row yet', 0],
    ['that is free', 1],
  ])(
    'and somebody has taken, but not committed: an append of one %s waits and is fenced',
    async (_which, from) => {
      const name = fresh('lease');
      if (from > 0) await freed(name);
      const given = taking(name, 'a', from);
      await withClient(database.url, async (client) => {
        await client.query('begin');
        await client.query(
          `insert into spillway.lease values ($1, $2 + 1, 'b', clock_timestamp() + interval '1 minute')
         on conflict (name) do update set fence = excluded.fence, holder = 'b', until = excluded.until`,
          [name, from],
        );
        const other = log.append([given, command({ stream: given.stream })]);
        await untilOthersWait(client);
        await client.query('commit');
        expect((await other).map(({ outcome }) => outcome)).toEqual(['fenced', 'appended']);
      });
      expect(await log.leases.read(name)).toMatchObject({ fence: from + 1, holder: 'b' });
      expect(await log.readStream(given.stream, 0, 10)).toHaveLength(1);
    },
  );

  test('and its holder renews just before its end: an append that comes after the end waits and is fenced', async () => {
    const name = fresh('lease');
    await log.leases.take(name, 'b', 1);
    await vi.waitFor(async () => {
      expect(Date.parse(await log.leases.clock())).toBeGreaterThan(await untilMsOf(name));
    });
    await withClient(database.url, async (client) => {
      await client.query('begin');
      await client.query(
        `update spillway.lease set until = clock_timestamp() + interval '1 minute' where name = $1`,
        [name],
      );
      const other = log.append([taking(name, 'a', 1)]);
      await untilOthersWait(client);
      await client.query('commit');
      expect(await other).toEqual([{ outcome: 'fenced' }]);
    });
    expect(await log.leases.read(name)).toMatchObject({ fence: 1, holder: 'b' });
  });

  test('is held by one at a time, however it was taken: no fence is given twice', async () => {
    const name = fresh('lease');
    const given: number[] = [];
    const holder = async (own: PostgresLog, id: string): Promise<void> => {
      for (let round = 0; round < 30; round += 1) {
        const from = (await own.leases.read(name))?.fence ?? 0;
        const isStep = (round + id.length) % 2 === 0;
        const fence = isStep
          ? (await own.append([taking(name, id, from)]))[0]?.outcome === 'appended' && from + 1
          : (await own.leases.take(name, id, LEASE_MS))?.fence;
        if (typeof fence !== 'number') continue;
        given.push(fence);
        const [fact] = await own.append([command({ fence: { lease: name, fence } })]);
        expect(fact?.outcome).toBe('appended');
        expect(await own.leases.release(name, fence)).toBe(true);
      }
    };
    await Promise.all(
      [log, ...others].flatMap((own, index) => [holder(own, `a${index}`), holder(own, `bb${index}`)]),
    );
    expect(given.length).toBeGreaterThan(0);
    expect(given.toSorted((a, b) => a - b)).toEqual(given.map((_, index) => index + 1));
    expect(await log.leases.read(name)).toMatchObject({ fence: given.length, holder: null });
  });
});
