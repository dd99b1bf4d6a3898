import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { hashOf } from '#event-log/chain';
import { lineOf, readCheckpointLines } from '#event-log/checkpoint-lines';
import { signCheckpoint } from '#event-log/signed-checkpoint';
import { publicKeysOf, type SigningKey, signingKeys } from '#event-log/signing-keys';
import type { RecordedEvent } from '#events/envelope';
import { Secret } from '#platform/secret';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog, withClient } from '#support/open-log';
import { withAuditLog } from '../../apps/audit/src/audit-log.ts';
import { ExportFolder } from '../../apps/audit/src/export/read-export.ts';
import { verifyExport } from '../../apps/audit/src/export/verify-export.ts';
import { writeExport } from '../../apps/audit/src/export/write-export.ts';
import { verify } from '../../apps/audit/src/verify.ts';
import { History, rechain, tamper } from './audit-kit.ts';

/** Positions 1 to 10, 11 to 20, 21 to 22. */
const ACCEPTED = 'team-a/finetune-7';
const DECLINED = 'team-a/finetune-8';
const PLACED = 'team-b/serve-1';
const HEAD = 22;
/** Where checkpoints were signed. */
const SIGNED = [2, 12, HEAD];
const AT = '2026-11-29T10:00:00.000Z';

const [key] = signingKeys([{ id: 'k1', bytes: new Uint8Array(32).fill(7) }]) as readonly [SigningKey];
const keys = publicKeysOf([key]);

let original: TestDatabase;
let streams: { readonly accepted: string; readonly declined: string };
let checkpoints: string;
let copies: TestDatabase[] = [];
let folders: string[] = [];

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
  streams = { accepted: await history.streamOf(ACCEPTED), declined: await history.streamOf(DECLINED) };
  const lines: string[] = [];
  for (const pos of SIGNED) lines.push(lineOf(await signAt(history.log, pos)));
  checkpoints = lines.join('');
  // A database with connections cannot be copied.
  await history.log.close();
});
afterEach(async () => {
  for (const copy of copies) await copy.drop();
  for (const folder of folders) await rm(folder, { recursive: true });
  [copies, folders] = [[], []];
});
afterAll(() => original.drop());

async function signAt(log: Pick<History['log'], 'logId' | 'at'>, pos: number) {
  const row = await log.at(pos);
  if (row === null) throw new Error(`no row at ${pos}`);
  return signCheckpoint(
    { logId: await log.logId(), pos, hash: row.hash, recordedAt: row.recordedAt },
    key,
    AT,
  );
}

/** The same history in a database of its own, to damage as who owns the tables. */
async function copy(): Promise<string> {
  const database = await createDatabase({ template: original.name });
  copies.push(database);
  return database.url;
}

async function verified(url: string, lines = checkpoints) {
  return withAuditLog(new Secret(url), async (log) =>
    verify(log, { checkpoints: readCheckpointLines(lines, keys, await log.logId()) }),
  );
}

/** Gives the row at a position a hash of its own that holds, over what it says now. */
async function rehash(url: string, pos: number, change: Partial<RecordedEvent> = {}): Promise<void> {
  const log = await openLog(url);
  const [row, logId] = [await log.at(pos), await log.logId()];
  await log.close();
  if (row === null) throw new Error(`no row at ${pos}`);
  const changed = { ...row, ...change };
  const hash = hashOf(logId, changed);
  await tamper(
    url,
    `update spillway.event set prev_hash = '${changed.prevHash}', hash = '${hash}' where pos = ${pos}`,
  );
}

const renumber = (from: number, by: number) => [
  `update spillway.event set pos = pos + 1000 where pos >= ${from}`,
  `update spillway.event set pos = pos - 1000 + ${by} where pos >= 1000`,
];
/** A row that nobody reported, behind position 3, on a stream of its own. */
const PUT_IN = [
  ...renumber(4, 1),
  `insert into spillway.event
   select 4, occurred_at, recorded_at, 1, 0, 0, schema_version, slot, format, 'allocation-forged', 'forged',
          'forged', command_digest, type, 'input', body, meta, hash, hash
   from spillway.event where pos = 3`,
];
const RECOUNT = `update spillway.event set body = replace(body, '"count":2', '"count":7') where pos = 4`;

interface Attack {
  readonly what: string;
  readonly attack: (url: string) => Promise<void>;
  readonly pos: number;
  readonly kind: string;
  readonly fits: string;
  readonly from: number;
  readonly to: number;
}

