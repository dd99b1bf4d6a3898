import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SealedWorkload } from '#domain/provision/plan';
import type { PostgresLog } from '#event-log/postgres-log';
import { LaunchAccepted, LaunchRequested } from '#events/provision.events';
import { type BusCaller, busCaller } from '#support/bus-caller';
import { badMembersOf, type Reply, textAt } from '#support/calls';
import { capacityFailure } from '#support/failing-attempts';
import { LAUNCH_BODY } from '#support/launch-bodies';
import { openLog } from '#support/open-log';
import {
  appendAsProvisioner,
  instancePlaced,
  PLACED_VERDICT,
  stopProvisioner,
  streamOfName,
} from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const BOUND_MS = 60_000;
const system = withApps({
  nats: 'shared',
  postgres: 'own',
  env: { SPILLWAY_LIMITS: '{"queue_wait_s":30,"boot_deaths":0}' },
});
let log: PostgresLog;
let bus: BusCaller;

beforeAll(async () => {
  // Launches stay as they are taken: what `provisioner` would record is recorded by the tests.
  await stopProvisioner(system.apps);
  log = await openLog(system.databaseUrl);
  bus = await busCaller(system.nats);
  await waitUntil('the app takes launches by the bus', BOUND_MS, () =>
    bus.inputConsumer('launch').then(
      () => true,
      () => false,
    ),
  );
});
afterAll(async () => {
  await bus?.close();
  await log?.close();
});

const launchOf = (name: string, change: object = {}) => ({
  ...LAUNCH_BODY,
  logical_allocation: name,
  ...change,
});
const launch = (name: string, change: object = {}) => system.calls.launch(launchOf(name, change));
const streamOf = (name: string) => streamOfName(system.ring, name);
const rowsOf = (name: string) => system.log.readStream(streamOf(name), 0, 100);
const typesOf = async (name: string) => (await rowsOf(name)).map(({ type }) => type);
const problemOf = (reply: Reply) => [reply.status, at(reply.json, 'type')];
const IN_PROGRESS = [409, 'urn:spillway:problem:launch-in-progress'];
const now = () => new Date().toISOString();

