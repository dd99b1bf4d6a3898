import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keyRing } from '#domain/key-ring';
import type { Placement } from '#domain/placement';
import { markOf } from '#domain/provision/marker';
import { PlacementStates } from '#event-log/placement-states';
import type { PostgresLog } from '#event-log/postgres-log';
import { type Plan, Rung } from '#events/plan';
import { refOfStream } from '#events/streams';
import { at, digestOf, idOf } from '#support/builders';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog } from '#support/open-log';
import { instanceCreated, intentId, intentRecorded } from '#support/provision-builders';
import { appendAsProvisioner, streamOfName } from '#support/provisioner-facts';
import { plan, verdictOf } from '#support/watch-builders';
import { CommandLine, type CommandRun } from './audit-kit.ts';

const RING = keyRing([{ id: 'k2', bytes: new Uint8Array(32).fill(9) }]);
const FORGOTTEN = idOf('forgotten');

let database: TestDatabase;
let log: PostgresLog;
let cli: CommandLine;

beforeAll(async () => {
  database = await createDatabase();
  log = await openLog(database.url);
  cli = new CommandLine();
});
afterAll(async () => {
  cli.remove();
  await log.close();
  await database.drop();
});

const run = (...args: readonly string[]): Promise<CommandRun> =>
  cli.run(['admin', ...args], {
    SPILLWAY_DATABASE_URL: database.url,
    SPILLWAY_DEPLOYMENT: 'prod',
    ...cli.keyEnv,
  });
const streamOf = (name: string) => streamOfName(RING, name);
const stateOf = (name: string): Promise<Placement> => new PlacementStates(log, 1).get(streamOf(name));
const newest = async (name: string) => (await log.readStream(streamOf(name), 0, 100)).at(-1);

/** A launch in a restored log, and the machine of which it has forgotten everything. */
async function rewound(name: string, change: Partial<Plan> = {}, lane = 'runpod'): Promise<void> {
  const launch = {
    launch: idOf(name),
    plan: plan(change),
    requestDigest: null,
    workloadDigest: digestOf('w'),
  };
  await appendAsProvisioner(
    log,
    streamOf(name),
    [
      { type: 'LaunchAccepted', data: launch },
      { type: 'LogRewound', data: { instance: 'P7', lane, intent: FORGOTTEN } },
    ],
    at(0),
  );
}

describe('spillway admin adopt', () => {
  test('makes the machine the instance, under the admin role, on the version that it saw', async () => {
    await rewound('team/adopted');
    const done = await run('adopt', '--name', 'team/adopted', '--instance', 'P7');
    expect(done).toEqual({
      code: 0,
      err: '',
      out: expect.stringMatching(
        /^P7 on lane runpod is the instance of this allocation from position \d+ on\.\n$/,
      ),
    });
    const row = await newest('team/adopted');
    expect(row).toMatchObject({ type: 'RewoundAdopted', decisionVersion: 3 });
    expect(JSON.parse(row?.meta ?? '')).toEqual({ causedBy: null, saw: 2 });
    expect(JSON.parse(row?.body ?? '')).toMatchObject({
      name: markOf('prod', streamOf('team/adopted'), FORGOTTEN).name,
      adoptedBy: 'local',
    });
    expect(await stateOf('team/adopted')).toMatchObject({
      outcome: 'running_on_terminal',
      current: 'P7',
      walk: null,
      rewound: null,
    });
    // The candidate list is written in the same call: the watcher polls the machine from now on.
    const listed = await log.allocations.get(streamOf('team/adopted'));
    expect(listed?.placement).toMatchObject({
      outcome: 'running_on_terminal',
      lane: 'runpod',
      instance: 'P7',
      bills: true,
      alerts: 0,
      needsWorker: false,
    });
  });

  test('said twice is said once', async () => {
    await rewound('team/twice');
    await run('adopt', '--name', 'team/twice');
    expect(await run('adopt', '--name', 'team/twice')).toEqual({
      code: 0,
      err: '',
      out: 'No machine of a rewound log holds this allocation: nothing to do.\n',
    });
    expect((await newest('team/twice'))?.decisionVersion).toBe(3);
  });

  test('needs the rung where its lane has several', async () => {
    await rewound('team/rung', {}, 'gcp');
    const unsaid = await run('adopt', '--name', 'team/rung');
    expect(unsaid).toMatchObject({
      code: 2,
      out: '',
      err: 'spillway: its lane has several rungs: say which one by --rung. It is held by P7 on lane gcp.\n',
    });
    expect(await run('adopt', '--name', 'team/rung', '--rung', 'od_a')).toMatchObject({ code: 0 });
    expect(await stateOf('team/rung')).toMatchObject({
      outcome: 'placed_primary',
      instances: { P7: { rung: 'od_a', kind: 'primary' } },
    });
  });

  test('needs the name of the deployment that the machine carries', async () => {
    const env = { SPILLWAY_DATABASE_URL: database.url, ...cli.keyEnv };
    expect(await cli.run(['admin', 'adopt', '--name', 'team/rung'], env)).toMatchObject({
      code: 2,
      err: 'spillway: a machine is recognised by the deployment it carries: set SPILLWAY_DEPLOYMENT\n',
    });
  });

  test('ends with 1 where no entry of the plan could have made the machine', async () => {
    await rewound('team/other-lane', {}, 'nebius');
    expect(await run('adopt', '--name', 'team/other-lane')).toEqual({
      code: 1,
      err: '',
      out: 'The newest launch that the log knows does not use its lane: end it, then release. It is held by P7 on lane nebius.\n',
    });
    expect(await newest('team/other-lane')).toMatchObject({ type: 'LogRewound' });
  });
});

