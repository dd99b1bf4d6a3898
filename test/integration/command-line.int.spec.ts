import { once } from 'node:events';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { canonicalJson } from '#events/canonical-json';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog } from '#support/open-log';
import { CommandLine, type CommandRun, History, tamper } from './audit-kit.ts';

const NAME = 'team-a/finetune-7';

let database: TestDatabase;
let ref: string;
let cli: CommandLine;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  database = await createDatabase();
  const history = await History.open(database.url);
  for (let failure = 0; failure < 3; failure += 1) await history.attempt(NAME);
  await history.answer(NAME, true);
  ref = await history.refOf(NAME);
  await history.log.close();
  cli = new CommandLine();
  env = { SPILLWAY_DATABASE_URL: database.url, ...cli.keyEnv };
});
afterAll(async () => {
  cli.remove();
  await database.drop();
});

const run = (line: string, more: Readonly<Record<string, string>> = env) => cli.run(line.split(' '), more);

/** Nothing but one sentence on standard error, and no stack. */
function expectSentence(result: CommandRun, sentence: RegExp): void {
  expect(result.err.trim().split('\n')).toEqual([expect.stringMatching(sentence)]);
  expect({ ...result, err: '' }).toEqual({ code: 2, out: '', err: '' });
}

describe('spillway audit', () => {
  test('timeline by name, found under the older key of the ring, as text without colours', async () => {
    const { code, out, err } = await run(`audit timeline --name ${NAME}`);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(
      out.replaceAll(/\d{4}-\d\d-\d\d[ T][\d:.]+(Z| UTC)?/g, 'TIME').replaceAll(/[0-9a-z]{8}…/g, 'DIGEST'),
    ).toBe(story(ref));
    expect(out).not.toMatch(/VM schedule timeout|h200/);
  });

  test('timeline by ref as JSON, the same story', async () => {
    const { code, out } = await run(`audit timeline ${ref} --json`);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ ref, upTo: 8, lines: { length: 8 } });
  });

  test('timeline with what callers wrote', async () => {
    const { code, out } = await run(`audit timeline ${ref} --unseal`);
    expect(code).toBe(0);
    expect(out).toContain(`Name ${NAME}`);
    expect(out).toMatch(/failure {2}\{"code":"NotEnoughResources".*VM schedule timeout/);
    expect(out).toMatch(/invariants {2}\{.*"gpu_product":"h200-sxm-141"/);
  });

  test('verify and replay of a sound log', async () => {
    expect(await run('audit verify')).toEqual({
      code: 0,
      out: expect.stringMatching(/^sound {2}up to position 8, hash [0-9a-f]{64}\n$/),
      err: '',
    });
    expect(await run('audit replay')).toEqual({
      code: 0,
      out: 'same  8 events with 4 decisions in 1 stream and 1 row of the allocation table, up to position 8\n',
      err: '',
    });
  });

  test('verify and replay of a damaged one end with 1 and name the place', async () => {
    const damaged = await createDatabase({ template: database.name });
    await tamper(
      damaged.url,
      `update spillway.event set body = replace(body, '"count":2', '"count":7') where pos = 4`,
    );
    const there = { ...env, SPILLWAY_DATABASE_URL: damaged.url };
    const verified = await run('audit verify', there);
    expect(verified.out).toMatch(/^damaged {2}at position 4 \(hash\): the content of the row is not what/);
    const asJson = await run('audit verify --json', there);
    expect(JSON.parse(asJson.out)).toMatchObject({ ok: false, pos: 4, kind: 'hash' });
    const replayed = await run('audit replay', there);
    expect(replayed.out).toMatch(/^1 difference {2}in 8 events[\s\S]*\n4 +.{8}… +after\.count +7 +2\n$/);
    const replayedJson = await run('audit replay --json', there);
    expect(JSON.parse(replayedJson.out)).toMatchObject({ ok: false, found: 1 });
    expect([verified, asJson, replayed, replayedJson].map(({ code }) => code)).toEqual([1, 1, 1, 1]);
    await damaged.drop();
  });
});

