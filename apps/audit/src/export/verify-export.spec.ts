import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCheckpointLines } from '#event-log/checkpoint-lines';
import { InMemoryLog } from '#event-log/in-memory-log';
import { signCheckpoint } from '#event-log/signed-checkpoint';
import { publicKeysOf, type SigningKey, signingKeys } from '#event-log/signing-keys';
import { command, decision, input } from '#support/log-builders';
import { seeded } from '#support/seeded';
import { MANIFEST_FILE, ROW_FORMATS } from './manifest.ts';
import { ExportFolder, NoExport } from './read-export.ts';
import { verifyExport } from './verify-export.ts';
import { ExportRefused, writeExport } from './write-export.ts';

const AT = '2026-11-29T10:00:00.000Z';
const STREAM = 'allocation-1';
const [key] = signingKeys([{ id: 'k1', bytes: new Uint8Array(32).fill(3) }]) as readonly [SigningKey];
const keys = publicKeysOf([key]);

let log: InMemoryLog;
let folder: string;
let made = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'spillway-verify-'));
  log = new InMemoryLog({ logId: 'log-1', now: () => 0 });
  await log.append([
    command({ stream: STREAM, ringKeyId: 'r1', events: [input(), decision(), input()] }),
    command({ stream: 'allocation-2', ringKeyId: 'r1', events: [input(), decision()] }),
    command({ stream: STREAM, events: [decision('Über\n"🙂"')] }),
  ]);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function exported(change: Partial<Parameters<typeof writeExport>[1]> = {}): Promise<string> {
  made += 1;
  const out = join(folder, String(made));
  await writeExport(log, { folder: out, rows: 'jsonl', key, exportedAt: AT, rowsPerFile: 4, ...change });
  return out;
}

async function judged(out: string) {
  return verifyExport(await ExportFolder.open(out), { keys });
}

describe('an export', () => {
  test.each(ROW_FORMATS)('as %s is sound as it was made', async (rows) => {
    expect(await judged(await exported({ rows }))).toMatchObject({
      ok: true,
      manifest: 'genuine',
      head: { pos: 6 },
      count: 6,
    });
  });

  test.each([
    [2, 5],
    [6, 6],
    [1, 6],
  ])('of the positions %i to %i is sound by itself', async (from, to) => {
    expect(await judged(await exported({ from, to }))).toMatchObject({ ok: true, from, upTo: to });
  });

  test('of one allocation leaves what stands between its rows open, and says so', async () => {
    const report = await judged(await exported({ stream: STREAM }));
    expect(report).toMatchObject({ ok: true, allocation: STREAM, count: 4 });
    expect(report.proves.at(-1)).toMatch(/does not prove by itself that they stand in one chain/);
  });

  test('of an empty log is empty', async () => {
    const empty = new InMemoryLog({ logId: 'log-2', now: () => 0 });
    const out = join(folder, 'empty');
    await writeExport(empty, { folder: out, rows: 'jsonl', key, exportedAt: AT });
    expect(await judged(out)).toMatchObject({ ok: true, head: { pos: 0 }, count: 0 });
  });

  test('without a signature is proven by checkpoints, as far as they reach', async () => {
    const row = await log.at(4);
    if (row === null) throw new Error('no row');
    const signed = signCheckpoint(
      { logId: 'log-1', pos: 4, hash: row.hash, recordedAt: row.recordedAt },
      key,
      AT,
    );
    const checkpoints = readCheckpointLines(JSON.stringify(signed), keys, 'log-1');
    const report = await judged(await exported({ key: null, checkpoints }));
    expect(report).toMatchObject({ ok: true, manifest: 'unsigned', signed: { upTo: 4 } });
    expect(report.proves.join(' ')).toMatch(
      /Nothing up to 4 was changed.*Nobody vouches for what stands behind 4/,
    );
  });

  test('that nobody signed proves nothing to who trusts keys, and its own consistency to who does not ask', async () => {
    const out = await exported({ key: null });
    expect(await judged(out)).toMatchObject({ ok: false, kind: 'unsigned' });
    expect(await verifyExport(await ExportFolder.open(out), { keys: null })).toMatchObject({
      ok: true,
      manifest: 'unsigned',
    });
  });

  test.each([
    ['beyond the end', { to: 7 }, /the log ends at 6/],
    ['that ends before it begins', { from: 5, to: 3 }, /ends before it begins/],
  ])('%s is refused', async (_what, change, why) => {
    await expect(exported(change)).rejects.toThrow(why);
  });

  test('goes into an empty folder only', async () => {
    const out = await exported();
    await expect(writeExport(log, { folder: out, rows: 'jsonl', key, exportedAt: AT })).rejects.toThrow(
      ExportRefused,
    );
  });
});

test.each(ROW_FORMATS)(
  'no byte of an export as %s can be changed, left out or added unseen',
  async (rows) => {
    const out = await exported({ rows });
    const files = readdirSync(out).sort();
    const manifest = JSON.parse(readFileSync(join(out, MANIFEST_FILE), 'utf8'));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.constantFrom('flip', 'drop', 'add'),
        fc.integer({ min: 1, max: 255 }),
        async (file, where, deed, value) => {
          const path = join(out, file);
          const before = readFileSync(path);
          const at = Math.floor(where * before.length);
          const kept = deed === 'add' ? at : at + 1;
          const put = deed === 'drop' ? [] : [deed === 'flip' ? (before[at] ?? 0) ^ value : value];
          writeFileSync(
            path,
            Buffer.concat([before.subarray(0, at), Buffer.from(put), before.subarray(kept)]),
          );
          try {
            const isSound = await judged(out).then(
              ({ ok }) => ok,
              (error: unknown) => !(error instanceof NoExport),
            );
            // Blanks between the members of the manifest say nothing.
            if (isSound) {
              expect(file).toBe(MANIFEST_FILE);
              expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(manifest);
            }
          } finally {
            writeFileSync(path, before);
          }
        },
      ),
      seeded(150),
    );
  },
);
