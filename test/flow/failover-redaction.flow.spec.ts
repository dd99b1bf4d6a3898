import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALLOCATION } from '#support/attempt-bodies';
import { type BusCaller, busCaller } from '#support/bus-caller';
import { launch, observe, outcomeIs, resultWhere, STAND_IN_LAUNCH } from '#support/failover-calls';
import { happens, only, placed, secondsAhead, storyOf } from '#support/failover-story';
import { busMessages, databaseFiles, everyTable, hitsIn } from '#support/places-to-search';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';
import { directoryHaystacks } from '../conformance/redaction-search.ts';

const system = withApps({
  nats: 'own',
  postgres: 'own',
  provisioners: 1,
  env: {
    SPILLWAY_LOG_LEVEL: 'debug',
    SPILLWAY_PASS_EVERY_S: '1',
    SPILLWAY_RETRY_EVERY_S: '600',
    SPILLWAY_WATCH_EVERY_S: '1',
  },
});

const secrets = new Set<string>();
let bus: BusCaller;

/** Remembers a text that must be found nowhere. */
function secret(text: string): string {
  secrets.add(text);
  return text;
}

const { terminal } = STAND_IN_LAUNCH.plan;
const rung = (id: string) => ({ id, lane: 'gcp', pool: 'on-demand', machine: 'a3-highgpu-1g' });

/** A workload of which every member tells something. */
const workloadOf = (tag: string) => ({
  command: secret(`python train.py --key ${tag}-command`),
  image: secret(`registry.test/${tag}-image:7`),
  branch: secret(`feature/${tag}-branch`),
  env: { [secret(`${tag.toUpperCase().replaceAll('-', '_')}_TOKEN`)]: secret(`${tag}-env-value`) },
  outputs: [secret(`/out/${tag}-output`)],
});
const requestOf = (tag: string) => ({
  ...ALLOCATION,
  image: secret(`registry.test/${tag}-request:1`),
  model: secret(`${tag}-model`),
});

/** A refusal in the provider's shape, with a code that is no row of its table. */
const gcpProblem = (tag: string, status: number) => ({
  answer: 'status' as const,
  status,
  body: {
    error: {
      code: status,
      message: secret(`${tag}: host rack-zq1 said no`),
      errors: [
        { message: `${tag}: host rack-zq1 said no`, domain: 'global', reason: secret(`${tag}Reason`) },
      ],
    },
  },
});
const podProblem = (tag: string, status: number) => ({
  answer: 'status' as const,
  status,
  headers: { 'content-type': 'application/problem+json' },
  body: { title: 'Error', status, detail: secret(`${tag}: pod host zq2 said no`) },
});

beforeAll(async () => {
  bus = await busCaller(system.nats);
  await waitUntil('the apps take inputs', 60_000, () =>
    bus.inputConsumer('launch').then(
      () => true,
      () => false,
    ),
  );
});
afterAll(() => bus?.close());

/** Every refusal that a ladder can meet, then a move in which everything fails once. */
async function troubledMove(): Promise<void> {
  const { client } = system.cloud;
  const name = secret('zq-troubled-move-name');
  await client.addForeign({ lane: 'runpod', name });
  await client.scriptOnce('gcp', 'create', gcpProblem('zq-create', 400));
  await client.scriptOnce('gcp', 'probe_lane', gcpProblem('zq-probe', 503));
  await client.scriptOnce('runpod', 'list', podProblem('zq-list', 500));
  await client.scriptOnce('runpod', 'create', { ...podProblem('zq-terminal', 500), effect: 'done' });
  await client.scriptOnce('runpod', 'agent_bootstrap', {
    answer: 'status',
    status: 422,
    body: { error: secret('zq-bootstrap-failure') },
  });
  await client.scriptOnce('runpod', 'terminate', podProblem('zq-terminate', 500));
  const location = await launch(system, name, {
    plan: { rungs: [rung('od_a'), rung('od_b')], terminal },
    workload: workloadOf('zq-moved'),
    request: requestOf('zq-asked'),
    message_id: secret('zq-launch-message-id'),
  });
  secret(location.split('/').at(-1) ?? location);
  await resultWhere(system, location, 'it is settled', outcomeIs('running_on_terminal'));
}

