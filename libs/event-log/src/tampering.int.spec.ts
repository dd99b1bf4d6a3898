import type { Client } from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '#events/envelope';
import { withPostgres } from '#support/infra';
import { command, decision, event, fresh, input } from '#support/log-builders';
import { openLog, withClient } from '#support/open-log';
import { hashOf } from './chain.ts';
import { withRole } from './connect.ts';
import { eventPagesByCopy, pagesByCopy } from './copied-rows.ts';
import { logReader } from './read.ts';
import { type Verified, verifyLog } from './verify.ts';

const EVERYBODY = ['spillway_app', 'spillway_audit', 'spillway_admin'] as const;

describe('pitfall 11: somebody alters the log', () => {
  const database = withPostgres();
  let stream: string;
  let first: number;
  beforeEach(async () => {
    const log = await openLog(database.url);
    stream = fresh('stream');
    const [result] = await log.append([
      command({ stream, events: [input(), decision(), input(), decision()] }),
      command(),
    ]);
    first = result?.outcome === 'appended' ? result.firstPos : 0;
    await log.close();
  });

  const ATTACKS = [
    ['UPDATE', `update spillway.event set body = '{}' where pos = 2`],
    ['DELETE', 'delete from spillway.event where pos = 2'],
    ['TRUNCATE', 'truncate spillway.event'],
    ['TRUNCATE in a list', 'truncate spillway.sealed, spillway.event cascade'],
    [
      'MERGE that updates',
      `merge into spillway.event e using (select 2::bigint as pos) s on e.pos = s.pos
       when matched then update set body = '{}'`,
    ],
    [
      'MERGE that deletes',
      'merge into spillway.event e using (select 2::bigint as pos) s on e.pos = s.pos when matched then delete',
    ],
    [
      'INSERT ... ON CONFLICT',
      `insert into spillway.event select * from spillway.event where pos = 2
       on conflict (pos) do update set body = '{}'`,
    ],
    ['another identity', `update spillway.log_meta set log_id = 'mine'`],
  ] as const;

  test.each(ATTACKS)('%s by the superuser is refused', async (_name, attack) => {
    await withClient(database.url, async (client) => {
      await expect(client.query(attack)).rejects.toThrow(/insert-only/);
    });
  });

  test.each(ATTACKS)('%s in replica role is refused', async (_name, attack) => {
    await withClient(database.url, async (client) => {
      await client.query('set session_replication_role = replica');
      await expect(client.query(attack)).rejects.toThrow(/insert-only/);
    });
  });

  test.each(ATTACKS)('%s is beyond the rights of every role', async (_name, attack) => {
    for (const role of EVERYBODY) {
      await withClient(withRole(database.url, role), async (client) => {
        await expect(client.query(attack)).rejects.toThrow(/permission denied/);
      });
    }
  });

  test.each([
    [
      'an INSERT past the append function',
      'insert into spillway.event select * from spillway.event where pos = 1',
    ],
    ['moving a checkpoint', 'update spillway.consumer_checkpoint set pos = 1'],
    ['writing an allocation', 'update spillway.allocation set bills = false'],
    ['switching the triggers off', 'alter table spillway.event disable trigger all'],
    ['replica role', 'set session_replication_role = replica'],
    ['becoming the owner', 'set role spillway_owner'],
  ])('%s is beyond the rights of every role', async (_name, attack) => {
    for (const role of EVERYBODY) {
      await withClient(withRole(database.url, role), async (client) => {
        // The test's login is a superuser that assumes a role; a real one has no way back to more.
        await client.query(`set session authorization ${role}`).catch(() => {});
        await expect(client.query(attack)).rejects.toThrow(/permission denied|must be owner/);
      });
    }
  });

  test('erasing is for the operator only, reading is all that the auditor may', async () => {
    await withClient(withRole(database.url, 'spillway_app'), async (client) => {
      await expect(client.query('delete from spillway.sealed')).rejects.toThrow(/permission denied/);
      await expect(client.query('delete from spillway.record_key')).rejects.toThrow(/permission denied/);
    });
    await withClient(withRole(database.url, 'spillway_audit'), async (client) => {
      await client.query('select count(*) from spillway.event');
      await expect(client.query(`select spillway.append('[]')`)).rejects.toThrow(/permission denied/);
      await expect(client.query('delete from spillway.dead_letter')).rejects.toThrow(/permission denied/);
    });
  });

  /** What an owner can still do: switch the triggers off, change rows, and even make all hashes anew. */
  async function afterAttack(
    attack: string | ((event: RecordedEvent) => Partial<RecordedEvent>),
  ): Promise<Verified> {
    return withClient(database.url, async (client) => {
      const reader = logReader(client);
      // Rolled back at the end, so that the next attack finds the log whole.
      await client.query('begin');
      await client.query('alter table spillway.event disable trigger all');
      if (typeof attack === 'string') await client.query(attack, [stream]);
      else await rewriteChain(client, attack);
      const verified = await verifyLog(reader, { pageSize: 3 });
      // The fast way must see what the plain one sees.
      const logId = await reader.logId();
      const copying = {
        ...reader,
        verifiedPages: (from: number, to: number) => pagesByCopy(client, logId, from, to),
      };
      expect(await verifyLog(copying)).toEqual(verified);
      expect(await copiedEvents(client)).toEqual(await reader.readAfter(0, 1000));
      await client.query('rollback');
      return verified;
    });
  }

  async function copiedEvents(client: Client, share = { index: 0, count: 1 }) {
    const events: RecordedEvent[] = [];
    for await (const page of eventPagesByCopy(client, 1, 1000, share)) events.push(...page);
    return events;
  }

  test('events that are copied are those that are read, whatever their text, in each share of the streams', async () => {
    const log = await openLog(database.url);
    const events = [event('Seen', 'input', { text: '\u00e9\u{1f600}"\\\n' }), decision()];
    await log.append(Array.from({ length: 12 }, () => command({ events })));
    await log.close();
    await withClient(database.url, async (client) => {
      const reader = logReader(client);
      const whole = await copiedEvents(client);
      expect(whole).toEqual(await reader.readAfter(0, 1000));
      expect(whole.length).toBeGreaterThanOrEqual(24);
      for (const index of [0, 1, 2]) {
        const share = { index, count: 3 };
        expect(await copiedEvents(client, share)).toEqual(await reader.readAfter(0, 1000, share));
      }
    });
  });

  async function rewriteChain(
    client: Client,
    attack: (event: RecordedEvent) => Partial<RecordedEvent>,
  ): Promise<void> {
    const reader = logReader(client);
    await client.query('drop index spillway.event_stream');
    let prevHash = '';
    for (const event of await reader.readAfter(first - 1, 1000)) {
      const changed = { ...event, ...attack(event), ...(event.pos > first && { prevHash }) };
      prevHash = hashOf(await reader.logId(), changed);
      await client.query(
        `update spillway.event set stream_version = $2, decision_version = $3, role = $4, recorded_at = $5,
         prev_hash = $6, hash = $7 where pos = $1`,
        [
          changed.pos,
          changed.streamVersion,
          changed.decisionVersion,
          changed.role,
          changed.recordedAt,
          changed.prevHash,
          prevHash,
        ],
      );
    }
  }

  test.each<[string, string, number, string]>([
    ['a body', `update spillway.event set body = '{}' where stream = $1 and stream_version = 2`, 1, 'hash'],
    [
      'a role',
      `update spillway.event set role = 'input' where stream = $1 and stream_version = 2`,
      1,
      'hash',
    ],
    [
      'a digest',
      `update spillway.event set command_digest = 'x' where stream = $1 and stream_version = 2`,
      1,
      'hash',
    ],
    [
      'the time',
      `update spillway.event set occurred_at = now() where stream = $1 and stream_version = 3`,
      2,
      'hash',
    ],
    ['a removed row', 'delete from spillway.event where stream = $1 and stream_version = 3', 2, 'gap'],
    ['a removed stream', 'delete from spillway.event where stream = $1', 0, 'gap'],
  ])('an owner who changes %s is found at the first bad position', async (_name, attack, offset, kind) => {
    expect(await afterAttack(attack)).toEqual({ ok: false, pos: first + offset, kind });
  });

  test.each<[string, (event: RecordedEvent) => Partial<RecordedEvent>, number, string]>([
    ['versions', (event) => (event.streamVersion === 3 ? { streamVersion: 5 } : {}), 2, 'stream_version'],
    [
      'decisions',
      (event) => (event.streamVersion === 3 ? { decisionVersion: 0 } : {}),
      2,
      'decision_version',
    ],
    ['roles', (event) => (event.streamVersion === 4 ? { role: 'input' } : {}), 3, 'decision_version'],
    [
      'times',
      (event) => (event.streamVersion === 2 ? { recordedAt: '2001-01-01T00:00:00.000Z' } : {}),
      1,
      'time',
    ],
  ])('an owner who makes the hashes anew over bent %s is found too', async (_name, attack, offset, kind) => {
    expect(await afterAttack((event) => (event.stream === stream ? attack(event) : {}))).toEqual({
      ok: false,
      pos: first + offset,
      kind,
    });
  });

  test('a row put in place of another, with a hash of its own, does not follow on the row before', async () => {
    expect(await afterAttack((event) => (event.pos === first ? { prevHash: 'f'.repeat(64) } : {}))).toEqual({
      ok: false,
      pos: first,
      kind: 'prev_hash',
    });
  });
});
