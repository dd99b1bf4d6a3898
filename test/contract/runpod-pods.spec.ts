import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Lane } from '#domain/provision/lane';
import { workloadStarts } from '../cloud/ledger-report.ts';
import type { CloudCall } from '../cloud/scripts.ts';
import { type RunningCloud, startCloud } from '../cloud/start-cloud.ts';
import { HASTY_MS, laneAt } from './cloud-lane.ts';
import { createOn, freshMark, WORKLOAD } from './lane-under-test.ts';

const REQUEST = {
  pool: null,
  zone: null,
  machine: 'NVIDIA H100 80GB HBM3',
  gpu: null,
  maxRunS: null,
  workload: WORKLOAD,
} as const;

let cloud: RunningCloud;
let lane: Lane;
beforeAll(async () => {
  cloud = await startCloud();
  lane = laneAt('runpod', cloud.url);
});
afterAll(() => cloud.close());
const CALLS: readonly CloudCall[] = [
  'create',
  'list',
  'get',
  'terminate',
  'agent_status',
  'agent_bootstrap',
  'agent_start',
];
beforeEach(async () => {
  for (const call of CALLS) await cloud.client.script('runpod', call);
  await cloud.client.behave({
    lane: 'runpod',
    startS: 0,
    startEndsIn: 'running',
    bootstrapS: 0,
    bootstrapEndsIn: 'complete',
  });
});

const create = async (intent = freshMark().intent) => {
  const { id } = await createOn({ lane, request: REQUEST }, freshMark(intent));
  return { id, intent };
};
/** A pod whose bootstrap is complete. */
const ready = async () => {
  const pod = await create();
  expect(await lane.bootstrap(pod.id)).toEqual({ kind: 'complete' });
  return pod;
};
const dispatch = (id: string, intent: string, answer: string) =>
  (answer === 'hang' ? laneAt('runpod', cloud.url, HASTY_MS) : lane).dispatch(id, intent, WORKLOAD);
const startsOf = async (intent: string) => workloadStarts(await cloud.client.ledger()).get(intent) ?? 0;

describe('the bootstrap', () => {
  test('a pod that has just been made is healthy and its bootstrap never began', async () => {
    const { id } = await create();
    expect(await lane.probe(id)).toEqual({
      kind: 'ok',
      value: { bootstrap: 'not_begun', workload: 'none', result: null },
    });
  });

  test('a pod that has no public port yet is asked again later', async () => {
    await cloud.client.behave({ lane: 'runpod', startS: 3_600 });
    const { id } = await create();
    expect(await lane.bootstrap(id)).toEqual({ kind: 'pending' });
    expect(await lane.get(id)).toMatchObject({
      kind: 'ok',
      value: { port: false, guest: null, alarm: 'none', instance: { state: 'provisioning' } },
    });
  });

  test('one that takes time is pending, and half-built for whoever probes', async () => {
    await cloud.client.behave({ lane: 'runpod', bootstrapS: 3_600 });
    const { id } = await create();
    expect(await lane.bootstrap(id)).toEqual({ kind: 'pending' });
    expect(await lane.bootstrap(id)).toEqual({ kind: 'pending' });
    expect(await lane.probe(id)).toMatchObject({ value: { bootstrap: 'begun', workload: 'none' } });
  });

  test('one that has failed says so, and is half-built', async () => {
    await cloud.client.behave({ lane: 'runpod', bootstrapEndsIn: 'failed' });
    const { id } = await create();
    expect(await lane.bootstrap(id)).toMatchObject({
      kind: 'failed',
      failure: { kind: 'rejected', call: 'bootstrap' },
    });
    expect(await lane.probe(id)).toMatchObject({ value: { bootstrap: 'begun' } });
  });

  test('a pod that has ended cannot be bootstrapped', async () => {
    const { id } = await create();
    await cloud.client.change(id, { state: 'error' });
    expect(await lane.bootstrap(id)).toMatchObject({ kind: 'failed', failure: { kind: 'rejected' } });
  });

  test('a pod that is gone is not found', async () => {
    const { id } = await create();
    await lane.terminate(id);
    expect(await lane.bootstrap(id)).toMatchObject({ kind: 'failed', failure: { kind: 'not_found' } });
  });

  test.each(['error', 'reset', 'html', 'garbage'] as const)(
    'an agent that meets %s is no reason to give the pod up',
    async (answer) => {
      const { id } = await create();
      await cloud.client.script('runpod', 'agent_bootstrap', { answer });
      expect(await lane.bootstrap(id)).toEqual({ kind: 'pending' });
    },
  );

  test('nor is a provider that cannot be read', async () => {
    const { id } = await create();
    await cloud.client.script('runpod', 'get', { answer: 'error' });
    expect(await lane.bootstrap(id)).toEqual({ kind: 'pending' });
  });
});

