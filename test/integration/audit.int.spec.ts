import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { withRole } from '#event-log/connect';
import { Sealer } from '#platform/sealer';
import { Secret } from '#platform/secret';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog, withClient } from '#support/open-log';
import { type AuditLog, withAuditLog } from '../../apps/audit/src/audit-log.ts';
import { type ReplayReport, replay } from '../../apps/audit/src/replay.ts';
import { timeline } from '../../apps/audit/src/timeline.ts';
import { verify } from '../../apps/audit/src/verify.ts';
import { History, rechain, tamper, WRAP_KEYS } from './audit-kit.ts';

const ACCEPTED = 'team-a/finetune-7';
const DECLINED = 'team-a/finetune-8';
const PLACED = 'team-b/serve-1';
/** Positions 1 to 10, 11 to 20, 21 to 22; the questions stand at 6 and 16, the answers' decisions at 8 and 18. */
const HEAD = 22;

let original: TestDatabase;
let refs: { readonly accepted: string; readonly declined: string };
let copies: TestDatabase[] = [];

beforeAll(async () => {
  original = await createDatabase();
  const history = await History.open(original.url);
  for (const [name, accept] of [
    [ACCEPTED, true],
    [DECLINED, false],
  ] as const) {
    for (let failure = 0; failure < 3; failure += 1) await history.attempt(name);
    await history.answer(name, accept);
    await history.attempt(name);
  }
  await history.attempt(PLACED, { success: true });
  refs = { accepted: await history.refOf(ACCEPTED), declined: await history.refOf(DECLINED) };
  // A database with connections cannot be copied.
  await history.log.close();
});
afterEach(async () => {
  for (const copy of copies) await copy.drop();
  copies = [];
});
afterAll(() => original.drop());

/** The same history in a database of its own, to damage. */
async function copy(): Promise<string> {
  const database = await createDatabase({ template: original.name });
  copies.push(database);
  return database.url;
}

function auditing<Result>(url: string, use: (log: AuditLog) => Promise<Result>): Promise<Result> {
  return withAuditLog(new Secret(url), use);
}

const replayed = (url: string) => auditing(url, (log) => replay(log));
const verified = (url: string) => auditing(url, (log) => verify(log));
const namesOf = ({ differences }: ReplayReport) =>
  differences.map(({ pos, member, recorded, folded }) => [pos, member, recorded, folded]);

const onAccepted = () => `where stream = 'allocation-${refs.accepted}'`;