describe('where the database is', () => {
  test('in what `npm start` left in the folder, with the keys', async () => {
    mkdirSync(join(cli.folder, '.spillway'), { recursive: true });
    const instance = {
      url: 'http://127.0.0.1:8787',
      databaseUrl: database.url,
      natsUrl: null,
      keyRingFile: join(cli.folder, 'ring'),
      wrapKeysFile: join(cli.folder, 'wrap'),
      deployment: 'local',
      pid: 1,
    };
    writeFileSync(join(cli.folder, '.spillway', 'instance.json'), JSON.stringify(instance));
    const found = await run(`audit timeline --name ${NAME} --unseal --json`, {});
    expect(JSON.parse(found.out)).toMatchObject({ ref, name: NAME });

    // What the instance signs of its log is what a first `verify` there is held against.
    const checkpointsFile = join(cli.folder, '.spillway', 'checkpoints.jsonl');
    const checkpointKeysFile = join(cli.folder, 'signing');
    writeFileSync(checkpointKeysFile, `k1:${Buffer.alloc(32, 5).toString('base64')}`);
    const signing = JSON.stringify({ ...instance, checkpointKeysFile, checkpointsFile });
    writeFileSync(join(cli.folder, '.spillway', 'instance.json'), signing);
    expect((await run('audit verify', {})).out).not.toContain('signed');
    expect((await run('admin checkpoint', {})).out).toMatch(
      /^Signed position 8, .*\nIt is kept nowhere: give --out or --publish, or print it by --json\.\n$/,
    );
    const kept = await run(`admin checkpoint --out ${checkpointsFile}`, {});
    expect(kept).toMatchObject({ code: 0, out: expect.stringMatching(/^Signed position 8, .*\n$/) });
    expect(await run('audit verify', {})).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^sound {2}up to position 8, .*\nsigned {3}up to position 8, by 1 checkpoint\nby {7}the keys/,
      ),
    });
    // A line that is just being written is not there yet.
    appendFileSync(checkpointsFile, '{"format":"spill');
    expect(await run('audit verify', {})).toMatchObject({ code: 0 });
    appendFileSync(checkpointsFile, 'way"}\n');
    expect(await run('audit verify', {})).toMatchObject({ code: 1 });

    // An option goes before it; the instance's keys are not taken for another database's.
    const other = database.url.replace('?', '');
    expectSentence(
      await run(`audit timeline --name ${NAME} --database-url ${other}?application_name=x`, {}),
      /^spillway: a name is found by the key ring: set SPILLWAY_KEY_RING$/,
    );
    writeFileSync(join(cli.folder, '.spillway', 'instance.json'), '{');
    expectSentence(await run('audit verify', {}), /^spillway: \.spillway\/instance\.json cannot be read/);
    writeFileSync(
      join(cli.folder, '.spillway', 'instance.json'),
      JSON.stringify({ ...instance, databaseUrl: 'x' }),
    );
    expectSentence(await run('audit verify', {}), /^spillway: \.spillway\/instance\.json has no URL/);
  });

  test('a server that takes the call and says nothing is told in a sentence', async () => {
    const mute = createServer().listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const address = mute.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const result = await run(`audit verify --database-url postgres://u:hush@127.0.0.1:${port}/x`);
    mute.close();
    expectSentence(result, /^spillway: the database did not answer in time$/);
  });

  test.each([
    [
      'no arguments for a story',
      'audit timeline',
      /^spillway: give either the ref of the allocation or --name$/,
    ],
    ['a ref that is none', 'audit timeline abc', /^spillway: .* A ref is 64 lower-case hex digits\.$/],
    [
      'an unknown allocation',
      `audit timeline ${'0'.repeat(64)}`,
      /^spillway: the log has no allocation of this ref$/,
    ],
    ['an unknown name', 'audit timeline --name x', /^spillway: the log has no allocation of this name$/],
    ['an unknown option', 'audit verify --fast', /^spillway: unknown option '--fast'$/],
    ['an unknown command', 'nonsense', /^spillway: unknown command 'nonsense': see spillway --help$/],
    ['an unknown tool', 'audit explain', /^spillway: unknown command 'explain': see spillway audit --help$/],
    [
      'no URL',
      'audit verify --database-url x',
      /^spillway: --database-url has no URL that starts with postgres/,
    ],
    [
      'a server that is not there',
      'audit verify --database-url postgres://u:hush@127.0.0.1:1/x',
      /^spillway: nothing answers at the database URL: is the database running\?$/,
    ],
    [
      'a wrong limit',
      'admin dead-letters --limit 0',
      /^spillway: --limit is a whole number from 1 to 10000$/,
    ],
  ])('%s is one sentence and 2', async (_what, line, sentence) => {
    expectSentence(await run(line), sentence);
  });

  test('a database that is not migrated is one sentence, and migrating it says what was done', async () => {
    const empty = await createDatabase();
    const there = { SPILLWAY_DATABASE_URL: empty.url };
    expectSentence(await run('audit verify', there), /^spillway: .*Run: spillway admin migrate$/);
    expect(await run('admin migrate', there)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Applied migrations 1, 2, 3/),
    });
    expect(await run('admin migrate', there)).toMatchObject({
      code: 0,
      out: "The schema is this build's already: nothing to do.\n",
    });
    expect((await run('audit verify', there)).out).toMatch(/^sound {2}up to position 0/);
    await empty.drop();
  });
});

