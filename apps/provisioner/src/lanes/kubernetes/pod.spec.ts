import { describe, expect, test } from 'vitest';
import { guestOf, instanceOf, readPage, readPod, refOf, stateOf, waitingMessage } from './pod.ts';

const POOLS = new Map([
  ['batch', { 'spillway/pool': 'batch' }],
  ['anything', {}],
]);
const MARKS = {
  'spillway/deployment': 'prod',
  'spillway/allocation': '0123456789abcdef',
  'spillway/intent': 'i',
};
const podWith = (status: object, metadata: object = {}) => ({
  metadata: {
    uid: 'u-1',
    name: 'sw-x',
    labels: MARKS,
    annotations: MARKS,
    creationTimestamp: '2026-01-05T00:00:00Z',
    ...metadata,
  },
  spec: { nodeSelector: { 'spillway/pool': 'batch' } },
  status,
});
const read = (status: object, metadata: object = {}) => {
  const pod = readPod(podWith(status, metadata));
  if (pod === null) throw new Error('it can be read');
  return pod;
};
const PLACED = [{ type: 'PodScheduled', status: 'True' }];
const WAITING = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/4 nodes' }];
const GATED = [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }];
const ended = (exitCode: number, startedAt: string | null = '2026-01-05T00:00:00Z') => [
  { state: { terminated: { exitCode, startedAt } } },
];

describe('states (providers 5)', () => {
  test.each([
    { status: { phase: 'Pending', conditions: WAITING }, state: 'queued' },
    { status: { phase: 'Pending', conditions: GATED }, state: 'queued' },
    { status: { phase: 'Pending' }, state: 'queued' },
    { status: {}, state: 'queued' },
    { status: { phase: 'Pending', conditions: PLACED }, state: 'provisioning' },
    { status: { phase: 'Running', conditions: PLACED }, state: 'running' },
    { status: { phase: 'Succeeded' }, state: 'terminated' },
    { status: { phase: 'Failed' }, state: 'terminated' },
    { status: { phase: 'Unknown' }, state: null },
  ])('$status is $state', ({ status, state }) => {
    expect(stateOf(read(status))).toBe(state);
  });
});

describe('the guest', () => {
  test.each([
    { status: { phase: 'Pending', conditions: PLACED }, guest: null, reason: 'nothing runs yet' },
    {
      status: { phase: 'Running', containerStatuses: [{ state: { waiting: {} } }] },
      guest: { phase: 'setup', workloadStarted: false },
      reason: 'it is being prepared',
    },
    {
      status: { phase: 'Running', containerStatuses: [{ state: { running: {} } }] },
      guest: { phase: 'workload', workloadStarted: true },
      reason: 'it runs',
    },
    {
      status: { phase: 'Succeeded', containerStatuses: ended(0) },
      guest: { phase: 'done', workloadStarted: true },
      reason: 'it ended well',
    },
    {
      status: { phase: 'Failed', containerStatuses: ended(1) },
      guest: { phase: 'failed', workloadStarted: true },
      reason: 'it crashed',
    },
    {
      status: {
        phase: 'Failed',
        initContainerStatuses: ended(1),
        containerStatuses: [{ state: { waiting: {} } }],
      },
      guest: { phase: 'failed', workloadStarted: false },
      reason: 'its setup failed',
    },
    {
      status: { phase: 'Failed', reason: 'Evicted', containerStatuses: ended(137) },
      guest: { phase: 'workload', workloadStarted: true },
      reason: 'it was taken away while it ran, which is no crash',
    },
    {
      status: {
        phase: 'Failed',
        conditions: [{ type: 'DisruptionTarget', status: 'True' }],
        containerStatuses: ended(143),
      },
      guest: { phase: 'workload', workloadStarted: true },
      reason: 'it made room for another',
    },
    {
      status: { phase: 'Failed', reason: 'Evicted' },
      guest: null,
      reason: 'it was taken away before it ran',
    },
    { status: { phase: 'Failed' }, guest: null, reason: 'nobody says why' },
  ])('$reason', ({ status, guest }) => {
    expect(guestOf(read(status))).toEqual(guest);
  });
});

test('the time of its creation is told in the form of the log', () => {
  expect(instanceOf(read({ phase: 'Running' }), POOLS).createdAt).toBe('2026-01-05T00:00:00.000Z');
});

describe('whose it is', () => {
  test.each([
    { metadata: {}, intent: 'i', keep: false, reason: 'label and note agree' },
    { metadata: { annotations: {} }, intent: 'i', keep: false, reason: 'the label alone' },
    { metadata: { labels: {} }, intent: null, keep: false, reason: 'a note alone is no marker' },
    {
      metadata: { annotations: { 'spillway/intent': 'j' } },
      intent: null,
      keep: false,
      reason: 'they disagree',
    },
    {
      metadata: { labels: { ...MARKS, 'spillway/keep': '' } },
      intent: 'i',
      keep: true,
      reason: 'a keep label',
    },
    {
      metadata: { annotations: { ...MARKS, 'spillway/keep': 'me' } },
      intent: 'i',
      keep: true,
      reason: 'a keep note',
    },
    { metadata: { labels: 7 }, intent: null, keep: true, reason: 'labels that cannot be read' },
    { metadata: { labels: undefined, annotations: undefined }, intent: null, keep: false, reason: 'neither' },
  ])('$reason: $intent, keep $keep', ({ metadata, intent, keep }) => {
    const instance = instanceOf(read({ phase: 'Running' }, metadata), POOLS);
    expect([instance.marker.intent, instance.keep]).toEqual([intent, keep]);
  });

  test('a pool is delivered when the pod is placed, and only one with a selector can be told', () => {
    expect(instanceOf(read({ phase: 'Pending', conditions: PLACED }), POOLS).pool).toBe('batch');
    expect(instanceOf(read({ phase: 'Pending', conditions: WAITING }), POOLS).pool).toBeNull();
    expect(
      instanceOf(read({ phase: 'Pending', conditions: PLACED }), new Map([['anything', {}]])).pool,
    ).toBeNull();
  });
});

describe('a page of a listing (1.6)', () => {
  const page = (metadata: object, items: readonly object[] = [podWith({})]) => ({
    kind: 'PodList',
    metadata,
    items,
  });
  test('goes on where it says', () => {
    expect(readPage(page({ continue: 'c', remainingItemCount: 3 }))).toMatchObject({ next: 'c', pods: [{}] });
    expect(readPage(page({ continue: '' }))).toMatchObject({ next: null });
  });

  test.each([
    { json: page({ remainingItemCount: 3 }), reason: 'more is there and no way to it' },
    { json: page({}, [podWith({}), { metadata: { name: 'no uid' } }]), reason: 'one pod is unreadable' },
    { json: { kind: 'Status', metadata: {}, items: [] }, reason: 'it is something else' },
    { json: { kind: 'PodList', metadata: {} }, reason: 'it has no items' },
  ])('is none when $reason', ({ json }) => {
    expect(readPage(json)).toBeNull();
  });
});

test('the scheduler’s words are those of a pod that it could not place', () => {
  expect(waitingMessage(read({ conditions: WAITING }))).toBe('0/4 nodes');
  expect(waitingMessage(read({ conditions: PLACED }))).toBeNull();
  expect(waitingMessage(read({ conditions: GATED }))).toBeNull();
});

test('an id is name and uid, and nothing else', () => {
  expect(refOf('sw-x/u-1')).toEqual({ name: 'sw-x', uid: 'u-1' });
  for (const id of ['sw-x', 'a/b/c', '/u', 'sw-x/', '../x/u']) expect(refOf(id), id).toBeNull();
});
