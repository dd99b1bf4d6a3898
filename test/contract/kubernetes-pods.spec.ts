import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CreateRequest, Lane } from '#domain/provision/lane';
import { type RunningCloud, startCloud } from '../cloud/start-cloud.ts';
import { laneAt } from './cloud-lane.ts';
import { createOn, freshMark, WORKLOAD } from './lane-under-test.ts';

const REQUEST: CreateRequest = {
  pool: 'batch',
  zone: null,
  machine: null,
  gpu: { family: 'H100', product: null, count: 8 },
  maxRunS: 3_600,
  workload: WORKLOAD,
};
const FOREVER_S = 1_000_000_000;

let cloud: RunningCloud;
let lane: Lane;
beforeAll(async () => {
  cloud = await startCloud();
  lane = laneAt('kubernetes', cloud.url);
});
afterAll(() => cloud.close());
beforeEach(async () => {
  for (const call of ['create', 'list', 'get', 'terminate'] as const)
    await cloud.client.script('kubernetes', call);
  await cloud.client.behave({
    lane: 'kubernetes',
    queueS: null,
    startS: 0,
    pageSize: 100,
    workloadEndsIn: 'done',
  });
});

const create = async (request: CreateRequest = REQUEST, mark = freshMark()) => {
  const instance = await createOn({ lane, request }, mark);
  return { ...instance, mark, uid: instance.id.split('/').at(-1) ?? '' };
};

describe('a pod that waits', () => {
  test('is queued, and says why', async () => {
    await cloud.client.behave({ lane: 'kubernetes', queueS: FOREVER_S });
    const { id } = await create();
    expect(await lane.get(id)).toMatchObject({
      value: { instance: { state: 'queued', pool: null }, guest: null },
    });
    expect(await lane.operations(id)).toMatchObject({
      value: { create: 'done', createError: { code: 'unschedulable_gpu' }, delete: 'unknown' },
    });
  });

  test('every pool of this lane queues', () => {
    expect(lane.facts.queueingPools).toEqual(['batch']);
  });
});

describe('states', () => {
  test('runs in the pool whose selector it carries', async () => {
    const { id } = await create();
    expect(await lane.get(id)).toMatchObject({
      value: {
        instance: { state: 'running', pool: 'batch' },
        guest: { phase: 'workload', workloadStarted: true },
      },
    });
    expect(await lane.operations(id)).toMatchObject({ value: { createError: null } });
  });

  test.each(['done', 'failed'] as const)('a workload that ended %s ends the pod', async (ending) => {
    const { id, uid } = await create();
    await lane.list();
    await cloud.client.change(uid, { workload: ending });
    expect(await lane.get(id)).toMatchObject({
      value: { instance: { state: 'terminated' }, guest: { phase: ending, workloadStarted: true } },
    });
  });
});

describe('identity is the uid', () => {
  test('another pod under the name is not ours, and is not deleted', async () => {
    const { id, name } = await create();
    await lane.terminate(id);
    const other = await cloud.client.addForeign({ lane: 'kubernetes', name });
    expect(await lane.get(id)).toMatchObject({ failure: { kind: 'not_found' } });
    expect(await lane.terminate(id)).toEqual({ kind: 'gone' });
    const { instances } = await cloud.client.ledger();
    expect(instances.find((one) => one.id === other)?.goneAt).toBeNull();
  });

  test('a name that is taken shows who has it', async () => {
    const mark = freshMark();
    await cloud.client.addForeign({ lane: 'kubernetes', name: mark.name });
    expect(await lane.create(mark, REQUEST)).toMatchObject({
      kind: 'name_conflict',
      instance: { marker: { intent: null } },
    });
  });

  test('a webhook that refuses the delete has not ended it', async () => {
    const { id, uid } = await create();
    await cloud.client.change(uid, { locked: true });
    expect(await lane.terminate(id)).toMatchObject({ kind: 'failed', failure: { kind: 'auth' } });
  });
});

test('every page of the namespace is read, and a page that is missing makes it no listing', async () => {
  await cloud.client.behave({ lane: 'kubernetes', pageSize: 2 });
  const ids = [];
  for (let i = 0; i < 5; i += 1) ids.push((await create()).id);
  const listing = await lane.list();
  expect(listing.kind === 'ok' ? listing.value.map(({ id }) => id) : []).toEqual(expect.arrayContaining(ids));
  await cloud.client.script('kubernetes', 'list', { answer: 'ok' }, { answer: 'error' });
  expect((await lane.list()).kind).toBe('failed');
});

test('a pool that the cluster has not is refused without a call', async () => {
  const before = (await cloud.client.ledger()).calls['kubernetes create'] ?? 0;
  expect(await lane.create(freshMark(), { ...REQUEST, pool: 'moon' })).toMatchObject({
    failure: { kind: 'rejected', sent: false },
  });
  expect((await cloud.client.ledger()).calls['kubernetes create'] ?? 0).toBe(before);
});
