import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WrapKeyMissing } from '#domain/log';
import { assertKeys } from '#event-log/assert-keys';
import { loadAllocation } from '#event-log/load-allocation';
import type { PostgresLog } from '#event-log/postgres-log';
import { Sealer } from '#platform/sealer';
import { Secret } from '#platform/secret';
import { DEFAULT_RULES } from '#support/builders';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog } from '#support/open-log';
import { everyTable, hitsIn } from '#support/places-to-search';
import { type AuditLog, withAuditLog } from '../../apps/audit/src/audit-log.ts';
import { replay } from '../../apps/audit/src/replay.ts';
import { replayCompare } from '../../apps/audit/src/replay-compare.ts';
import { timeline } from '../../apps/audit/src/timeline.ts';
import { verify } from '../../apps/audit/src/verify.ts';
import { type EraseLog, eraseAllocation } from '../../tools/spillway/erase-allocation.ts';
import { rewrapKeys } from '../../tools/spillway/rewrap-keys.ts';
import { CommandLine, History, WRAP_KEYS } from './audit-kit.ts';

const AT = '2026-11-29T10:00:00.000Z';
const NEW_WRAP_KEY = { id: 'w2', bytes: new Uint8Array(32).fill(7) };

let database: TestDatabase;
let history: History;
let admin: PostgresLog;
let cli: CommandLine;

beforeAll(async () => {
  database = await createDatabase();
  history = await History.open(database.url);
  admin = await openLog(database.url, { role: 'spillway_admin' });
  cli = new CommandLine();
});
afterAll(async () => {
  cli.remove();
  await history.log.close();
  await admin.close();
  await database.drop();
});

const asked = async (name: string) => {
  for (let failure = 0; failure < 3; failure += 1) await history.attempt(name);
  return history.streamOf(name);
};
const erase = (stream: string, log: EraseLog = admin) =>
  eraseAllocation(log, { stream, at: AT, requestedBy: 'local' });
const typesOf = async (stream: string) =>
  (await history.log.readStream(stream, 0, 200)).map(({ type }) => type);
const auditing = <Result>(use: (log: AuditLog) => Promise<Result>) =>
  withAuditLog(new Secret(database.url), use);
const run = (line: string, env: Readonly<Record<string, string>> = {}) =>
  cli.run(line.split(' '), { SPILLWAY_DATABASE_URL: database.url, ...cli.keyEnv, ...env });

/** Sound, folds and decides to the same: what every erasure must leave. */
async function expectProven(): Promise<void> {
  await auditing(async (log) => {
    expect(await verify(log)).toMatchObject({ ok: true });
    expect(await replay(log)).toMatchObject({ ok: true, found: 0 });
    const unsealer = new Sealer({ store: log.sealed, wrapKeys: WRAP_KEYS });
    expect(await replayCompare(log, { rules: DEFAULT_RULES, unsealer })).toMatchObject({ ok: true });
  });
}