describe('the dispatch', () => {
  test('starts the workload once, however often it is sent', async () => {
    const { id, intent } = await ready();
    for (let i = 0; i < 3; i += 1) {
      expect(await lane.dispatch(id, intent, WORKLOAD)).toEqual({ kind: 'started' });
    }
    expect(await startsOf(intent)).toBe(1);
    expect(await lane.probe(id)).toMatchObject({ value: { bootstrap: 'complete', workload: 'running' } });
  });

  test.each(['error', 'reset', 'hang', 'html', 'garbage', 'wrong_shape'] as const)(
    'one that starts it and answers with %s is unknown; the repeat starts nothing',
    async (answer) => {
      const { id, intent } = await ready();
      await cloud.client.scriptOnce('runpod', 'agent_start', { answer, effect: 'done' });
      expect(await dispatch(id, intent, answer)).toMatchObject({
        kind: 'unknown',
        failure: { kind: 'outcome_unknown', sent: true },
      });
      expect(await lane.dispatch(id, intent, WORKLOAD)).toEqual({ kind: 'started' });
      expect(await startsOf(intent)).toBe(1);
    },
  );

  test.each(['error', 'reset', 'hang'] as const)(
    'one that starts nothing and answers with %s is unknown as well',
    async (answer) => {
      const { id, intent } = await ready();
      await cloud.client.scriptOnce('runpod', 'agent_start', { answer });
      expect((await dispatch(id, intent, answer)).kind).toBe('unknown');
      expect(await startsOf(intent)).toBe(0);
    },
  );

  test('a workload that cannot be started is refused', async () => {
    const { id, intent } = await ready();
    await cloud.client.script('runpod', 'agent_start', { answer: 'rejected' });
    expect(await lane.dispatch(id, intent, WORKLOAD)).toMatchObject({
      kind: 'refused',
      failure: { kind: 'rejected', code: 'start_failed', sent: true },
    });
  });

  test('another intent than the pod’s own starts nothing', async () => {
    const { id, intent } = await ready();
    expect(await lane.dispatch(id, freshMark().intent, WORKLOAD)).toMatchObject({ kind: 'refused' });
    expect(await startsOf(intent)).toBe(0);
  });

  test('onto a half-built pod nothing is started', async () => {
    const { id, intent } = await create();
    expect(await lane.dispatch(id, intent, WORKLOAD)).toMatchObject({
      kind: 'refused',
      failure: { code: 'not_bootstrapped' },
    });
    expect(await startsOf(intent)).toBe(0);
  });
});

describe('a probe tells', () => {
  test.each(['done', 'failed'] as const)('a workload that ended %s', async (result) => {
    const { id, intent } = await ready();
    await lane.dispatch(id, intent, WORKLOAD);
    await cloud.client.change(id, { workload: result });
    expect(await lane.probe(id)).toMatchObject({ value: { workload: 'finished', result } });
    expect(await lane.get(id)).toMatchObject({ value: { guest: { phase: result, workloadStarted: true } } });
  });

  test('pitfall 37: nothing of an agent that does not answer: neither none nor running', async () => {
    const { id, intent } = await ready();
    await lane.dispatch(id, intent, WORKLOAD);
    await cloud.client.change(id, { agent: { answers: false } });
    expect(await lane.probe(id)).toEqual({
      kind: 'ok',
      value: { bootstrap: 'unknown', workload: 'unknown', result: null },
    });
    expect(await lane.get(id)).toMatchObject({ value: { guest: null, alarm: 'transport', port: true } });
  });

  test('nothing of a pod that has ended', async () => {
    const { id } = await ready();
    await cloud.client.change(id, { state: 'stopped' });
    expect(await lane.probe(id)).toMatchObject({ value: { workload: 'unknown' } });
  });

  test('nothing of somebody else’s pod: it is not even spoken to', async () => {
    const id = await cloud.client.addForeign({ lane: 'runpod', name: 'train-7', workload: 'running' });
    const before = (await cloud.client.ledger()).calls['runpod agent_status'] ?? 0;
    expect(await lane.probe(id)).toMatchObject({ value: { workload: 'unknown' } });
    expect((await cloud.client.ledger()).calls['runpod agent_status'] ?? 0).toBe(before);
  });

  test('the failure itself, when the provider cannot be read', async () => {
    const { id } = await create();
    await cloud.client.script('runpod', 'get', { answer: 'unavailable' });
    expect(await lane.probe(id)).toMatchObject({
      kind: 'failed',
      failure: { kind: 'unavailable', call: 'probe' },
    });
  });
});