const ATTACKS: readonly Attack[] = [
  {
    what: 'edit: a count in place',
    attack: (url) => tamper(url, RECOUNT),
    ...{ pos: 4, kind: 'hash', fits: 'edit', from: 4, to: 4 },
  },
  {
    what: 'edit: with a hash of its own that holds',
    attack: async (url) => {
      await tamper(url, RECOUNT);
      await rehash(url, 4);
    },
    ...{ pos: 5, kind: 'prev_hash', fits: 'edit', from: 4, to: 4 },
  },
  {
    what: 'delete: two rows',
    attack: (url) => tamper(url, 'delete from spillway.event where pos in (4, 5)'),
    ...{ pos: 4, kind: 'gap', fits: 'delete', from: 4, to: 5 },
  },
  {
    what: 'delete: two rows, and the rest renumbered',
    attack: (url) => tamper(url, 'delete from spillway.event where pos in (4, 5)', ...renumber(6, -2)),
    ...{ pos: 4, kind: 'hash', fits: 'delete', from: 4, to: 5 },
  },
  {
    what: 'insert: a row with the hash of another',
    attack: (url) => tamper(url, ...PUT_IN),
    ...{ pos: 4, kind: 'hash', fits: 'insert', from: 4, to: 4 },
  },
  {
    what: 'insert: a row with a hash of its own that holds',
    attack: async (url) => {
      await tamper(url, ...PUT_IN);
      await rehash(url, 4);
    },
    ...{ pos: 5, kind: 'hash', fits: 'insert', from: 4, to: 4 },
  },
  {
    what: 'swap: two rows far apart',
    attack: (url) =>
      tamper(
        url,
        'update spillway.event set pos = 1003 where pos = 3',
        'update spillway.event set pos = 3 where pos = 15',
        'update spillway.event set pos = 15 where pos = 1003',
      ),
    ...{ pos: 3, kind: 'hash', fits: 'swap', from: 3, to: 15 },
  },
  {
    what: 'swap: what two rows say',
    attack: (url) =>
      tamper(
        url,
        `update spillway.event e set body = o.body, meta = o.meta from spillway.event o
         where (e.pos = 4 and o.pos = 18) or (e.pos = 18 and o.pos = 4)`,
      ),
    ...{ pos: 4, kind: 'hash', fits: 'swap', from: 4, to: 18 },
  },
  {
    what: 'swap: a row with another number',
    attack: (url) => tamper(url, 'update spillway.event set pos = 99 where pos = 4'),
    ...{ pos: 4, kind: 'gap', fits: 'swap', from: 4, to: 99 },
  },
  {
    what: 'cut the tail: the last two rows',
    attack: (url) => tamper(url, 'delete from spillway.event where pos > 20'),
    ...{ pos: 21, kind: 'tail', fits: 'cut_tail', from: 21, to: 21 },
  },
  {
    what: 'cut the tail: everything',
    attack: (url) => tamper(url, 'delete from spillway.event'),
    ...{ pos: 1, kind: 'tail', fits: 'cut_tail', from: 1, to: 1 },
  },
  {
    what: 'remove a stream',
    attack: (url) => tamper(url, `delete from spillway.event where stream = '${streams.declined}'`),
    ...{ pos: 11, kind: 'gap', fits: 'removed_stream', from: 11, to: 20 },
  },
  {
    what: 'remove a stream, and make the chain anew',
    attack: async (url) => {
      await tamper(
        url,
        `delete from spillway.event where stream = '${streams.accepted}'`,
        ...renumber(11, -10),
      );
      await rechain(url);
    },
    ...{ pos: 2, kind: 'checkpoint', fits: 'rewritten_chain', from: 1, to: 2 },
  },
  {
    what: 'rewrite a row, and make the chain anew to the end',
    attack: async (url) => {
      await tamper(url, RECOUNT);
      await rechain(url);
    },
    ...{ pos: 12, kind: 'checkpoint', fits: 'rewritten_chain', from: 3, to: 12 },
  },
  {
    what: 'put another log in its place',
    attack: async (url) => {
      await tamper(
        url,
        'alter table spillway.log_meta disable trigger all',
        `update spillway.log_meta set log_id = 'another'`,
      );
      await rechain(url);
    },
    ...{ pos: 2, kind: 'forged_checkpoint', fits: 'rewritten_chain', from: 1, to: 2 },
  },
];