describe('erasing an allocation', () => {
  test('says so first, destroys its key, and withdraws the open question', async () => {
    const name = 'zq-team/erased-with-question';
    const stream = await asked(name);
    const question = (await loadAllocation(admin, stream))?.scalars.openQuestion?.eventId;
    expect(await erase(stream)).toMatchObject({
      kind: 'erased',
      destroyed: { keys: 1, texts: 3 },
      withdrew: question,
      finishes: false,
      reportedMeanwhile: false,
    });
    expect((await typesOf(stream)).slice(-3)).toEqual([
      'FallbackPrompted',
      'ErasureRequested',
      'AllocationErased',
    ]);
    const { scalars } = (await loadAllocation(admin, stream)) ?? {};
    expect(scalars).toMatchObject({
      status: 'tracking',
      consent: 'not-requested',
      promptedEvidence: null,
      openQuestion: null,
      count: 3,
    });
    expect(await admin.allocations.get(stream)).toMatchObject({ record: { openQuestion: null } });
    const story = await auditing((log) =>
      timeline(log, stream, new Sealer({ store: log.sealed, wrapKeys: WRAP_KEYS })),
    );
    expect(story).toMatchObject({ name: null });
    expect(story?.lines.slice(-2).map(({ what }) => what)).toEqual([
      'asked for the name and the texts to be destroyed',
      expect.stringMatching(/^erased the name and the texts, which withdrew question/),
    ]);
    expect(
      await hitsIn(await everyTable({ databaseUrl: database.url }), [name, 'VM schedule timeout']),
    ).toEqual([]);
    await expectProven();
  });

  test('changes nothing the second time, and erases again what was reported since', async () => {
    const name = 'zq-team/erased-again';
    const stream = await asked(name);
    const first = await erase(stream);
    const before = await typesOf(stream);
    expect(await erase(stream)).toEqual({
      kind: 'erased_already',
      position: first.kind === 'erased' ? first.position : 0,
    });
    expect(await typesOf(stream)).toEqual(before);

    // The same name goes on in the same record; what it says is sealed anew.
    const other = await History.open(database.url);
    await other.attempt(name, { evidence: { source: 'scheduler', fingerprint: 'f2' } });
    await other.log.close();
    expect((await loadAllocation(admin, stream))?.scalars.count).toBe(4);
    const open = () =>
      auditing((log) =>
        timeline(log, stream, new Sealer({ store: log.sealed, wrapKeys: WRAP_KEYS })).then(
          (told) => told?.name,
        ),
      );
    expect(await open()).toBe(name);
    expect(await erase(stream)).toMatchObject({ kind: 'erased', destroyed: { keys: 1 } });
    expect(await open()).toBeNull();
    await expectProven();
  });

  test.each<[string, (log: PostgresLog) => EraseLog, readonly string[]]>([
    ['before anything is destroyed', (log) => failing(log, 'erase'), ['ErasureRequested']],
    ['after it, before it is recorded', (log) => failing(log, 'append', 2), ['ErasureRequested']],
  ])('cut off %s is seen in the log, and finished by the next call', async (when, cutOff, recorded) => {
    const stream = await asked(`zq-team/cut-off ${when}`);
    await expect(erase(stream, cutOff(admin))).rejects.toThrow('cut off');
    expect((await typesOf(stream)).slice(-1)).toEqual(recorded);
    await expectProven();
    expect(await erase(stream)).toMatchObject({ kind: 'erased', finishes: true });
    expect((await typesOf(stream)).slice(-2)).toEqual(['ErasureRequested', 'AllocationErased']);
    expect(await admin.sealed.ofStream(stream)).toEqual([]);
    await expectProven();
  });

  test('overtaken by a decision, it is decided again on that', async () => {
    const name = 'zq-team/overtaken';
    const stream = await asked(name);
    let raced = false;
    const racing: EraseLog = {
      readStream: (...place) => admin.readStream(...place),
      sealed: admin.sealed,
      append: async (commands) => {
        const isFact = commands.some(({ events }) =>
          events.some(({ event }) => event.type === 'AllocationErased'),
        );
        if (isFact && !raced) {
          raced = true;
          await history.answer(name, true);
        }
        return admin.append(commands);
      },
    };
    expect(await erase(stream, racing)).toMatchObject({ kind: 'erased', withdrew: null });
    expect((await loadAllocation(admin, stream))?.scalars).toMatchObject({
      pool: 'preemptible',
      consent: 'accepted',
    });
    await expectProven();
  });
});

describe('spillway admin erase', () => {
  test('by name, found under the older key; a script says that it is meant', async () => {
    const name = 'zq-team/by-name';
    const stream = await asked(name);
    const line = `admin erase --name ${name}`;
    expect(await run(line)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/add --yes/) });
    expect((await typesOf(stream)).at(-1)).toBe('FallbackPrompted');
    const { code, out, err } = await run(`${line} --yes`);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(
      /^Erased: 1 key and 3 sealed texts are destroyed \(position \d+\)\.\nQuestion .{8}… was open: it is withdrawn, and its token is dead\.\n$/,
    );
    expect(out).not.toContain(name);
    expect((await run(`${line} --yes`)).out).toMatch(
      /^It was erased at position \d+, and nothing was reported since/,
    );
  });

  test.each([
    ['admin erase --yes', /give either the ref of the allocation or --name$/],
    [`admin erase ${'0'.repeat(64)} --name x --yes`, /give either the ref of the allocation or --name$/],
    [`admin erase ${'0'.repeat(64)} --yes`, /no allocation of this ref$/],
    [`admin erase --allocation ${'0'.repeat(64)} --yes`, /no allocation of this ref$/],
    ['admin erase --name nobody --yes', /no allocation of this name$/],
    ['admin erase --allocation abc --yes', /64 lower-case hex digits/],
  ])('refuses %s', async (line, sentence) => {
    const { code, out, err } = await run(line);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err.trim()).toMatch(sentence);
  });
});

