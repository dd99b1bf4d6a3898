import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createDatabase, withPostgres } from '#support/infra';
import { command, decision, fresh } from '#support/log-builders';
import { openLog, withClient } from '#support/open-log';
import { hashOf } from './chain.ts';
import { encodeCommand } from './encode-command.ts';
import type { PostgresLog } from './postgres-log.ts';
import { verifyLog } from './verify.ts';

const APPEND = 'select spillway.append($1) as results';

describe('order', () => {
  const database = withPostgres();
  let log: PostgresLog;
  beforeAll(async () => {
    log = await openLog(database.url);
  });
  afterAll(() => log.close());

  test('pitfall 1: a slow transaction is not overtaken, so a reader loses nothing', async () => {
    const slow = command();
    const quick = command();
    const before = (await log.head()).pos;
    await withClient(database.url, async (client) => {
      await client.query('begin');
      await client.query(APPEND, [`[${encodeCommand(slow).text}]`]);
      let done = false;
      const quickDone = log.append([quick]).then(() => {
        done = true;
      });
      await vi.waitFor(async () => {
        const { rows } = await client.query(
          `select from pg_locks l join pg_database d on d.oid = l.database
           where l.locktype = 'advisory' and not l.granted and d.datname = current_database()`,
        );
        expect(rows).toHaveLength(1);
      });
      // The reader moves as far as it can see, which is not past the slow one.
      expect(await log.readAfter(before, 10)).toEqual([]);
      expect(done).toBe(false);

      await client.query('commit');
      await quickDone;
    });
    expect((await log.readAfter(before, 10)).map((row) => row.commandId)).toEqual([
      slow.commandId,
      quick.commandId,
    ]);
  });

  test('pitfall 2: versions of a stream are in order although the transaction ids are not', async () => {
    const stream = fresh('stream');
    const before = (await log.head()).pos;
    await withClient(database.url, async (older) => {
      await older.query('begin');
      await older.query('select txid_current()');
      await log.append([command({ stream })]);
      await older.query(APPEND, [`[${encodeCommand(command({ stream })).text}]`]);
      await older.query('commit');

      const { rows } = await older.query<{ backwards: boolean }>(
        `select bool_or(younger.xmin::text::bigint > older.xmin::text::bigint) as backwards
         from spillway.event younger join spillway.event older on older.pos = younger.pos + 1
         where younger.stream = $1 and older.stream = $1`,
        [stream],
      );
      expect(rows[0]?.backwards).toBe(true);
    });
    expect((await log.readAfter(before, 10)).map((row) => row.streamVersion)).toEqual([1, 2]);
  });

  test('pitfall 4: an idle transaction stalls nobody, in this database or another of the cluster', async () => {
    const other = await createDatabase();
    try {
      await withClient(other.url, (there) =>
        withClient(database.url, async (here) => {
          for (const idle of [here, there]) {
            await idle.query('begin isolation level repeatable read');
            await idle.query('select txid_current()');
          }
          const told: number[] = [];
          const stop = log.follow((pos) => told.push(pos));
          const [result] = await log.append([command()]);
          const pos = result?.outcome === 'appended' ? result.firstPos : 0;
          await vi.waitFor(() => expect(told).toContain(pos));
          expect((await log.readAfter(pos - 1, 10)).map((row) => row.pos)).toEqual([pos]);
          stop();
        }),
      );
    } finally {
      await other.drop();
    }
  });

  test('pitfall 9: order holds after the table was rewritten and under every plan', async () => {
    const stream = fresh('stream');
    await log.append(
      Array.from({ length: 50 }, (_, index) =>
        command({ stream: index % 2 === 0 ? stream : fresh('other'), events: [decision()] }),
      ),
    );
    // By random ids: now the rows lie in another order than they came.
    await withClient(database.url, async (client) => {
      await client.query('cluster spillway.event using event_id_once');
      await client.query('vacuum full spillway.event');
      await client.query('analyze spillway.event');
    });
    for (const off of ['enable_indexscan', 'enable_seqscan', 'enable_sort']) {
      const planned = await openLog(`${database.url}?options=-c%20${off}%3Doff`);
      try {
        const positions = (await planned.readAfter(0, 1000)).map((row) => row.pos);
        expect(positions).toEqual(positions.map((_, index) => index + 1));
        const versions = (await planned.readStream(stream, 0, 100)).map((row) => row.streamVersion);
        expect(versions).toEqual(versions.map((_, index) => index + 1));
        const newest = await planned.newestDecisions(stream, ['Decided'], 3);
        expect(newest.map((row) => row.decisionVersion)).toEqual([25, 24, 23]);
      } finally {
        await planned.close();
      }
    }
  });

  test('pitfall 14: when the clock jumps back, recorded time stands still instead', async () => {
    await log.append([command()]);
    const last = await log.at((await log.head()).pos);
    if (!last) throw new Error('no last row');
    // A row from before the jump: written by a clock that was a century ahead.
    const ahead = {
      ...last,
      pos: last.pos + 1,
      stream: fresh('stream'),
      streamVersion: 1,
      decisionVersion: 0,
      eventId: fresh('event'),
      recordedAt: '2126-01-01T00:00:00.000Z',
      prevHash: last.hash,
    };
    const aheadHash = hashOf(await log.logId(), ahead);
    await withClient(database.url, (client) =>
      client.query(
        `insert into spillway.event
         select $1, occurred_at, $2, 1, 0, command_index, schema_version, slot, format, $3, $4, command_id,
                command_digest, type, role, body, meta, $5, $6
         from spillway.event where pos = $7`,
        [ahead.pos, ahead.recordedAt, ahead.stream, ahead.eventId, ahead.prevHash, aheadHash, last.pos],
      ),
    );
    const [result] = await log.append([command()]);
    expect(result).toMatchObject({ outcome: 'appended', recordedAt: ahead.recordedAt });
    expect(await verifyLog(log)).toMatchObject({ ok: true });
  });

  test('pitfall 23: growth without a notice is seen within two polling intervals', async () => {
    const follower = await openLog(database.url, { pollIntervalMs: 50 });
    try {
      const told: number[] = [];
      follower.follow((pos) => told.push(pos));
      await withClient(database.url, async (client) => {
        await client.query('begin');
        await client.query(APPEND, [`[${encodeCommand(command()).text}]`]);
        // As if the notice were lost: the head grows on the follower's own connection only by polling.
        await client.query('select pg_terminate_backend(pid) from pg_stat_activity where query like $1', [
          'listen spillway_log%',
        ]);
        await client.query('commit');
      });
      const head = (await log.head()).pos;
      await vi.waitFor(() => expect(told.at(-1)).toBe(head), { timeout: 2_000 });
      expect(told).toEqual([...told].sort((a, b) => a - b));
    } finally {
      await follower.close();
    }
  });
});
