import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { CloudEvent } from 'cloudevents';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashOf } from '#event-log/chain';
import { withRole } from '#event-log/connect';
import { migrate } from '#event-log/migrate';
import { signingKeys } from '#event-log/signing-keys';
import type { RecordedEvent } from '#events/envelope';
import { Secret } from '#platform/secret';
import { at, digestOf, idOf } from '#support/builders';
import { removeStreams } from '#support/bus-caller';
import { createDatabase, type TestDatabase, withNats } from '#support/infra';
import { command } from '#support/log-builders';
import { openLog, withClient } from '#support/open-log';
import { appendAsProvisioner, instancePlaced, streamOfName } from '#support/provisioner-facts';
import { plan } from '#support/watch-builders';
import { withAuditLog } from '../../apps/audit/src/audit-log.ts';
import { ExportFolder } from '../../apps/audit/src/export/read-export.ts';
import { writeExport } from '../../apps/audit/src/export/write-export.ts';
import { replay } from '../../apps/audit/src/replay.ts';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { CommandLine, type CommandRun, History, tamper } from './audit-kit.ts';

const CONSENTED = 'team-a/finetune-7';
const ASKED = 'team-a/finetune-8';
const PLACED = 'team-b/train-1';
const FENCE = 3;

const nats = withNats();
let original: TestDatabase;
let cli: CommandLine;
let env: Readonly<Record<string, string>>;
let head: number;
let ref: string;

beforeAll(async () => {
  original = await createDatabase();
  const history = await History.open(original.url);
  for (const name of [CONSENTED, ASKED]) {
    for (let failure = 0; failure < 3; failure += 1) await history.attempt(name);
  }
  await history.answer(CONSENTED, true);
  // A fact of the placement without a launch.
  await appendAsProvisioner(
    history.log,
    await history.streamOf(CONSENTED),
    [{ type: 'PoolMoveNotProvisioned', data: { prompt: idOf('prompt'), why: 'no_launch' } }],
    at(0),
  );
  await appendAsProvisioner(
    history.log,
    streamOfName(history.ring, PLACED),
    [
      {
        type: 'LaunchAccepted',
        data: { launch: idOf('launch'), plan: plan(), requestDigest: null, workloadDigest: digestOf('w') },
      },
      { type: 'RungCounted', data: { rung: 'od_a', day: '2026-11-29', count: 1, fence: FENCE } },
      instancePlaced({ instance: 'vm-1', rung: 'od_a', createdAt: at(0) }),
    ],
    at(0),
  );
  head = (await history.log.head()).pos;
  ref = await history.refOf(CONSENTED);
  await history.log.close();
  cli = new CommandLine();
  writeFileSync(join(cli.folder, 'signing'), `k1:${Buffer.alloc(32, 5).toString('base64')}`);
  env = {
    SPILLWAY_DATABASE_URL: original.url,
    SPILLWAY_CHECKPOINT_KEYS_FILE: join(cli.folder, 'signing'),
    ...cli.keyEnv,
  };
  expect(await run('admin public-keys --out keys.json')).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await removeStreams(nats).catch(() => {});
  cli.remove();
  await original.drop();
});

const run = (line: string, more: Readonly<Record<string, string>> = {}): Promise<CommandRun> =>
  cli.run(line.split(' '), { ...env, ...more });
const text = (name: string) => readFileSync(join(cli.folder, name), 'utf8');
const linesOf = (name: string) => text(name).trimEnd().split('\n');

async function rowsOf(url: string): Promise<readonly RecordedEvent[]> {
  const log = await openLog(url, { role: 'spillway_audit' });
  const rows = await log.readAfter(0, 1_000);
  await log.close();
  return rows;
}

async function tableOf(url: string, name: string): Promise<readonly unknown[]> {
  return withClient(
    url,
    async (client) => (await client.query(`select * from spillway.${name} order by 1`)).rows,
  );
}

/** A migrated database that no app has run on. */
async function freshDatabase(): Promise<TestDatabase> {
  const database = await createDatabase();
  await migrate(database.url);
  return database;
}