describe('pitfall 11: an owner who alters the log is found, and what was done is named', () => {
  test('nobody did: the log is sound, and signed to its head', async () => {
    expect(await verified(original.url)).toMatchObject({
      ok: true,
      head: { pos: HEAD },
      signed: { checkpoints: 3, upTo: HEAD, doubts: [] },
    });
  });

  test.each(ATTACKS)('$what', async ({ attack, pos, kind, fits, from, to }) => {
    const url = await copy();
    await attack(url);
    expect(await verified(url)).toMatchObject({ ok: false, pos, kind, tampering: { fits, from, to } });
  });

  test('a tail that was cut and a chain that was made anew are not seen without what was signed', async () => {
    const url = await copy();
    await tamper(url, RECOUNT, 'delete from spillway.event where pos > 20');
    await rechain(url);
    expect(await verified(url, '')).toMatchObject({ ok: true, head: { pos: 20 }, signed: { upTo: 0 } });
  });

  test.each([
    [
      'forged',
      (line: string) => line.replace(/"hash":"./, '"hash":"x').replace('"hash":"x', '"hash":"0'),
      12,
    ],
    ['another position', (line: string) => line.replace('"pos":12', '"pos":13'), 13],
    ['no checkpoint', () => 'nothing', 0],
  ] as const)(
    'a checkpoint that was changed (%s) is found, and the log is not blamed',
    async (_what, change, pos) => {
      const lines = checkpoints.split('\n');
      lines[1] = change(lines[1] ?? '');
      expect(await verified(original.url, lines.join('\n'))).toMatchObject({
        ok: false,
        pos,
        kind: 'forged_checkpoint',
        tampering: { fits: 'forged_checkpoint' },
        signed: { checkpoints: 2, doubts: [{ line: 2 }] },
      });
    },
  );
});

describe('an export that somebody edited', () => {
  async function exported(options: { readonly signed: boolean; readonly from?: string }): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'spillway-export-'));
    folders.push(folder);
    await withAuditLog(new Secret(options.from ?? original.url), (log) =>
      writeExport(log, {
        folder,
        rows: 'jsonl',
        key: options.signed ? key : null,
        exportedAt: AT,
        rowsPerFile: 8,
      }),
    );
    return folder;
  }

  const judged = async (folder: string, lines?: string) =>
    verifyExport(await ExportFolder.open(folder), {
      keys,
      ...(lines === undefined ? {} : { checkpoints: lines }),
    });

  function edit(folder: string, file: string, change: (text: string) => string): void {
    const before = readFileSync(join(folder, file), 'utf8');
    const after = change(before);
    if (after === before) throw new Error('nothing was changed');
    writeFileSync(join(folder, file), after);
  }

  const FIRST = 'events-000001.jsonl';
  const SECOND = 'events-000002.jsonl';
  const withoutLine = (index: number) => (text: string) =>
    text
      .split('\n')
      .filter((_line, at) => at !== index)
      .join('\n');

  test.each<[string, string, (text: string) => string, number]>([
    ['a row', FIRST, (text) => text.replace('\\"count\\":2', '\\"count\\":7'), 4],
    ['a row by one that is left out', SECOND, withoutLine(2), 11],
    ['a line by half of it', SECOND, (text) => text.slice(0, -100), 16],
    ['the range', 'manifest.json', (text) => text.replace('"to": 22', '"to": 21'), 1],
    ['the log', 'manifest.json', (text) => text.replace(/"log_id": "./, '"log_id": "x'), 1],
    ['who signed', 'manifest.json', (text) => text.replace('"key_id": "k1"', '"key_id": "k2"'), 1],
  ])('%s is found', async (_what, file, change, pos) => {
    const folder = await exported({ signed: true });
    expect(await judged(folder)).toMatchObject({ ok: true, manifest: 'genuine', head: { pos: HEAD } });
    edit(folder, file, change);
    expect(await judged(folder)).toMatchObject({
      ok: false,
      pos,
      kind: 'edited_export',
      tampering: { fits: 'edited_export' },
    });
  });

  test('made anew from a log whose chain was made anew needs a signature that nobody can make', async () => {
    const url = await copy();
    await tamper(url, RECOUNT);
    await rechain(url);
    const folder = await exported({ signed: false, from: url });
    expect(await judged(folder)).toMatchObject({ ok: false, pos: 1, kind: 'unsigned' });
    // Where checkpoints were kept elsewhere the place is named.
    expect(await judged(folder, checkpoints)).toMatchObject({
      ok: false,
      pos: 12,
      kind: 'checkpoint',
      tampering: { fits: 'rewritten_chain', from: 3, to: 12 },
    });
  });

  test('of a log that was damaged before is told as that, and was not signed', async () => {
    const url = await copy();
    await tamper(url, 'delete from spillway.event where pos in (4, 5)', ...renumber(6, -2));
    const folder = await exported({ signed: true, from: url });
    expect(await judged(folder)).toMatchObject({
      ok: false,
      manifest: 'unsigned',
      pos: 4,
      kind: 'hash',
      tampering: { fits: 'delete', from: 4, to: 5 },
    });
  });

  test('without its tail is found by a checkpoint of before', async () => {
    const url = await copy();
    await tamper(url, 'delete from spillway.event where pos > 20');
    const folder = await exported({ signed: true, from: url });
    expect(await judged(folder, checkpoints)).toMatchObject({
      ok: false,
      pos: 21,
      kind: 'tail',
      tampering: { fits: 'cut_tail' },
    });
  });

  test('is nothing once its manifest is gone', async () => {
    const folder = await exported({ signed: true });
    await rm(join(folder, 'manifest.json'));
    await expect(judged(folder)).rejects.toThrow(/holds no finished export/);
  });
});

test('who asks what fits changes nothing', async () => {
  const url = await copy();
  await tamper(url, RECOUNT);
  const rows = () =>
    withClient(url, async (client) => (await client.query('select * from spillway.event')).rows);
  const before = await rows();
  await verified(url);
  expect(await rows()).toEqual(before);
});