describe('a log that nobody touched', () => {
  test('is sound, and replays to what is recorded', async () => {
    const url = await copy();
    expect(await verified(url)).toMatchObject({ ok: true, head: { pos: HEAD }, upTo: HEAD, grownTo: HEAD });
    expect(await replayed(url)).toMatchObject({
      ok: true,
      head: { pos: HEAD },
      grownTo: HEAD,
      events: HEAD,
      decisions: 11,
      streams: 3,
      rows: 3,
      found: 0,
    });
  });

  test('replays the same in several passes over shares of the streams', async () => {
    const url = await copy();
    const [whole, inPasses] = await auditing(url, async (log) => [
      await replay(log),
      await replay(log, { streamsInMemory: 1, pageSize: 2 }),
    ]);
    expect(inPasses).toEqual(whole);
  });

  test('tells the story of an allocation, with reasons and the record after each decision', async () => {
    const story = await auditing(await copy(), (log) => timeline(log, `allocation-${refs.accepted}`));
    expect(story).toMatchObject({ ref: refs.accepted, upTo: 10 });
    expect(
      story?.lines.map(
        ({ pos, who, what, after }) => `${pos} ${who} ${what} ${after?.of === 'record' ? after.count : '-'}`,
      ),
    ).toEqual([
      expect.stringMatching(
        /^1 local reported a placement failure \(.{8}…\): request .{8}…, evidence .{8}… -$/,
      ),
      '2 classifier opened a fresh record and counted the failure: capacity_exhausted 1',
      expect.stringMatching(/^3 local reported/),
      '4 classifier counted the failure: capacity_exhausted 2',
      expect.stringMatching(/^5 local reported/),
      expect.stringMatching(
        /^6 classifier asked whether preemptible capacity may be used: counting failure 3/,
      ),
      expect.stringMatching(/^7 local answered yes to question/),
      '8 consent recorded consent: the identical allocation may use preemptible capacity 3',
      expect.stringMatching(/^9 local reported/),
      '10 classifier let the count rest: preemptible capacity is selected already 3',
    ]);
    expect(story?.lines[3]?.because.map(({ code }) => code)).toContain('below_threshold:2/3');
    expect(story?.lines[7]?.after).toMatchObject({ status: 'consented', pool: 'preemptible' });
    expect(JSON.stringify(story)).not.toMatch(/team-a|VM schedule timeout|NotEnough|h200/);
  });

  test('shows what callers wrote to who may unseal it, and says when it is gone', async () => {
    const url = await copy();
    const tell = () =>
      auditing(url, (log) =>
        timeline(log, `allocation-${refs.declined}`, new Sealer({ store: log.sealed, wrapKeys: WRAP_KEYS })),
      );
    const story = await tell();
    expect(story?.name).toBe(DECLINED);
    expect(story?.lines[0]?.texts).toEqual([
      { kind: 'failure', text: expect.stringContaining('VM schedule timeout') },
    ]);
    const admin = await openLog(url, { role: 'spillway_admin' });
    await admin.sealed.erase(`allocation-${refs.declined}`).finally(() => admin.close());
    const erased = await tell();
    expect(erased).toMatchObject({ name: null, lines: { length: 10 } });
    expect(erased?.lines[0]?.texts).toEqual([{ kind: 'failure', text: null }]);
    expect(await verified(url)).toMatchObject({ ok: true });
  });
});

describe('verify names the first bad position and the damage', () => {
  test.each([
    [
      'a body that was edited',
      `update spillway.event set body = replace(body, '"count":2', '"count":1') where pos = 4`,
      4,
      'hash',
    ],
    [
      'a time that was edited',
      `update spillway.event set recorded_at = recorded_at + interval '1 s' where pos = 9`,
      9,
      'hash',
    ],
    ['a row that was deleted', 'delete from spillway.event where pos = 13', 13, 'gap'],
    ['the first row that was deleted', 'delete from spillway.event where pos = 1', 1, 'gap'],
    [
      'two rows that were damaged: the first one',
      `update spillway.event set meta = '{}' where pos in (7, 3)`,
      3,
      'hash',
    ],
  ])('%s', async (_what, statement, pos, kind) => {
    const url = await copy();
    await tamper(url, statement);
    expect(await verified(url)).toMatchObject({ ok: false, pos, kind, upTo: HEAD });
  });
});

describe('pitfall 28: replay names what is recorded and does not follow from the log', () => {
  test('the record after a decision, in a log that was hashed anew and verifies', async () => {
    const url = await copy();
    await tamper(
      url,
      `update spillway.event set body = replace(body, '"count":2', '"count":9') where pos = 4`,
    );
    await rechain(url);
    expect(await verified(url)).toMatchObject({ ok: true });
    const report = await replayed(url);
    expect(report).toMatchObject({ ok: false, found: 1 });
    expect(report.differences).toEqual([
      { stream: `allocation-${refs.accepted}`, pos: 4, member: 'after.count', recorded: 9, folded: 2 },
    ]);
  });

  test('a tail that was cut off, which leaves a sound log: the table remembers its decision', async () => {
    const url = await copy();
    await tamper(url, 'delete from spillway.event where pos = 22');
    expect(await verified(url)).toMatchObject({ ok: true, head: { pos: 21 } });
    expect(namesOf(await replayed(url))).toEqual([[22, 'table', 'a row', 'no row']]);
  });

  test.each([
    [
      'status',
      `update spillway.allocation set status = 'declined'`,
      [10, 'table.status', 'declined', 'consented'],
    ],
    [
      'open question',
      `update spillway.allocation set open_question = 'x'`,
      [10, 'table.openQuestion', 'x', null],
    ],
    ['position', 'update spillway.allocation set pos = 8', [8, 'table.pos', 8, 10]],
    ['position in the future', 'update spillway.allocation set pos = 999', [999, 'table.pos', 999, 10]],
    ['version', 'update spillway.allocation set decision_version = 1', [10, 'table.decisionVersion', 1, 5]],
    ['row that is gone', 'delete from spillway.allocation', [10, 'table', 'no row', 'a row']],
  ])('the allocation table: %s', async (_what, statement, difference) => {
    const url = await copy();
    await tamper(url, `${statement} ${onAccepted()}`);
    expect(await verified(url)).toMatchObject({ ok: true });
    expect(namesOf(await replayed(url))).toEqual([difference]);
  });
});