describe('spillway admin checkpoint', () => {
  test('signs the head once, publishes it, and proves the log to who has the public key only', async () => {
    const bus = {
      SPILLWAY_NATS_URL: nats.url,
      SPILLWAY_BUS_PREFIX: nats.prefix,
      SPILLWAY_DEPLOYMENT: 'test',
    };
    const signed = await run('admin checkpoint --out proof/checkpoints.jsonl --publish', bus);
    expect(signed).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Signed position \d+, hash .* by key k1/),
    });
    expect(await run('admin checkpoint --out proof/checkpoints.jsonl')).toMatchObject({
      code: 0,
      out: `Position ${head} is signed already: nothing to do.\n`,
    });
    const [line, ...others] = linesOf('proof/checkpoints.jsonl');
    expect(others).toEqual([]);
    expect(JSON.parse(line ?? '')).toMatchObject({
      format: 'spillway-checkpoint-1',
      pos: head,
      key_id: 'k1',
    });

    const connection = await connect({ servers: new URL(nats.url).host });
    const manager = await jetstreamManager(connection);
    const stream = `${nats.prefix.toUpperCase()}_CP_test`;
    const kept = await manager.streams.getMessage(stream, { last_by_subj: `${nats.prefix}.checkpoint` });
    expect(kept?.json()).toEqual(JSON.parse(line ?? ''));
    await connection.close();

    const proof = '--checkpoints proof/checkpoints.jsonl --public-keys keys.json';
    expect((await run(`audit verify ${proof}`)).out).toMatch(
      new RegExp(
        `^sound {2}up to position ${head}, .*\nsigned {3}up to position ${head}, by 1 checkpoint\n$`,
      ),
    );
    const cut = await createDatabase({ template: original.name });
    await tamper(cut.url, `delete from spillway.event where pos = ${head}`);
    const there = { SPILLWAY_DATABASE_URL: cut.url };
    const found = await run(`audit verify ${proof} --json`, there);
    expect(found.code).toBe(1);
    expect(JSON.parse(found.out)).toMatchObject({ pos: head, kind: 'tail', tampering: { fits: 'cut_tail' } });
    // What contradicts the last signature is not signed.
    expect(await run('admin checkpoint --out proof/checkpoints.jsonl', there)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^damaged .*\(tail\).*\nfits {5}cut_tail/),
    });
    expect(linesOf('proof/checkpoints.jsonl')).toHaveLength(1);
    await cut.drop();
  });

  test('a new key is announced by the old one, which verifiers go on with; half a line is cut back', async () => {
    await run('admin checkpoint --out rotated.jsonl');
    appendFileSync(join(cli.folder, 'rotated.jsonl'), '{"format":"spillway-che');
    const ring = `k2:${Buffer.alloc(32, 6).toString('base64')},k1:${Buffer.alloc(32, 5).toString('base64')}`;
    writeFileSync(join(cli.folder, 'rotated-keys'), ring);
    const rotated = { SPILLWAY_CHECKPOINT_KEYS_FILE: join(cli.folder, 'rotated-keys') };
    expect(await run('admin checkpoint --out rotated.jsonl', rotated)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/by key k2/),
    });
    expect(linesOf('rotated.jsonl').map((line) => JSON.parse(line).format)).toEqual([
      'spillway-checkpoint-1',
      'spillway-checkpoint-key-1',
      'spillway-checkpoint-1',
    ]);
    expect(await run('audit verify --checkpoints rotated.jsonl --public-keys keys.json')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/by 2 checkpoints/),
    });
  });

  test('on a schedule signs what was appended since, and ends when it is told to', async () => {
    const growing = await createDatabase({ template: original.name });
    const signing = cli.start('admin checkpoint --every 1s --out growing.jsonl'.split(' '), {
      ...env,
      SPILLWAY_DATABASE_URL: growing.url,
    });
    const signed = () => (existsSync(join(cli.folder, 'growing.jsonl')) ? linesOf('growing.jsonl') : []);
    const positions = () =>
      signed()
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line).pos);
    await waitUntil('the head is signed', 20_000, () => positions().length === 1);
    const log = await openLog(growing.url);
    await log.append([command(), command()]);
    await log.close();
    await waitUntil('the new head is signed', 20_000, () => positions().length >= 2);
    signing.stop();
    expect(await signing.ended).toMatchObject({ code: 0, err: '' });
    expect(positions()).toEqual([head, head + 2]);
    await growing.drop();
  });

  test.each([
    ['no key', 'admin checkpoint', { SPILLWAY_CHECKPOINT_KEYS_FILE: '' }, /signing needs a key/],
    ['no public keys', 'audit verify --checkpoints keys.json', {}, /proves nothing without --public-keys/],
    ['no time', 'admin checkpoint --every 0m', {}, /--every is a time such as/],
    ['no folder', 'audit verify --export nowhere', {}, /holds no finished export/],
    ['nobody to trust', 'admin import --in nowhere', {}, /say whom to trust/],
  ])('%s is one sentence and 2', async (_what, line, more, sentence) => {
    const result = await run(line, more);
    expect(result.err.trim().split('\n')).toEqual([expect.stringMatching(sentence)]);
    expect(result.code).toBe(2);
  });
});