describe('what a pod carries', () => {
  test('the workload and its secrets are not in its env, which everyone with the key may list', async () => {
    const { id } = await create();
    const shown = JSON.stringify(await (await fetch(`${cloud.url}/runpod/v2/pods/${id}`, KEY)).json());
    expect(shown).not.toContain('hush-hush-123');
    expect(shown).not.toContain('train --epochs');
  });

  test('a provider that repeats our key or token in an error gives none away', async () => {
    await cloud.client.script('runpod', 'create', {
      answer: 'status',
      status: 400,
      headers: { 'content-type': 'application/problem+json' },
      body: { title: 'x', status: 400, detail: 'bad Bearer stand-in in Authorization' },
    });
    const answer = await lane.create(freshMark(), REQUEST);
    expect(answer).toMatchObject({ kind: 'failed', failure: { kind: 'rejected' } });
    expect(JSON.stringify(answer)).not.toContain('stand-in');
  });

  test.each([
    { locked: true, keep: true, reason: 'its own lock is a keep mark' },
    { locked: false, keep: false, reason: 'none' },
  ])('$reason', async ({ locked, keep }) => {
    const { id } = await create();
    await cloud.client.change(id, { locked });
    expect(await lane.get(id)).toMatchObject({ value: { instance: { keep } } });
  });

  test('a locked pod that refuses its end is not ended', async () => {
    const { id, intent } = await create();
    await cloud.client.change(id, { locked: true });
    expect(await lane.terminate(id)).toMatchObject({ kind: 'failed', failure: { kind: 'rejected' } });
    expect((await cloud.client.ledger()).deletes.filter((line) => line.intent === intent)).toEqual([]);
  });
});

describe('what is never sent', () => {
  test.each([
    { request: { ...REQUEST, machine: null }, reason: 'no GPU type' },
    { request: { ...REQUEST, pool: 'preemptible' }, reason: 'a pool that REST v2 has not' },
  ])('$reason', async ({ request }) => {
    const before = (await cloud.client.ledger()).calls['runpod create'] ?? 0;
    expect(await lane.create(freshMark(), request)).toMatchObject({
      failure: { kind: 'rejected', sent: false },
    });
    expect(await lane.probeLane(request)).toMatchObject({ kind: 'failed', failure: { kind: 'rejected' } });
    expect((await cloud.client.ledger()).calls['runpod create'] ?? 0).toBe(before);
  });

  test('a GPU type that the catalogue does not have closes the rung; a catalogue that cannot be read says so', async () => {
    expect(await lane.probeLane({ ...REQUEST, machine: 'GPU of dreams' })).toMatchObject({
      failure: { kind: 'rejected' },
    });
    await cloud.client.scriptOnce('runpod', 'probe_lane', { answer: 'error' });
    expect(await lane.probeLane(REQUEST)).toMatchObject({
      failure: { kind: 'unavailable', call: 'probe_lane' },
    });
  });
});

test('operations: the create of a known id is done, and of deletes nothing is known', async () => {
  const { id } = await create();
  expect(await lane.operations(id)).toEqual({
    kind: 'ok',
    value: { create: 'done', createError: null, delete: 'unknown' },
  });
});

const KEY = { headers: { authorization: 'Bearer anything' } };
