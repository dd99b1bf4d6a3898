import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CreateRequest, Lane } from '#domain/provision/lane';
import { ManualClock } from '#platform/clock';
import type { CloudCall } from '../cloud/scripts.ts';
import { type RunningCloud, startCloud } from '../cloud/start-cloud.ts';
import { HASTY_MS, laneAt } from './cloud-lane.ts';
import { createOn, freshMark, WORKLOAD } from './lane-under-test.ts';

const REQUEST: CreateRequest = {
  pool: 'on-demand',
  zone: 'us-central1-a',
  machine: 'a3-highgpu-8g',
  gpu: null,
  maxRunS: null,
  workload: WORKLOAD,
};
const QUEUED: CreateRequest = { ...REQUEST, pool: 'flex-start' };

const clock = new ManualClock('2026-01-05T00:00:00.000Z');
let cloud: RunningCloud;
let lane: Lane;
beforeAll(async () => {
  cloud = await startCloud({ clock });
  lane = laneAt('gcp', cloud.url);
});
afterAll(() => cloud.close());
const CALLS: readonly CloudCall[] = [
  'create',
  'follow',
  'list',
  'get',
  'operations',
  'terminate',
  'guest',
  'probe_lane',
];
beforeEach(async () => {
  for (const call of CALLS) await cloud.client.script('gcp', call);
  await cloud.client.behave({
    lane: 'gcp',
    operationS: 0,
    queueS: null,
    startS: 0,
    pageSize: 100,
    workloadS: null,
  });
});

const create = async (request: CreateRequest = REQUEST, mark = freshMark()) => {
  const instance = await createOn({ lane, request }, mark);
  return { ...instance, mark, number: instance.id.split('/').at(-1) ?? '' };
};

describe('a create', () => {
  test('is followed to the end of its operation: an error there is the answer', async () => {
    await cloud.client.script('gcp', 'create', { answer: 'capacity' });
    expect(await lane.create(freshMark(), REQUEST)).toMatchObject({
      kind: 'failed',
      failure: { kind: 'capacity', code: 'ZONE_RESOURCE_POOL_EXHAUSTED', codeIsKnown: true },
    });
  });

  test('whose operation is not done in time is unknown; the repeat under the same key finds the same machine', async () => {
    const mark = freshMark();
    await cloud.client.behave({ lane: 'gcp', operationS: 3_600 });
    expect(await laneAt('gcp', cloud.url, HASTY_MS).create(mark, REQUEST)).toMatchObject({
      failure: { kind: 'outcome_unknown', sent: true },
    });
    clock.advance(3_600_000);
    const again = await lane.create(mark, REQUEST);
    expect(again).toMatchObject({ kind: 'created', instance: { marker: { intent: mark.intent } } });
    expect((await cloud.client.ledger()).creates.filter(({ intent }) => intent === mark.intent)).toHaveLength(
      1,
    );
  });

  test.each(['error', 'not_found', 'html', 'reset'] as const)(
    'whose operation cannot be followed, with %s, is unknown: the insert was taken',
    async (answer) => {
      await cloud.client.script('gcp', 'follow', { answer });
      expect(await lane.create(freshMark(), REQUEST)).toMatchObject({
        failure: { kind: 'outcome_unknown', sent: true, call: 'create' },
      });
    },
  );

  test('that is done while the machine cannot be read yet is a create all the same', async () => {
    await cloud.client.script('gcp', 'get', { answer: 'not_found' });
    const mark = freshMark();
    expect(await lane.create(mark, REQUEST)).toMatchObject({
      kind: 'created',
      instance: { name: mark.name, pool: null, state: 'provisioning', marker: { intent: mark.intent } },
    });
  });

  test('under a taken name shows who has it', async () => {
    const mark = freshMark();
    await cloud.client.addForeign({ lane: 'gcp', name: mark.name, labels: { owner: 'somebody' } });
    expect(await lane.create(mark, REQUEST)).toMatchObject({
      kind: 'name_conflict',
      instance: { name: mark.name, marker: { intent: null } },
    });
    await cloud.client.script('gcp', 'get', { answer: 'error' });
    expect(await lane.create(mark, REQUEST)).toEqual({ kind: 'name_conflict', instance: null });
  });

  test.each([
    { pool: 'on-demand', delivered: 'on-demand', state: 'running' },
    { pool: 'preemptible', delivered: 'preemptible', state: 'running' },
    { pool: 'flex-start', delivered: 'flex-start', state: 'queued' },
    { pool: null, delivered: 'on-demand', state: 'running' },
  ])(
    'pitfall 38: in pool $pool reports what was delivered: $delivered',
    async ({ pool, delivered, state }) => {
      expect(await create({ ...REQUEST, pool })).toMatchObject({ pool: delivered, state });
    },
  );

  test.each([
    { request: { ...REQUEST, machine: null }, reason: 'no machine' },
    { request: { ...REQUEST, pool: 'calendar' }, reason: 'an unknown pool' },
    { request: { ...QUEUED, maxRunS: 599 }, reason: 'a queued run below ten minutes' },
    { request: { ...QUEUED, maxRunS: 604_801 }, reason: 'a queued run above seven days' },
  ])('with $reason is not sent', async ({ request }) => {
    expect(await lane.create(freshMark(), request)).toMatchObject({
      failure: { kind: 'rejected', sent: false },
    });
  });

  test.each([600, 604_800])('a queued run of exactly %i s is sent', async (maxRunS) => {
    expect((await lane.create(freshMark(), { ...QUEUED, maxRunS })).kind).toBe('created');
  });

  test('in a zone that does not offer the machine closes the rung before it is sent', async () => {
    const elsewhere = { ...REQUEST, zone: 'mars-north1-a' };
    expect(await lane.probeLane(elsewhere)).toMatchObject({ kind: 'failed', failure: { kind: 'rejected' } });
  });
});