describe('a launch that is taken', () => {
  test('is answered 202 with exactly the four members, without waiting for anything', async () => {
    const reply = await launch(' team/first\t', { message_id: 'first-1' });
    expect(reply.status).toBe(202);
    expect(reply.json).toEqual({
      logical_allocation: 'team/first',
      message_id: 'first-1',
      position: expect.any(Number),
      location: expect.stringMatching(/^\/api\/agent\/gpu-allocation\/results\/[a-z0-9]+$/),
    });
    expect(reply.headers.get('location')).toBe(textAt(reply, 'location'));
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect((await system.log.at(Number(at(reply.json, 'position'))))?.type).toBe('LaunchRequested');
  });

  test('is one command of request and acceptance, with the resolved plan and every limit', async () => {
    await launch('team/plan', { limits: { creates_per_day: 2 } });
    const rows = await rowsOf('team/plan');
    expect(rows.map(({ type, role, decisionVersion }) => [type, role, decisionVersion])).toEqual([
      ['LaunchRequested', 'input', 0],
      ['LaunchAccepted', 'decision', 1],
    ]);
    expect(new Set(rows.map(({ commandId }) => commandId)).size).toBe(1);
    const [requested, accepted] = rows.map(({ body }) => JSON.parse(body));
    const { plan, launch: id } = LaunchAccepted.data.parse(accepted);
    expect(id).toBe(rows[0]?.eventId);
    expect(plan).toEqual(LaunchRequested.data.parse(requested).plan);
    expect(plan.rungs.map(({ lane, kind, queues }) => [lane, kind, queues])).toEqual([
      ['gcp', 'primary', true],
      ['gcp', 'primary', false],
    ]);
    // That of the call, of the deployment, and the built-in one in place of a bad one of the deployment.
    expect(plan.limits).toMatchObject({ createsPerDay: 2, queueWaitS: 30, bootDeaths: 2, maxReaps: 2 });
  });

  test('stands in the candidate list as work for a provisioner', async () => {
    await launch('team/row');
    const row = await system.log.allocations.get(streamOf('team/row'));
    expect(row?.record).toBeNull();
    expect(row?.placement).toMatchObject({ outcome: 'waiting', needsWorker: true, openIntent: null });
  });

  test('seals name, workload and invariants, and its digest is that of an attempt of the same shape', async () => {
    const name = 'team/sealed';
    const { request } = capacityFailure(name);
    const workload = { arguments: ['train', '--fast'], env: { TOKEN: 'launch-secret-zq' }, disk_bytes: 5 };
    await launch(name, { request, workload });
    const [requested, accepted] = (await rowsOf(name)).map(({ body }) => body);
    for (const secret of ['launch-secret-zq', '--fast', name]) {
      expect(requested).not.toContain(secret);
      expect(accepted).not.toContain(secret);
    }
    const { requestDigest, workloadDigest } = LaunchAccepted.data.parse(JSON.parse(accepted ?? ''));
    const sealed = await system.sealer.open(streamOf(name), 'launch', workloadDigest ?? '');
    expect(SealedWorkload.parse(JSON.parse(sealed ?? ''))).toEqual({
      command: null,
      arguments: ['train', '--fast'],
      image: null,
      branch: null,
      env: { TOKEN: 'launch-secret-zq' },
      outputs: [],
      diskBytes: 5,
      memoryBytes: null,
    });
    const ref = streamOf(name).replace('allocation-', '');
    expect(await system.sealer.open(streamOf(name), 'name', ref)).toBe(name);
    const attempt = await system.calls.attempt(capacityFailure(name));
    expect(at(attempt.json, 'allocation.request_digest')).toBe(requestDigest);
  });

  test('may follow attempts: their record stays as it is', async () => {
    const name = 'team/attempts-first';
    await system.calls.attempt(capacityFailure(name));
    expect((await launch(name)).status).toBe(202);
    const next = await system.calls.attempt(capacityFailure(name));
    expect(at(next.json, 'allocation.qualifying_attempts')).toBe(2);
  });
});

describe('the message id', () => {
  test('is made up where there is none, another one each time', async () => {
    const ids = [await launch('team/no-id-1'), await launch('team/no-id-2')].map((reply) =>
      textAt(reply, 'message_id'),
    );
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[a-z2-7]{26}$/);
  });

  test('repeats the first answer, by member or by header, and records nothing', async () => {
    const name = 'team/repeat';
    const first = await launch(name, { message_id: 'repeat-1' });
    const again = await launch(name, { message_id: 'repeat-1', request: null, colour: 'red' });
    const byHeader = await system.calls.launch(launchOf(name), { 'idempotency-key': 'repeat-1' });
    expect([first.status, again.status, byHeader.status]).toEqual([202, 202, 202]);
    expect(again.json).toEqual(first.json);
    expect(byHeader.json).toEqual(first.json);
    expect(await typesOf(name)).toEqual(['LaunchRequested', 'LaunchAccepted']);
  });

  test('with another body is 409, in another allocation too', async () => {
    await launch('team/reused', { message_id: 'reused-1' });
    for (const change of [{ failover: 'ask' }, { logical_allocation: 'team/reused-2' }]) {
      const reply = await launch('team/reused', { message_id: 'reused-1', ...change });
      expect(problemOf(reply)).toEqual([409, 'urn:spillway:problem:id-reused']);
    }
    expect(await rowsOf('team/reused-2')).toEqual([]);
  });

  test('is not used up by a refused body or a refused launch', async () => {
    expect((await launch('team/unused', { message_id: 'unused-1', failover: 'maybe' })).status).toBe(400);
    await launch('team/unused-2');
    expect(problemOf(await launch('team/unused-2', { message_id: 'unused-1' }))).toEqual(IN_PROGRESS);
    expect((await launch('team/unused', { message_id: 'unused-1' })).status).toBe(202);
  });

  test.each([
    { member: 'a', header: 'b', bad: '/message_id mismatch' },
    { member: undefined, header: 'h'.repeat(129), bad: '/message_id invalid' },
  ])('that contradicts the header is refused', async ({ member, header, bad }) => {
    const body = launchOf('team/two-ids', { message_id: member });
    const reply = await system.calls.launch(body, { 'idempotency-key': header });
    expect([reply.status, badMembersOf(reply)]).toEqual([400, [bad]]);
  });
});