describe('spillway admin', () => {
  let other: TestDatabase | undefined;
  afterEach(() => other?.drop());

  test('lists what is parked, lets it go once, and records who was let go', async () => {
    other = await createDatabase({ template: database.name });
    const there = { SPILLWAY_DATABASE_URL: other.url };
    expect((await run('admin parked', there)).out).toBe('Nothing is parked.\n');
    const log = await openLog(other.url);
    const stream = `allocation-${ref}`;
    await log.parked.park({ consumer: 'classifier', stream, firstPos: 5, reason: 'poison', tries: 5 });
    expect((await run('admin parked', there)).out).toMatch(
      new RegExp(`^consumer +allocation .*\nclassifier +${ref} +5 +poison +5 +\\S+Z +parked\n$`),
    );

    const requeue = `admin requeue classifier ${ref}`;
    expect(await run(requeue, there)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Position 5 is requeued/),
    });
    expect(await run(requeue, there)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/requeued already/),
    });
    expect(await log.parked.find('classifier', stream)).toMatchObject({ state: 'requeued' });
    expect(await run(`admin skip classifier ${ref}`, there)).toMatchObject({ code: 0 });
    expect(await log.parked.find('classifier', stream)).toMatchObject({ state: 'skipped' });
    expect((await log.readAfter(8, 10)).map(({ type, body }) => [type, JSON.parse(body)])).toEqual([
      ['ParkedRequeued', { consumer: 'classifier', stream, firstPos: 5 }],
      ['ParkedSkipped', { consumer: 'classifier', stream, firstPos: 5, skippedPos: 5 }],
    ]);

    await log.close();
    expect((await run('audit replay', there)).code).toBe(0);
  });

  test('a slip of the pen is not "nothing to do"', async () => {
    other = await createDatabase({ template: database.name });
    const there = { SPILLWAY_DATABASE_URL: other.url };
    const log = await openLog(other.url);
    await log.checkpoints.ensure('classifier', { index: 0, count: 1 });
    await log.close();
    expectSentence(
      await run(`admin requeue clasifier ${ref}`, there),
      /^spillway: no consumer has this name; there is: classifier$/,
    );
    expectSentence(
      await run(`admin requeue classifier ${'0'.repeat(64)}`, there),
      /^spillway: the log has no allocation of this ref$/,
    );
    expect(await run(`admin requeue classifier ${ref}`, there)).toMatchObject({
      code: 0,
      out: 'Nothing of this allocation is parked for classifier: nothing to do.\n',
    });
  });

  test('lists dead letters, newest first, with what they were refused for', async () => {
    other = await createDatabase({ template: database.name });
    const log = await openLog(other.url);
    const problem = canonicalJson({
      title: 'Bad request',
      status: 400,
      errors: [{ pointer: '/success', code: 'wrong_type' }],
    });
    for (const id of ['a', 'b']) {
      await log.deadLetters.add({
        id,
        subject: 'spillway.in.attempt',
        idDigest: null,
        bodyDigest: 'c'.repeat(64),
        sizeBytes: 17,
        problem,
      });
    }
    await log.close();
    const { code, out } = await run('admin dead-letters --limit 1', { SPILLWAY_DATABASE_URL: other.url });
    expect(code).toBe(0);
    expect(out).toMatch(
      /spillway\.in\.attempt +17 +cccccccc… +- +400 Bad request \(\/success wrong_type\)\n/,
    );
    expect(out).toMatch(/\nThe newest 1 of 2 are shown\.\n$/);
  });
});

function story(of: string): string {
  const reported = 'local reported a placement failure (DIGEST): request DIGEST, evidence DIGEST';
  const rule = 'because  The failure was classified by this rule. (rule:not-enough-resources)';
  const below = (count: number) =>
    `because  Fewer counting failures than a question needs. (below_threshold:${count}/3)`;
  const after = (count: number, status: string, consent: string, pool: string) =>
    `after    count ${count}, ${status}, consent ${consent}, pool ${pool}`;
  const events: readonly (readonly string[])[] = [
    [reported],
    [
      'classifier opened a fresh record and counted the failure: capacity_exhausted',
      rule,
      below(1),
      after(1, 'tracking', 'not-requested', 'on-demand'),
    ],
    [reported],
    [
      'classifier counted the failure: capacity_exhausted',
      rule,
      below(2),
      after(2, 'tracking', 'not-requested', 'on-demand'),
    ],
    [reported],
    [
      'classifier asked whether preemptible capacity may be used: counting failure 3, capacity_exhausted (question DIGEST, open until TIME)',
      rule,
      after(3, 'awaiting-consent', 'pending', 'on-demand'),
    ],
    ['local answered yes to question DIGEST'],
    [
      'consent recorded consent: the identical allocation may use preemptible capacity',
      after(3, 'consented', 'accepted', 'preemptible'),
    ],
  ];
  const told = events.map(([what, ...details], index) =>
    ['', `       ${index + 1}  TIME  ${what}`, ...details.map((detail) => `          ${detail}`)].join('\n'),
  );
  return `Allocation ${of}\n${told.join('\n')}\n\nComplete up to position 8.\n`;
}