describe('spillway admin release', () => {
  test('lets creates go on, by ref', async () => {
    await rewound('team/released');
    const ref = refOfStream(streamOf('team/released')) ?? '';
    expect(await run('release', ref)).toEqual({
      code: 0,
      err: '',
      out: expect.stringMatching(
        /^P7 on lane runpod holds this allocation no more \(position \d+\): creates go on within seconds\.\n$/,
      ),
    });
    expect(await newest('team/released')).toMatchObject({ type: 'RewindReleased', decisionVersion: 3 });
    expect(await stateOf('team/released')).toMatchObject({
      rewound: null,
      released: ['P7'],
      current: null,
      walk: { kind: 'launch' },
    });
  });

  test('refuses another machine than the one that was meant', async () => {
    await rewound('team/meant');
    expect(await run('release', '--name', 'team/meant', '--instance', 'P8')).toMatchObject({
      code: 2,
      err: 'spillway: another machine is meant than the one that holds it. It is held by P7 on lane runpod.\n',
    });
    expect(await stateOf('team/meant')).toMatchObject({ rewound: { instance: 'P7' } });
  });

  test.each([
    ['an unknown name', ['--name', 'team/never'], 'the log has no allocation of this name'],
    ['an unknown ref', ['0'.repeat(64)], 'the log has no allocation of this ref'],
    ['nothing', [], 'give either the ref of the allocation or --name'],
  ])('refuses %s', async (_what, args, sentence) => {
    expect(await run('release', ...args)).toEqual({ code: 2, out: '', err: `spillway: ${sentence}\n` });
  });
});

/** A machine that was delivered on demand where preemptible was agreed to. */
async function delivered(name: string): Promise<void> {
  const rung = { ...plan().rungs[1], id: 'od_a:preemptible', pool: 'preemptible' };
  const verdict = verdictOf('waiting', { reason: 'delivered_pool_differs' });
  const intent = intentId('a');
  const launch = { launch: idOf(name), plan: plan(), requestDigest: null, workloadDigest: digestOf('w') };
  await appendAsProvisioner(
    log,
    streamOf(name),
    [
      { type: 'LaunchAccepted', data: launch },
      { type: 'PoolMoveStarted', data: { prompt: idOf('prompt'), rung: Rung.parse(rung) } },
      intentRecorded(intent, { kind: 'rung', rung: rung.id, zone: null }),
      instanceCreated(intent, 'X9'),
      {
        type: 'DeliveredPoolDiffers',
        data: { instance: 'X9', intent, consented: 'preemptible', delivered: 'on-demand', verdict },
      },
      { type: 'IntentClosed', data: { intent, why: 'blocked' } },
    ],
    at(0),
  );
}

describe('a machine in another pool than was agreed to', () => {
  test('is taken by accept-pool', async () => {
    await delivered('team/other-pool');
    expect(await run('accept-pool', '--name', 'team/other-pool')).toEqual({
      code: 0,
      err: '',
      out: expect.stringMatching(
        /^X9 on lane gcp is the instance of this allocation from position \d+ on\.\n$/,
      ),
    });
    expect(await stateOf('team/other-pool')).toMatchObject({ outcome: 'placed_primary', current: 'X9' });
    expect((await log.allocations.get(streamOf('team/other-pool')))?.placement).toMatchObject({
      lane: 'gcp',
      instance: 'X9',
      bills: true,
    });
    expect(await run('accept-pool', '--name', 'team/other-pool')).toMatchObject({
      code: 0,
      out: 'No machine in another pool than was agreed to holds this allocation: nothing to do.\n',
    });
  });

  test('is let go by release, and bills on', async () => {
    await delivered('team/not-wanted');
    expect(await run('release', '--name', 'team/not-wanted', '--instance', 'X9')).toEqual({
      code: 0,
      err: '',
      out: expect.stringMatching(
        /^X9 on lane gcp holds this allocation no more \(position \d+\): it is blocked, and its owner may launch it again\.\n$/,
      ),
    });
    expect((await log.allocations.get(streamOf('team/not-wanted')))?.placement).toMatchObject({
      outcome: 'blocked',
      reason: 'failover_declined',
      bills: true,
    });
  });
});

test('both are explained by --help, and told by the timeline', async () => {
  const help = await run('adopt', '--help');
  expect(help.out).toMatch(/machine that proved a restored backup/);
  expect(help.out).toMatch(/--rung <id>/);
  const told = await cli.run(['audit', 'timeline', '--name', 'team/adopted'], {
    SPILLWAY_DATABASE_URL: database.url,
    ...cli.keyEnv,
  });
  expect(told.out).toMatch(/operator took over P7 on lane runpod, which carries forgotten intent/);
  const replayed = await cli.run(['audit', 'replay'], { SPILLWAY_DATABASE_URL: database.url });
  expect(replayed).toMatchObject({ code: 0, out: expect.stringMatching(/^same {2}/) });
});
