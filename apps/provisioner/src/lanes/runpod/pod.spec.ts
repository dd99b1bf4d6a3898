import { describe, expect, test } from 'vitest';
import { agentUrlOf, PROXY_ADDRESS } from './agent-address.ts';
import { instanceOf, isGone, podOf, podsOf } from './pod.ts';

const MARK = { SPILLWAY_DEPLOYMENT: 'prod', SPILLWAY_ALLOCATION: '0123456789abcdef', SPILLWAY_INTENT: 'i' };
const POD = {
  id: 'p1',
  name: 'sw-prod-0123456789abcdef-i',
  status: 'RUNNING',
  env: MARK,
  locked: false,
  cloud: 'SECURE',
  dataCenterId: 'US-KS-2',
  cost: 2.5,
  createdAt: '2026-06-01T12:00:00Z',
  runtime: { ports: [{ private: 8_799, public: 40_001, type: 'http', ip: '100.65.0.1' }] },
};
const shown = (more: object) => {
  const pod = podOf({ ...POD, ...more });
  return pod === null ? null : instanceOf(pod);
};

describe('a pod in our words (providers 3)', () => {
  test('has id, name, marker, pool, zone, time and price', () => {
    expect(shown({})).toEqual({
      id: 'p1',
      name: 'sw-prod-0123456789abcdef-i',
      marker: { deployment: 'prod', allocation: '0123456789abcdef', intent: 'i' },
      keep: false,
      state: 'running',
      pool: 'on-demand',
      zone: 'US-KS-2',
      createdAt: '2026-06-01T12:00:00.000Z',
      costPerHourUsd: 2.5,
    });
  });

  test.each([
    { status: 'PROVISIONING', state: 'provisioning' },
    { status: 'STARTING', state: 'provisioning' },
    { status: 'RUNNING', state: 'running' },
    { status: 'EXITED', state: 'terminated' },
    { status: 'ERROR', state: 'terminated' },
    { status: 'SOMETHING_NEW', state: 'running' },
  ])('$status is $state', ({ status, state }) => {
    expect(shown({ status })?.state).toBe(state);
  });

  test('TERMINATED counts as absent', () => {
    const pod = podOf({ ...POD, status: 'TERMINATED' });
    expect(pod !== null && isGone(pod)).toBe(true);
  });

  test.each([
    { more: { locked: true }, keep: true, reason: 'the provider’s lock' },
    { more: { locked: undefined }, keep: true, reason: 'a lock that cannot be read' },
    { more: { locked: 'yes' }, keep: true, reason: 'a lock of another form' },
    { more: { env: { ...MARK, SPILLWAY_KEEP: '1' } }, keep: true, reason: 'our mark' },
    { more: { env: { ...MARK, SPILLWAY_KEEP: 'until monday' } }, keep: true, reason: 'our mark, in words' },
    { more: { env: { ...MARK, SPILLWAY_KEEP: 'false' } }, keep: false, reason: 'our mark, taken back' },
    { more: { env: null }, keep: true, reason: 'env that is not shown' },
    { more: { env: undefined }, keep: true, reason: 'env that is left out' },
    { more: { env: ['A=1'] }, keep: true, reason: 'env of another form' },
    { more: { env: {} }, keep: false, reason: 'no mark at all' },
  ])('keep is $keep: $reason (1.10)', ({ more, keep }) => {
    expect(shown(more)?.keep).toBe(keep);
  });

  test('what cannot be read beside is null, and the pod is still listed', () => {
    expect(shown({ env: 7, cloud: 7, dataCenterId: 7, cost: '1', createdAt: 7, runtime: 7 })).toMatchObject({
      marker: { deployment: null, allocation: null, intent: null },
      pool: null,
      zone: null,
      createdAt: null,
      costPerHourUsd: null,
    });
  });

  test.each([{ id: undefined }, { id: '' }, { name: undefined }, { name: 7 }, { status: null }])(
    'without id, name or status it is no pod: %j',
    (more) => {
      expect(podOf({ ...POD, ...more })).toBeNull();
      expect(podsOf({ pods: [POD, { ...POD, ...more }] })).toBeNull();
    },
  );
});

describe('a listing is whole or none (1.6)', () => {
  test.each([
    { more: {}, whole: true },
    { more: { nextCursor: null }, whole: true },
    { more: { hasMore: false }, whole: true },
    { more: { nextCursor: 'abc' }, whole: false },
    { more: { hasMore: true }, whole: false },
    { more: { pagination: { page: 1 } }, whole: false },
    { more: { truncated: true }, whole: false },
    { more: { total: 1 }, whole: true },
    { more: { total: 2 }, whole: false },
  ])('$more: whole $whole', ({ more, whole }) => {
    expect(podsOf({ pods: [POD], ...more }) !== null).toBe(whole);
  });

  test.each([[POD], {}, { pods: null }, null, 'text'])('%j is no listing', (json) => {
    expect(podsOf(json)).toBeNull();
  });
});

describe('where the agent of a pod is', () => {
  const pod = podOf(POD);
  test('by the provider’s proxy', () => {
    expect(pod && agentUrlOf(PROXY_ADDRESS, pod)).toBe('https://p1-8799.proxy.runpod.net');
  });

  test('by the public port', () => {
    expect(pod && agentUrlOf('http://{ip}:{public}', pod)).toBe('http://100.65.0.1:40001');
  });

  test.each([
    { runtime: {} },
    { runtime: null },
    { runtime: { ports: [] } },
    { runtime: { ports: [{ private: 22, public: 1, ip: 'x' }] } },
  ])('nowhere while its port is not public: %j', (more) => {
    const other = podOf({ ...POD, ...more });
    expect(other && agentUrlOf(PROXY_ADDRESS, other)).toBeNull();
  });
});