describe('the wrapping key rotates', () => {
  const sealer = (wrapKeys = [NEW_WRAP_KEY, ...WRAP_KEYS]) => new Sealer({ store: admin.sealed, wrapKeys });
  const rewrap = (change: Partial<Parameters<typeof rewrapKeys>[0]> = {}) =>
    rewrapKeys({ store: admin.sealed, sealer: sealer(), newest: 'w2', ...change });

  test('stopped anywhere and run again, every text opens with the new key alone', async () => {
    const names = ['zq-team/w-1', 'zq-team/w-2', 'zq-team/w-3'];
    for (const name of names) await history.attempt(name);
    const all = await admin.sealed.countWrappedOtherwise('w2');
    let wrapped = 0;
    const stopping = {
      wrappedOtherwise: (...page: Parameters<typeof admin.sealed.wrappedOtherwise>) =>
        admin.sealed.wrappedOtherwise(...page),
      countWrappedOtherwise: (id: string) => admin.sealed.countWrappedOtherwise(id),
      rewrap: async (...key: Parameters<typeof admin.sealed.rewrap>) => {
        if (wrapped === 1) throw new Error('stopped');
        wrapped += 1;
        return admin.sealed.rewrap(...key);
      },
    };
    await expect(rewrap({ store: stopping })).rejects.toThrow('stopped');
    expect(await admin.sealed.countWrappedOtherwise('w2')).toBe(all - 1);
    const seen: number[] = [];
    const done = await rewrap({ pageSize: 1, onProgress: (at, of) => seen.push(at / of) });
    expect(done).toEqual({ rewrapped: all - 1, gone: 0, unopened: {} });
    expect(seen.at(-1)).toBe(1);
    expect(await rewrap()).toEqual({ rewrapped: 0, gone: 0, unopened: {} });
    for (const name of names) {
      const stream = await history.streamOf(name);
      expect(await sealer([NEW_WRAP_KEY]).open(stream, 'name', await history.refOf(name))).toBe(name);
      await expect(
        sealer([...WRAP_KEYS]).open(stream, 'name', await history.refOf(name)),
        'what cannot be read here is not erased',
      ).rejects.toThrow(WrapKeyMissing);
    }
  });

  test('beside an erasure, a key that is gone stays gone', async () => {
    const stream = await asked('zq-team/w-erased');
    const store = {
      wrappedOtherwise: (...page: Parameters<typeof admin.sealed.wrappedOtherwise>) =>
        admin.sealed.wrappedOtherwise(...page),
      countWrappedOtherwise: (id: string) => admin.sealed.countWrappedOtherwise(id),
      rewrap: async (...key: Parameters<typeof admin.sealed.rewrap>) => {
        await admin.sealed.erase(stream);
        return admin.sealed.rewrap(...key);
      },
    };
    expect(await rewrap({ store })).toEqual({ rewrapped: 0, gone: 1, unopened: {} });
    expect(await admin.sealed.keysOf(stream)).toEqual([]);
  });

  test.each([
    {
      given: [{ id: 'w9', bytes: new Uint8Array(32).fill(9) }],
      refusal: /^SPILLWAY_WRAP_KEYS lacks the key "w2"/m,
    },
    {
      given: [{ ...NEW_WRAP_KEY, bytes: new Uint8Array(32).fill(8) }],
      refusal: /^The key "w2" of SPILLWAY_WRAP_KEYS does not open/m,
    },
    { given: [NEW_WRAP_KEY], refusal: null },
    { given: [...WRAP_KEYS, NEW_WRAP_KEY], refusal: null },
  ])('an app that is given $given.0.id starts: $refusal', async ({ given, refusal }) => {
    await history.attempt('zq-team/w-start');
    await rewrap();
    const ring = (await admin.sealed.keyIdsInUse()).ring.map((id) => ({ id }));
    const starting = assertKeys(admin.sealed, { ring, wrapping: given });
    if (refusal === null) await starting;
    else await expect(starting).rejects.toThrow(refusal);
  });

  test('spillway admin rewrap says what was done, and names a key that is missing', async () => {
    await history.attempt('zq-team/w-cli');
    const base64 = (byte: number) => Buffer.alloc(32, byte).toString('base64');
    const file = join(cli.folder, 'wrap-new');
    writeFileSync(file, `w2:${base64(7)}`);
    const env = { SPILLWAY_WRAP_KEYS_FILE: file };
    expect(await run('admin rewrap', env)).toEqual({
      code: 1,
      out: '0 record keys were wrapped anew by "w2".\n1 wrapped by "w1" could not be opened: add that key to SPILLWAY_WRAP_KEYS behind the newest one.\n',
      err: '',
    });
    writeFileSync(file, `w2:${base64(7)},w1:${base64(2)}`);
    expect(await run('admin rewrap', env)).toMatchObject({
      code: 0,
      out: 'Every record key is wrapped by "w2" now: 1 was wrapped anew.\n',
    });
    const again = await run('admin rewrap --json', env);
    expect(JSON.parse(again.out)).toEqual({ newest: 'w2', rewrapped: 0, gone: 0, unopened: {} });
  });
});

/** The log whose `count`-th call of this kind dies. */
function failing(log: PostgresLog, kind: 'erase' | 'append', count = 1): EraseLog {
  let calls = 0;
  const dies = (which: typeof kind) => {
    calls += which === kind ? 1 : 0;
    if (which === kind && calls === count) throw new Error('cut off');
  };
  return {
    readStream: (...place) => log.readStream(...place),
    append: async (commands) => {
      dies('append');
      return log.append(commands);
    },
    sealed: {
      keysOf: (stream) => log.sealed.keysOf(stream),
      ofStream: (stream) => log.sealed.ofStream(stream),
      erase: async (stream) => {
        dies('erase');
        return log.sealed.erase(stream);
      },
    },
  };
}