/** A question that is declined, one that is accepted, and a create that failed in the end. */
async function askedMoves(): Promise<void> {
  for (const [accept, name] of [
    [false, secret('zq-declined-name')],
    [true, secret('zq-accepted-name')],
  ] as const) {
    const { instance } = await placed(system, name, {
      plan: { rungs: [rung('od_a')], terminal },
      failover: 'ask',
      workload: workloadOf(`${name}-run`),
    });
    const crash = { provider: 'terminated', guest: { phase: 'failed', workload_started: true } };
    const asked = await observe(system, name, instance, {
      ...crash,
      message_id: secret(`${name}-observation-id`),
      observed_at: secondsAhead(120),
    });
    const confirm_token = secret(String(at(asked, 'confirm_token')));
    const answer = { logical_allocation: name, accept, confirm_token };
    expect((await system.calls.consent(answer)).status).toBe(200);
  }
  const name = secret('zq-create-failed-name');
  const { instance } = await placed(system, name);
  await happens(system, instance, { remove: 'provider' });
  await observe(system, name, instance, {
    provider: 'provisioning',
    create_operation: 'failed',
    create_error: {
      code: secret('zqCreateErrorCode'),
      message: secret('zq-create-error: quota of team zq3'),
    },
    observed_at: secondsAhead(1),
  });
}

/** What is refused, over HTTP and by the bus: of each only a dead letter or nothing stays. */
async function refusedInputs(): Promise<void> {
  const badPlan = {
    logical_allocation: secret('zq-refused-name'),
    plan: { rungs: [{ id: 'a', lane: secret('zq-no-such-lane'), pool: 'on-demand' }] },
    workload: { command: secret('zq-refused-command'), arguments: [secret('zq-refused-argument')] },
    failover: secret('zq-refused-consent'),
  };
  const badPoll = {
    logical_allocation: secret('zq-never-launched'),
    instance: secret('zq-no-such-instance'),
    lane: 'gcp',
    observed_at: new Date().toISOString(),
    provider: 'running',
  };
  expect((await system.calls.launch(badPlan)).status).toBe(400);
  expect((await system.calls.observation(badPoll)).status).toBe(409);
  for (const [input, body] of [
    ['launch', badPlan],
    ['observation', badPoll],
  ] as const) {
    const id = secret(`zq-${input}-bus-id`);
    await bus.publish(input, body, id);
    await bus.answered(id);
  }
  await bus.publish('launch', new TextEncoder().encode(`{"logical_allocation":"${secret('zq-broken-name')}`));
  const name = secret('zq-by-the-bus-name');
  const id = secret('zq-good-bus-id');
  await bus.publish(
    'launch',
    { ...STAND_IN_LAUNCH, logical_allocation: name, workload: workloadOf('zq-bus') },
    id,
  );
  const [answer = '{}'] = await bus.answered(id);
  const location = String(at(JSON.parse(answer), 'location'));
  await resultWhere(system, location, 'it is placed', outcomeIs('placed_primary'));
  await waitUntil('every message is acknowledged', 60_000, async () => (await bus.waiting()) === 0);
}

/** What the troubled move met. */
const STATIONS = ['RungMissed', 'InstanceAdopted', 'ReapFailed', 'ForeignInstanceSeen', 'FailoverCompleted'];

describe('of everything that a failover was told, nothing is found in clear', () => {
  beforeAll(async () => {
    await troubledMove();
    await askedMoves();
    await refusedInputs();
  }, 240_000);

  test('the story went through what it was to go through', async () => {
    const story = await storyOf(system, 'zq-troubled-move-name');
    expect(story.map(({ type }) => type)).toEqual(expect.arrayContaining([...STATIONS]));
    expect(only(story, 'CreateEnded').every(({ data }) => data.failureDigest !== null)).toBe(true);
    expect(secrets.size).toBeGreaterThan(50);
  });

  test('in any table', async () => {
    const haystacks = await everyTable(system);
    expect(haystacks.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['spillway.event', 'spillway.allocation', 'spillway.dead_letter']),
    );
    expect(await hitsIn(haystacks, secrets)).toEqual([]);
  });

  test('in what the bus carries, and in its files', async () => {
    expect(await hitsIn(await busMessages(bus, system.nats.prefix), secrets)).toEqual([]);
    expect(await hitsIn(directoryHaystacks(system.ownNats.folder), secrets)).toEqual([]);
  });

  test('in what any process writes', async () => {
    const haystacks = directoryHaystacks(system.apps.logFolder);
    expect(haystacks.map(({ name }) => name.split('/').at(-1))).toContain('provisioner.log');
    expect(await hitsIn(haystacks, secrets)).toEqual([]);
  });

  test("in the database's files, its write-ahead log and its messages", async () => {
    expect(await hitsIn(await databaseFiles(system), secrets)).toEqual([]);
  });
});