describe('whether a rung is open', () => {
  const asking = { ...REQUEST, gpu: { family: 'H100', product: null, count: 8 } };
  test('a quota that is positively known to be short closes it', async () => {
    await cloud.client.behave({ lane: 'gcp', gpuLimit: 0 });
    expect(await lane.probeLane(asking)).toMatchObject({
      kind: 'failed',
      failure: { kind: 'quota', code: 'QUOTA_EXCEEDED', text: 'NVIDIA_H100_GPUS leaves no room' },
    });
    await cloud.client.behave({ lane: 'gcp', gpuLimit: 1_000 });
    expect(await lane.probeLane(asking)).toEqual({ kind: 'ok', value: 'open' });
    await cloud.client.behave({ lane: 'gcp', gpuLimit: null });
    expect(await lane.probeLane(asking)).toEqual({ kind: 'ok', value: 'open' });
  });

  test('what cannot be read says so', async () => {
    await cloud.client.script('gcp', 'probe_lane', { answer: 'error' });
    expect(await lane.probeLane(asking)).toMatchObject({
      failure: { kind: 'unavailable', call: 'probe_lane' },
    });
  });
});

describe('what happened to a machine', () => {
  test('pitfall 40: a person’s delete is present', async () => {
    const { id, number } = await create(QUEUED);
    await cloud.client.change(number, { remove: 'person' });
    expect(await lane.get(id)).toMatchObject({ failure: { kind: 'not_found' } });
    expect(await lane.operations(id)).toEqual({
      kind: 'ok',
      value: { create: 'done', createError: null, delete: 'present' },
    });
  });

  test('a queue vanish leaves no delete behind', async () => {
    const { id, number } = await create(QUEUED);
    expect(await lane.get(id)).toMatchObject({ value: { instance: { state: 'queued' } } });
    await cloud.client.change(number, { remove: 'provider' });
    expect(await lane.get(id)).toMatchObject({ failure: { kind: 'not_found' } });
    expect(await lane.operations(id)).toMatchObject({ value: { create: 'done', delete: 'none' } });
  });

  test('a queue that ends in nothing is such a vanish', async () => {
    await cloud.client.behave({ lane: 'gcp', queueS: 60, queueEndsIn: 'vanished' });
    const { id } = await create(QUEUED);
    clock.advance(59_999);
    expect(await lane.get(id)).toMatchObject({ value: { instance: { state: 'queued' } } });
    clock.advance(1);
    expect(await lane.get(id)).toMatchObject({ failure: { kind: 'not_found' } });
    expect(await lane.operations(id)).toMatchObject({ value: { create: 'done', delete: 'none' } });
  });

  test('our own delete is left out', async () => {
    const { id } = await create();
    expect(await lane.terminate(id)).toEqual({ kind: 'gone' });
    expect(await lane.operations(id)).toMatchObject({ value: { delete: 'none' } });
  });

  test('operations that cannot be read are a failure, never "none"', async () => {
    const { id } = await create();
    for (const answer of ['error', 'html', 'garbage', 'wrong_shape', 'reset'] as const) {
      await cloud.client.script('gcp', 'operations', { answer });
      expect(await lane.operations(id), answer).toMatchObject({
        kind: 'failed',
        failure: { kind: 'unavailable' },
      });
    }
  });

  test('an insert that runs is running', async () => {
    const { id } = await create();
    await cloud.client.script('gcp', 'operations', {
      answer: 'status',
      status: 200,
      body: {
        kind: 'compute#operationList',
        items: [{ name: 'op', operationType: 'insert', status: 'RUNNING' }],
      },
    });
    expect(await lane.operations(id)).toMatchObject({ value: { create: 'running', delete: 'none' } });
  });

  test('an insert that failed tells its error', async () => {
    const { id } = await create();
    const errors = [{ code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message: 'no room' }];
    await cloud.client.script('gcp', 'operations', {
      answer: 'status',
      status: 200,
      body: {
        kind: 'compute#operationList',
        items: [{ name: 'op', operationType: 'insert', status: 'DONE', error: { errors } }],
      },
    });
    expect(await lane.operations(id)).toMatchObject({
      value: { create: 'failed', createError: { code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message: 'no room' } },
    });
  });
});