describe('refused, and nothing is recorded', () => {
  test.each([
    { reason: 'an unknown lane', change: { plan: { rungs: [{ id: 'r', lane: 'nebula', pool: 'p' }] } } },
    { reason: 'a bad limit', change: { limits: { queue_wait_s: 0 } } },
    { reason: 'a lease that two workers could hold', change: { limits: { worker_lease_s: 59 } } },
  ])('$reason', async ({ change }) => {
    const reply = await launch('team/refused', change);
    expect(reply.status).toBe(400);
    expect(reply.headers.get('content-type')).toContain('application/problem+json');
    expect(await rowsOf('team/refused')).toEqual([]);
  });

  test('all bad members at once, and no value of them', async () => {
    const reply = await launch('team/refused', { failover: 'bad-value-zq', plan: { rungs: [] } });
    expect(badMembersOf(reply)).toEqual(['/failover not_allowed', '/plan/rungs empty']);
    expect(reply.text).not.toContain('bad-value-zq');
  });

  test('what is no JSON, too large, or of another type', async () => {
    const path = '/api/agent/gpu-allocation/launch';
    const large = JSON.stringify(launchOf('team/refused', { more: ' '.repeat(256 * 1024) }));
    const replies = [
      await system.calls.send(path, { body: '{' }),
      await system.calls.send(path, { body: large }),
      await system.calls.send(path, { body: '{}', headers: { 'content-type': 'text/plain' } }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([400, 413, 415]);
  });

  test('while the allocation waits', async () => {
    await launch('team/waiting');
    expect(problemOf(await launch('team/waiting'))).toEqual(IN_PROGRESS);
    expect(await typesOf('team/waiting')).toEqual(['LaunchRequested', 'LaunchAccepted']);
  });
});

test('of launches at once one is taken, and the others are told so', async () => {
  const name = 'team/at-once';
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, index) => launch(name, { message_id: `at-once-${index}` })),
  );
  expect(replies.map(({ status }) => status).toSorted()).toEqual([202, ...Array(7).fill(409)]);
  expect(await typesOf(name)).toEqual(['LaunchRequested', 'LaunchAccepted']);
});