describe('spillway audit export', () => {
  test.each(['jsonl', 'cloudevents'])(
    'as %s is proven without a database, and imported as the same log',
    async (format) => {
      await run(`admin checkpoint --out ${format}.checkpoints`);
      const given = `--checkpoints ${format}.checkpoints --public-keys keys.json`;
      const made = await run(`audit export --out ${format} --format ${format} ${given}`);
      expect(made).toMatchObject({
        code: 0,
        out: expect.stringMatching(/in 1 file to .*, signed by k1\.\n$/),
      });
      expect(text(`${format}/events-000001.jsonl`)).not.toMatch(/team-a|VM schedule|h200/);

      const verified = await run(`audit verify --export ${format} --public-keys keys.json`, {
        SPILLWAY_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      });
      expect(verified).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^sound .*\nsigned .*\nsigned .*\nproves/),
      });

      const there = await freshDatabase();
      const imported = await run(`admin import --in ${format} --public-keys keys.json`, {
        SPILLWAY_DATABASE_URL: there.url,
      });
      expect(imported).toMatchObject({
        code: 0,
        out: expect.stringMatching(new RegExp(`^Imported ${head} rows`)),
      });
      expect(await rowsOf(there.url)).toEqual(await rowsOf(original.url));
      for (const table of ['allocation', 'stream_key']) {
        expect(await tableOf(there.url, table)).toEqual(await tableOf(original.url, table));
      }
      expect(await tableOf(there.url, 'lease')).toMatchObject([{ fence: String(FENCE), holder: null }]);
      for (const table of ['sealed', 'record_key']) expect(await tableOf(there.url, table)).toEqual([]);
      const report = await withAuditLog(new Secret(there.url), (log) => replay(log));
      expect(report).toMatchObject({ ok: true, events: head });
      // The log goes on as if it had never been anywhere else.
      const log = await openLog(there.url);
      expect(await log.logId()).toBe(JSON.parse(text(`${format}/manifest.json`)).log_id);
      await log.close();
      const again = await run(`admin import --in ${format} --public-keys keys.json`, {
        SPILLWAY_DATABASE_URL: there.url,
      });
      expect(again).toMatchObject({ code: 2, err: expect.stringMatching(/not a fresh one/) });
      await there.drop();
    },
  );

  test('as CloudEvents is read by their library, one event a line', async () => {
    const folder = join(cli.folder, 'events');
    await withAuditLog(new Secret(original.url), (log) =>
      writeExport(log, { folder, rows: 'cloudevents', from: 2, to: 4, key: null, exportedAt: at(0) }),
    );
    const events = linesOf('events/events-000001.jsonl').map(
      (line) => new CloudEvent<unknown>(JSON.parse(line)),
    );
    expect(events.map((event) => event.validate())).toEqual([true, true, true]);
    expect(events.map(({ pos, specversion }) => [pos, specversion])).toEqual([
      [2, '1.0'],
      [3, '1.0'],
      [4, '1.0'],
    ]);
    expect(events[0]).toMatchObject({
      type: 'spillway.AttemptTracked',
      source: expect.stringMatching(/^urn:spillway:log:/),
    });
  });

  test('of one allocation says what it proves and what not', async () => {
    const made = await run(`audit export --out one --allocation ${ref}`);
    expect(made.code).toBe(0);
    const rows = linesOf('one/events-000001.jsonl').map((line) => JSON.parse(line));
    expect(new Set(rows.map(({ stream }) => stream))).toEqual(new Set([`allocation-${ref}`]));
    const verified = await run('audit verify --export one --public-keys keys.json');
    expect(verified.out).toMatch(/^sound {2}9 rows of one allocation.*\n.*\n.*none between .* is missing\./);
    expect(verified.out).toMatch(/does not prove by itself that they stand in one chain/);
    const refused = await run('admin import --in one --public-keys keys.json', {
      SPILLWAY_DATABASE_URL: original.url,
    });
    expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/only an export of all rows/) });
  });

  test('in several files is read in bounded pages, and every prefix can be exported on its own', async () => {
    const folder = join(cli.folder, 'parts');
    const [key = null] = signingKeys([{ id: 'k1', bytes: Buffer.alloc(32, 5) }]);
    const { manifest } = await withAuditLog(new Secret(original.url), (log) =>
      writeExport(log, { folder, rows: 'jsonl', key, exportedAt: at(0), rowsPerFile: 5 }),
    );
    expect(manifest.files.map(({ count }) => count)).toEqual([5, 5, 5, head - 15]);
    const pages: RecordedEvent[] = [];
    for await (const page of (await ExportFolder.open(folder)).pages(7)) pages.push(...page);
    expect(pages).toEqual((await rowsOf(original.url)).slice(6));
  });
});