describe('pitfall 25: a rebuild fires no side effect', () => {
  test('timeline, verify and replay of everything append nothing and write nothing', async () => {
    const url = await copy();
    const before = await written(url);
    await auditing(url, async (log) => {
      await timeline(log, `allocation-${refs.accepted}`);
      expect(await verify(log)).toMatchObject({ ok: true });
      expect(await replay(log, { streamsInMemory: 1 })).toMatchObject({ ok: true });
    });
    expect(await written(url)).toEqual(before);
  });

  test('the role of the audit may not append, and may not write any table', async () => {
    const url = await copy();
    await withClient(withRole(url, 'spillway_audit'), async (client) => {
      const refused = expect.objectContaining({ code: '42501' });
      await expect(client.query(`select spillway.append('[]'::jsonb)`)).rejects.toEqual(refused);
      for (const table of await tablesOf(url)) {
        await expect(client.query(`delete from spillway.${table}`)).rejects.toEqual(refused);
        await expect(client.query(`insert into spillway.${table} default values`)).rejects.toEqual(refused);
      }
    });
  });
});

describe('pitfall 26: what was caught up with is stated', () => {
  /** The log of the audit, which grows as soon as its head was asked for. */
  async function growing(url: string, audit: (log: AuditLog) => Promise<void>): Promise<void> {
    const history = await History.open(url);
    await auditing(url, async (log) => {
      let grown = false;
      const reader = new Proxy(log, {
        get(target, name) {
          if (name === 'head' && !grown) {
            grown = true;
            return async () => {
              const head = await log.head();
              // Onto an allocation that is in the log already, and onto a new one.
              await history.attempt(DECLINED);
              await history.attempt('team-c/new');
              return head;
            };
          }
          const member: unknown = Reflect.get(target, name, target);
          return typeof member === 'function' ? member.bind(target) : member;
        },
      });
      await audit(reader);
    }).finally(() => history.log.close());
  }

  test('verify reports up to the head that it had, and that the log has grown', () =>
    copy().then((url) =>
      growing(url, async (log) => {
        expect(await verify(log)).toMatchObject({
          ok: true,
          head: { pos: HEAD },
          upTo: HEAD,
          grownTo: HEAD + 4,
        });
        expect(await verify(log)).toMatchObject({ ok: true, head: { pos: HEAD + 4 }, grownTo: HEAD + 4 });
      }),
    ));

  test('replay too; rows of the table that have moved on are compared as far as they have come', () =>
    copy().then((url) =>
      growing(url, async (log) => {
        expect(await replay(log)).toMatchObject({
          ok: true,
          head: { pos: HEAD },
          grownTo: HEAD + 4,
          events: HEAD,
          streams: 3,
          rows: 4,
        });
      }),
    ));
});

function tablesOf(url: string): Promise<readonly string[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'spillway' order by 1`,
    );
    return rows.map(({ name }) => name);
  });
}

/** Every row of every table, as one digest a table. */
async function written(url: string): Promise<readonly string[]> {
  const tables = await tablesOf(url);
  return withClient(url, async (client) => {
    const digests: string[] = [];
    for (const table of tables) {
      const { rows } = await client.query<{ digest: string }>(
        `select ${"md5(coalesce(string_agg(t::text, ',' order by t::text), ''))"} as digest from spillway.${table} t`,
      );
      digests.push(`${table} ${rows[0]?.digest}`);
    }
    return digests;
  });
}