test('the same launch at once, by two ways, is one', async () => {
  const name = 'team/same-at-once';
  const body = launchOf(name);
  const [byBus, ...byHttp] = await Promise.all([
    bus.publish('launch', body, 'same-1').then(() => bus.answered('same-1')),
    ...Array.from({ length: 4 }, () => system.calls.launch(body, { 'idempotency-key': 'same-1' })),
  ]);
  expect(byHttp.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
  for (const reply of byHttp) expect(reply.text).toBe(byBus?.[0]);
  expect(await typesOf(name)).toEqual(['LaunchRequested', 'LaunchAccepted']);
});

describe('its location', () => {
  const placed = async (name: string, instance: string) =>
    appendAsProvisioner(
      log,
      streamOf(name),
      [instancePlaced({ instance, rung: 'od_a', createdAt: '2026-01-05T00:00:00.000Z' })],
      now(),
    );

  test('is 202 until there is a decision, and then shows it with the instance', async () => {
    const name = 'team/located';
    const location = textAt(await launch(name), 'location');
    const before = await system.calls.get(location);
    expect([before.status, before.headers.get('location')]).toEqual([202, location]);

    await placed(name, 'X1');
    const after = await system.calls.get(location);
    expect(after.status).toBe(200);
    expect(after.json).toEqual({
      outcome: 'placed_primary',
      reason: null,
      failure_class: null,
      redrivable: false,
      rule: '9.1 placed',
      evidence: {},
      not_fired: [],
      position: (await rowsOf(name)).at(-1)?.pos,
      instance: { lane: 'gcp', id: 'X1', pool: 'on-demand', started_at: '2026-01-05T00:00:00.000Z' },
    });
  });

  test('shows a block by its reason and class, and keeps what this launch came to after the next one', async () => {
    const name = 'team/blocked';
    const first = textAt(await launch(name), 'location');
    const verdict = {
      ...PLACED_VERDICT,
      outcome: 'blocked' as const,
      reason: 'no_compute_available',
      failureClass: 'infra' as const,
      redrivable: true,
    };
    await appendAsProvisioner(
      log,
      streamOf(name),
      [{ type: 'AllocationBlocked', data: { reason: 'no_compute_available', verdict } }],
      now(),
    );
    const blocked = await system.calls.get(first);
    expect(blocked.json).toMatchObject({
      outcome: 'blocked',
      reason: 'no_compute_available',
      failure_class: 'infra',
      redrivable: true,
    });
    expect(blocked.json).not.toHaveProperty('instance');

    const second = await launch(name);
    expect(second.status).toBe(202);
    expect((await system.calls.get(textAt(second, 'location'))).status).toBe(202);
    expect((await system.calls.get(first)).text).toBe(blocked.text);

    await placed(name, 'X2');
    expect((await system.calls.get(first)).text).toBe(blocked.text);
    expect(at((await system.calls.get(textAt(second, 'location'))).json, 'instance.id')).toBe('X2');
    expect(problemOf(await launch(name))).toEqual(IN_PROGRESS);
  });

  test('that was never given out is 404, also the event id of a launch alone', async () => {
    const location = textAt(await launch('team/unlocated'), 'location');
    const [row] = await rowsOf('team/unlocated');
    const others = [
      `${location.slice(0, -1)}${location.endsWith('0') ? '1' : '0'}`,
      `/api/agent/gpu-allocation/results/${row?.eventId}`,
    ];
    for (const path of others) expect((await system.calls.get(path)).status).toBe(404);
  });
});

describe('by the bus', () => {
  test('the answer is the body of the call, under the id of the message', async () => {
    await bus.publish('launch', launchOf('team/by-bus'), 'by-bus-1');
    const [answer = ''] = await bus.answered('by-bus-1');
    expect(JSON.parse(answer)).toMatchObject({ logical_allocation: 'team/by-bus', message_id: 'by-bus-1' });
    const repeat = await system.calls.launch(launchOf('team/by-bus', { message_id: 'by-bus-1' }));
    expect(repeat.text).toBe(answer);
  });

  test('a message without an id goes by its place in the queue', async () => {
    const sequence = await bus.publish('launch', launchOf('team/by-place'));
    const [answer = ''] = await bus.answered(`seq-${sequence}`);
    expect(JSON.parse(answer)).toMatchObject({ message_id: `seq-${sequence}` });
  });

  test('a refused one is a problem and one dead letter', async () => {
    const before = await system.log.deadLetters.count();
    await bus.publish('launch', launchOf('team/by-bus-bad', { failover: 'maybe' }), 'by-bus-2');
    const [answer = ''] = await bus.answered('by-bus-2');
    expect(JSON.parse(answer)).toMatchObject({ status: 400 });
    expect(await system.log.deadLetters.count()).toBe(before + 1);
    expect(await rowsOf('team/by-bus-bad')).toEqual([]);
  });
});

test('a bad limit of the deployment is told in the metrics, by name', async () => {
  const metrics = await (await fetch(`${system.apps.processes.ingest.url}/metrics`)).text();
  expect(metrics).toMatch(/spillway_configuration_invalid\{limit="boot_deaths",app="ingest"\} 1/);
  expect(metrics).toMatch(/spillway_configuration_invalid\{limit="queue_wait_s",app="ingest"\} 0/);
});

test('while the log is away a launch is 503, and is taken by the same id when it is back', async () => {
  await system.ownPostgres.stop();
  const body = launchOf('team/log-away', { message_id: 'log-away-1' });
  const reply = await system.calls.launch(body);
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
  await system.ownPostgres.restart();
  await waitUntil('the log is back', BOUND_MS, async () => (await system.calls.launch(body)).status === 202);
  expect(await typesOf('team/log-away')).toEqual(['LaunchRequested', 'LaunchAccepted']);
});