describe('what fills an empty log', () => {
  let there: TestDatabase;
  beforeAll(async () => {
    there = await freshDatabase();
  });
  afterAll(() => there.drop());

  const importing = (url: string, ...calls: readonly (readonly [string, unknown])[]) =>
    withClient(withRole(url, 'spillway_admin'), async (client) => {
      await client.query('begin');
      for (const [name, argument] of calls) {
        const value = typeof argument === 'string' ? argument : JSON.stringify(argument);
        await client.query(`select spillway.${name}($1)`, [value]);
      }
      await client.query('commit');
    });

  test('takes no row that does not follow on the row before, and leaves nothing behind', async () => {
    const [one, two, three] = await rowsOf(original.url);
    if (one === undefined || two === undefined || three === undefined)
      throw new Error('the log is too short');
    const log = await openLog(original.url);
    const logId = await log.logId();
    await log.close();
    const rehashed = (row: RecordedEvent) => ({ ...row, hash: hashOf(logId, row) });
    const cases: readonly (readonly RecordedEvent[])[] = [
      [{ ...one, body: '{}' }],
      [one, three],
      [two],
      [one, rehashed({ ...two, prevHash: '0'.repeat(64) })],
      [one, rehashed({ ...two, recordedAt: '2001-01-01T00:00:00.000Z' })],
      [rehashed({ ...one, pos: 2 })],
    ];
    for (const rows of cases) {
      await expect(importing(there.url, ['import_begin', logId], ['import_rows', rows])).rejects.toThrow(
        /does not follow/,
      );
    }
    expect(await rowsOf(there.url)).toEqual([]);
    // Another identity makes every hash another one.
    await expect(importing(there.url, ['import_begin', 'other'], ['import_rows', [one]])).rejects.toThrow(
      /does not follow/,
    );
  });

  test('takes nothing into a log that has rows of anybody else', async () => {
    const rows = await rowsOf(original.url);
    const copy = await createDatabase({ template: original.name });
    const next = { ...rows.at(-1), pos: head + 1 };
    await expect(importing(copy.url, ['import_rows', [next]])).rejects.toThrow(/empty log only/);
    await expect(importing(copy.url, ['import_beside', []])).rejects.toThrow(/with them only/);
    await copy.drop();
  });

  test.each(['spillway_app', 'spillway_audit'] as const)('is beyond the rights of %s', async (role) => {
    await withClient(withRole(there.url, role), async (client) => {
      for (const call of [`import_begin('x')`, `import_rows('[]')`, `import_beside('[]')`]) {
        await expect(client.query(`select spillway.${call}`)).rejects.toThrow(/permission denied/);
      }
    });
  });

  test('the identity of a log that has begun stays', async () => {
    const copy = await createDatabase({ template: original.name });
    await importing(copy.url, ['import_begin', 'mine']);
    const log = await openLog(copy.url, { role: 'spillway_audit' });
    expect(await log.logId()).not.toBe('mine');
    await log.close();
    await withClient(copy.url, async (client) => {
      await expect(client.query(`update spillway.log_meta set log_id = 'mine'`)).rejects.toThrow(
        /insert-only/,
      );
    });
    await copy.drop();
  });
});