describe('absence', () => {
  test('one 404 while the listing shows the machine is no absence', async () => {
    const { id } = await create();
    await cloud.client.script('gcp', 'get', { answer: 'not_found' });
    expect(await lane.get(id)).toMatchObject({ failure: { kind: 'unavailable' } });
    await cloud.client.scriptOnce('gcp', 'get', { answer: 'not_found' });
    expect(await lane.get(id)).toMatchObject({ failure: { kind: 'unavailable' } });
  });

  test('a listing that cannot be read confirms nothing', async () => {
    const { id } = await create();
    await lane.terminate(id);
    await cloud.client.script('gcp', 'list', { answer: 'partial' });
    expect(await lane.get(id)).toMatchObject({ failure: { kind: 'unavailable', call: 'get' } });
  });

  test('a name that somebody has taken again is not our machine, and is not deleted', async () => {
    const { id, name } = await create();
    await lane.terminate(id);
    const other = await cloud.client.addForeign({ lane: 'gcp', name });
    expect(await lane.get(id)).toMatchObject({ failure: { kind: 'not_found' } });
    expect((await lane.terminate(id)).kind).toBe('gone');
    const { instances } = await cloud.client.ledger();
    expect(instances.find((one) => one.id === other)?.goneAt).toBeNull();
  });
});

describe('the guest', () => {
  test('tells phase, start and age of the log by its attributes', async () => {
    const { id, number } = await create();
    await cloud.client.change(number, { guest: { phase: 'finalizing', workloadStarted: true } });
    expect(await lane.get(id)).toMatchObject({
      value: { guest: { phase: 'finalizing', workloadStarted: true }, alarm: 'none', logAgeS: null },
    });
  });

  test('that has written nothing is unreadable, and no alarm', async () => {
    const { id, number } = await create({ ...REQUEST, workload: null });
    await cloud.client.change(number, { guest: null });
    expect(await lane.get(id)).toMatchObject({ value: { guest: null, alarm: 'none' } });
  });

  test('a phase of another spelling is unreadable', async () => {
    const { id, number } = await create();
    await cloud.client.change(number, { guest: { phase: 'WORKING', workloadStarted: true } });
    expect(await lane.get(id)).toMatchObject({ value: { guest: null, alarm: 'none' } });
  });

  test.each(['error', 'auth', 'reset', 'html'] as const)(
    'attributes that meet %s are the control plane’s matter',
    async (answer) => {
      const { id } = await create();
      await cloud.client.script('gcp', 'guest', { answer });
      expect(await lane.get(id)).toMatchObject({
        kind: 'ok',
        value: { guest: null, alarm: 'control_plane' },
      });
    },
  );

  test('a crash of the workload is seen when the machine has ended', async () => {
    const { id, number } = await create();
    await cloud.client.change(number, { workload: 'failed' });
    expect(await lane.get(id)).toMatchObject({
      value: { instance: { state: 'terminated' }, guest: { phase: 'failed', workloadStarted: true } },
    });
  });
});

describe('listing and ending', () => {
  test('reads every page', async () => {
    await cloud.client.behave({ lane: 'gcp', pageSize: 2 });
    const ids = [];
    for (let i = 0; i < 5; i += 1) ids.push((await create()).id);
    const listing = await lane.list();
    expect(listing.kind === 'ok' ? listing.value.map(({ id }) => id) : []).toEqual(
      expect.arrayContaining(ids),
    );
  });

  test('a page that is missing makes it no listing', async () => {
    await cloud.client.behave({ lane: 'gcp', pageSize: 1 });
    await create();
    await create();
    await cloud.client.script('gcp', 'list', { answer: 'ok' }, { answer: 'error' });
    expect(await lane.list()).toMatchObject({ kind: 'failed', failure: { kind: 'unavailable' } });
  });

  test('a protected machine is kept, and refuses its end', async () => {
    const { id, number } = await create();
    await cloud.client.change(number, { locked: true });
    expect(await lane.get(id)).toMatchObject({ value: { instance: { keep: true } } });
    expect(await lane.terminate(id)).toMatchObject({ kind: 'failed', failure: { kind: 'rejected' } });
  });

  test('an id that this lane never gave is refused without a call', async () => {
    for (const id of ['', '123', 'zone/name', '../../x/1', 'us-central1-a/name/abc']) {
      expect(await lane.terminate(id), id).toMatchObject({ failure: { kind: 'rejected', sent: false } });
      expect(await lane.get(id), id).toMatchObject({ failure: { kind: 'rejected', sent: false } });
    }
  });
});

test('the create starts the workload, so there is nothing to bootstrap or dispatch', async () => {
  const { id, mark } = await create();
  expect(await lane.probe(id)).toMatchObject({ value: { bootstrap: 'unknown', workload: 'unknown' } });
  expect((await lane.bootstrap(id)).kind).toBe('failed');
  expect((await lane.dispatch(id, mark.intent, WORKLOAD)).kind).toBe('refused');
});
