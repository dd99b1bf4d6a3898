import { describe, expect, test } from 'vitest';
import { idOf, instanceOf, readInstance, readPage, refOf, stateOf } from './instance.ts';

const LABELS = {
  'spillway-deployment': 'prod',
  'spillway-allocation': '0123456789abcdef',
  'spillway-intent': 'i',
};
const INSTANCE = {
  id: '1234567890123456789',
  name: 'sw-prod-x',
  status: 'RUNNING',
  zone: 'https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a',
  labels: LABELS,
  creationTimestamp: '2026-01-05T01:00:00.000-07:00',
  scheduling: { provisioningModel: 'SPOT' },
};
const shown = (more: object) => {
  const instance = readInstance({ ...INSTANCE, ...more });
  return instance === null ? null : instanceOf(instance);
};

describe('a machine in our words (providers 2)', () => {
  test('has identity, marker, delivered pool, zone and time in UTC', () => {
    expect(shown({})).toEqual({
      id: 'us-central1-a/sw-prod-x/1234567890123456789',
      name: 'sw-prod-x',
      marker: { deployment: 'prod', allocation: '0123456789abcdef', intent: 'i' },
      keep: false,
      state: 'running',
      pool: 'preemptible',
      zone: 'us-central1-a',
      createdAt: '2026-01-05T08:00:00.000Z',
      costPerHourUsd: null,
    });
  });

  test.each([
    { status: 'PENDING', state: 'queued' },
    { status: 'PROVISIONING', state: 'provisioning' },
    { status: 'STAGING', state: 'provisioning' },
    { status: 'RUNNING', state: 'running' },
    { status: 'REPAIRING', state: 'running' },
    { status: 'TERMINATED', state: 'terminated' },
    { status: 'SUSPENDED', state: 'terminated' },
    { status: 'PENDING_STOP', state: null },
    { status: 'STOPPING', state: null },
    { status: 'DEPROVISIONING', state: null },
    { status: 'SUSPENDING', state: null },
    { status: 'SOMETHING_NEW', state: null },
  ])('$status is $state', ({ status, state }) => {
    expect(stateOf(status)).toBe(state);
  });

  test.each([
    { scheduling: { provisioningModel: 'STANDARD' }, pool: 'on-demand' },
    { scheduling: { provisioningModel: 'FLEX_START' }, pool: 'flex-start' },
    { scheduling: { preemptible: true, provisioningModel: 'STANDARD' }, pool: 'preemptible' },
    { scheduling: { provisioningModel: 'RESERVATION_BOUND' }, pool: null },
    { scheduling: {}, pool: null },
    { scheduling: undefined, pool: null },
  ])('$scheduling was delivered from $pool', ({ scheduling, pool }) => {
    expect(shown({ scheduling })?.pool).toBe(pool);
  });

  test.each([
    { more: { labels: { ...LABELS, 'spillway-keep': '' } }, keep: true, reason: 'a label without a value' },
    { more: { labels: { ...LABELS, 'spillway-keep': 'false' } }, keep: false, reason: 'a mark taken back' },
    { more: { deletionProtection: true }, keep: true, reason: 'the provider’s own lock' },
    { more: { deletionProtection: 'on' }, keep: true, reason: 'a lock that cannot be read' },
    { more: { labels: ['a'] }, keep: true, reason: 'labels that cannot be read' },
    { more: { labels: undefined }, keep: false, reason: 'no labels are left out, and are none' },
  ])('keep is $keep: $reason (1.10)', ({ more, keep }) => {
    expect(shown(more)?.keep).toBe(keep);
  });

  test.each([{ id: 'abc' }, { id: undefined }, { name: undefined }, { status: 3 }, { zone: undefined }])(
    'without identity or status it is none: %j',
    (more) => {
      expect(readInstance({ ...INSTANCE, ...more })).toBeNull();
    },
  );
});

describe('a page of a listing (1.6)', () => {
  const page = (items: object, more: object = {}) => ({
    kind: 'compute#instanceAggregatedList',
    items,
    ...more,
  });
  const here = { 'zones/us-central1-a': { instances: [INSTANCE] } };
  const empty = { 'zones/us-central1-b': { warning: { code: 'NO_RESULTS_ON_PAGE' } } };

  test('has the instances of all its zones', () => {
    expect(readPage(page({ ...here, ...empty }, { nextPageToken: 't' }))).toMatchObject({
      instances: [{ name: 'sw-prod-x' }],
      next: 't',
    });
    expect(readPage(page(empty))).toEqual({ instances: [], next: null });
  });

  test.each([
    { json: page(here, { unreachables: ['zones/x'] }), reason: 'a zone is unreachable' },
    { json: page({ 'zones/x': { warning: { code: 'UNREACHABLE' } } }), reason: 'a zone says so itself' },
    { json: page(here, { warning: { code: 'PARTIAL_SUCCESS' } }), reason: 'the answer says so' },
    {
      json: page({ 'zones/x': { instances: [INSTANCE, { name: 'no id' }] } }),
      reason: 'one instance is unreadable',
    },
    { json: { kind: 'compute#instanceAggregatedList' }, reason: 'no zones at all' },
    { json: { items: here }, reason: 'another kind of answer' },
    { json: null, reason: 'nothing' },
  ])('is none when $reason', ({ json }) => {
    expect(readPage(json)).toBeNull();
  });
});

test('an id is read back as what it was made of', () => {
  const ref = { zone: 'europe-west4-a', name: 'sw-x', number: '12' };
  expect(refOf(idOf(ref))).toEqual(ref);
  for (const id of ['a/b', 'a/b/c', 'a/b/1/2', '/b/1', 'a//1', 'A/b/1', 'a/../1'])
    expect(refOf(id), id).toBeNull();
});
