import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '#platform/clock';
import { billedByMarker, liveOwn, workloadStarts } from './ledger-report.ts';
import { type RunningCloud, startCloud } from './start-cloud.ts';

const clock = () => new ManualClock('2026-01-05T00:00:00.000Z');
const ENV = { SPILLWAY_DEPLOYMENT: 'test', SPILLWAY_ALLOCATION: 'a1', SPILLWAY_INTENT: 'i1' };

let time: ManualClock;
let cloud: RunningCloud;
beforeEach(async () => {
  time = clock();
  cloud = await startCloud({ clock: time });
});
afterEach(() => cloud.close());

const createPod = (env: Readonly<Record<string, string>> = ENV) =>
  fetch(`${cloud.url}/runpod/v2/pods`, {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'n', image: 'i', gpu: { id: 'g' }, env, ports: ['8799/http'] }),
  });
const removePod = (id: string) =>
  fetch(`${cloud.url}/runpod/v2/pods/${id}`, { method: 'DELETE', headers: { authorization: 'Bearer x' } });

describe('the books', () => {
  test('bill every second from the create to the end, by marker', async () => {
    await createPod();
    time.advance(90_000);
    const [one] = liveOwn(await cloud.client.ledger());
    expect(one?.billedS).toBe(90);
    await removePod(one?.id ?? '');
    time.advance(60_000);
    const report = await cloud.client.ledger();
    expect(billedByMarker(report).get('i1')).toEqual({ instances: [one?.id], billedS: 90 });
    expect(liveOwn(report)).toEqual([]);
  });

  test('show what was bought twice', async () => {
    await createPod();
    await createPod();
    const report = await cloud.client.ledger();
    expect(billedByMarker(report).get('i1')?.instances).toHaveLength(2);
    expect(report.calls['runpod create']).toBe(2);
  });

  test('bill nothing of a machine that waits in a queue', async () => {
    await cloud.client.addForeign({ lane: 'gcp', name: 'waits', state: 'queued' });
    time.advance(600_000);
    const { instances } = await cloud.client.ledger();
    expect(instances).toMatchObject([{ billedS: 0, billing: false, goneAt: null }]);
  });

  test('keep other people’s machines apart', async () => {
    await cloud.client.addForeign({ lane: 'runpod', name: 'train-7' });
    await createPod({ ...ENV, SPILLWAY_DEPLOYMENT: 'other' });
    const report = await cloud.client.ledger();
    expect(liveOwn(report, 'test')).toEqual([]);
    expect(liveOwn(report, 'other')).toHaveLength(1);
    expect(workloadStarts(report).size).toBe(0);
  });
});

describe('a script', () => {
  test('is taken in order, and its last step repeats', async () => {
    await cloud.client.script(
      'runpod',
      'create',
      { answer: 'capacity' },
      { answer: 'ok' },
      { answer: 'balance' },
    );
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await createPod()).status);
    expect(statuses).toEqual([400, 201, 402, 402]);
  });

  test('that is given once lets the call work again after its end', async () => {
    await cloud.client.scriptOnce('runpod', 'create', { answer: 'balance' });
    expect([(await createPod()).status, (await createPod()).status]).toEqual([402, 201]);
  });

  test('can let a refused create take effect later', async () => {
    await cloud.client.script('runpod', 'create', { answer: 'error', effect: 'late', afterS: 40 });
    expect((await createPod()).status).toBe(500);
    time.advance(39_999);
    expect((await cloud.client.ledger()).instances).toEqual([]);
    time.advance(1);
    expect((await cloud.client.ledger()).instances).toMatchObject([
      { createdAt: '2026-01-05T00:00:40.000Z' },
    ]);
  });

  test('an order that is misspelt is refused rather than ignored', async () => {
    const response = await fetch(`${cloud.url}/_cloud/script`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ lane: 'runpod', call: 'creat', steps: [] }),
    });
    expect(response.status).toBe(400);
  });
});

test('a start takes the time it is told, and can end in an error', async () => {
  await cloud.client.behave({ lane: 'runpod', startS: 10, startEndsIn: 'error' });
  await createPod();
  time.advance(9_999);
  expect((await cloud.client.ledger()).instances).toMatchObject([{ state: 'provisioning' }]);
  time.advance(1);
  expect((await cloud.client.ledger()).instances).toMatchObject([
    { state: 'error', billedS: 10, billing: false },
  ]);
});

test('a queue is left after its time, and a workload of a machine ends it', async () => {
  await cloud.client.behave({ lane: 'gcp', queueS: 30, startS: 5, workloadS: 100 });
  const id = await cloud.client.addForeign({ lane: 'gcp', name: 'flex', state: 'queued' });
  const stateNow = async () => (await cloud.client.ledger()).instances.find((one) => one.id === id)?.state;
  expect(await stateNow()).toBe('queued');
  time.advance(30_000);
  expect(await stateNow()).toBe('provisioning');
  time.advance(5_000);
  expect(await stateNow()).toBe('running');
});
