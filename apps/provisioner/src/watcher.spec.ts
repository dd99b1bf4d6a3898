import { describe, expect, test } from 'vitest';
import type { StoredAllocation } from '#domain/log-tables';
import type {
  InstanceReading,
  Lane,
  LaneFailure,
  LaneFailureKind,
  OperationsReading,
  ProbeReading,
  Read,
} from '#domain/provision/lane';
import { allocationStream } from '#events/streams';
import { digestOf } from '#support/builders';
import { machine, PRIMARY, probed, TERMINAL } from '#support/provision-builders';
import { type ObservationBody, seenOf, Watcher } from './watcher.ts';

const failed = (kind: LaneFailureKind): { readonly kind: 'failed'; readonly failure: LaneFailure } => ({
  kind: 'failed',
  failure: {
    kind,
    provider: 'gcp',
    call: 'get',
    status: null,
    code: null,
    codeIsKnown: false,
    text: '',
    retryAfterS: null,
    sent: true,
  },
});
const reading = (change: Partial<InstanceReading> = {}): Read<InstanceReading> => ({
  kind: 'ok',
  value: {
    instance: machine('X1', 'a'.repeat(26)),
    guest: { phase: 'workload', workloadStarted: true },
    alarm: 'none',
    logAgeS: 5,
    port: null,
    ...change,
  },
});
const OPERATIONS: OperationsReading = { create: 'done', createError: null, delete: 'none' };

/** A lane that answers reads in order; every other call would be a mistake of the watcher. */
function laneOf(
  gets: readonly Read<InstanceReading>[],
  operations: Read<OperationsReading> = { kind: 'ok', value: OPERATIONS },
  probe: Read<ProbeReading> = failed('unavailable'),
  facts = PRIMARY,
): Lane {
  const left = [...gets];
  const never = () => Promise.reject(new Error('a watcher only reads'));
  return {
    facts,
    get: async () => left.shift() ?? failed('unavailable'),
    operations: async () => operations,
    probe: async () => probe,
    probeLane: never,
    create: never,
    list: never,
    terminate: never,
    bootstrap: never,
    dispatch: never,
  };
}
const seen = (lane: Lane) => seenOf(lane, 'X1', () => undefined);

describe('absence', () => {
  test('needs two structured answers in one poll, and tells the operations', async () => {
    expect(await seen(laneOf([failed('not_found'), failed('not_found')]))).toMatchObject({
      provider: 'not_found',
      create_operation: 'done',
      delete_operation: 'none',
    });
  });

  test.each<[what: string, second: Read<InstanceReading>, provider: string]>([
    ['the second read finds it', reading(), 'running'],
    ['the second read gives no answer', failed('unavailable'), 'probe_error'],
  ])('%s: %#', async (_what, second, provider) => {
    expect(await seen(laneOf([failed('not_found'), second]))).toMatchObject({ provider });
  });

  test('without readable operations nothing is known of them', async () => {
    const lane = laneOf([failed('not_found'), failed('not_found')], failed('unavailable'));
    expect(await seen(lane)).toMatchObject({ create_operation: 'unknown', delete_operation: 'unknown' });
  });

  test('tells why a create failed in the end', async () => {
    const createError = { code: 'STOCKOUT', message: 'no room' };
    const operations = { ...OPERATIONS, create: 'failed' as const, createError };
    const lane = laneOf([failed('not_found'), failed('not_found')], { kind: 'ok', value: operations });
    expect(await seen(lane)).toMatchObject({ create_operation: 'failed', create_error: createError });
  });
});

test.each<LaneFailureKind>(['unavailable', 'auth', 'rate_limited', 'outcome_unknown'])(
  'a read that fails as %s is a probe error, never an absence',
  async (kind) => {
    expect(await seen(laneOf([failed(kind)]))).toMatchObject({ provider: 'probe_error' });
  },
);

describe('the guest', () => {
  test('is what the provider tells', async () => {
    expect(await seen(laneOf([reading()]))).toMatchObject({
      provider: 'running',
      guest: { phase: 'workload', workload_started: true },
    });
  });

  test.each<[probe: Read<ProbeReading>, guest: object | undefined]>([
    [
      { kind: 'ok', value: probed('running') },
      { phase: 'workload', workload_started: true },
    ],
    [
      { kind: 'ok', value: probed('finished', 'complete', 'done') },
      { phase: 'done', workload_started: true },
    ],
    [
      { kind: 'ok', value: probed('finished', 'complete', 'failed') },
      { phase: 'failed', workload_started: true },
    ],
    [{ kind: 'ok', value: probed('finished') }, undefined],
    [{ kind: 'ok', value: probed('none') }, undefined],
    [failed('unavailable'), undefined],
  ])('of a pod is asked of the machine itself: %#', async (probe, guest) => {
    const lane = laneOf([reading({ guest: null })], undefined, probe, TERMINAL);
    expect((await seen(lane)).guest).toEqual(guest);
  });
});

const placed = (stream: string): StoredAllocation => ({
  stream,
  decisionVersion: 5,
  pos: 9,
  record: null,
  placement: {
    outcome: 'placed_primary',
    reason: null,
    lane: 'gcp',
    instance: 'X1',
    openIntent: null,
    needsWorker: false,
    wakeAt: null,
    retryAt: null,
    bills: true,
    alerts: 0,
  },
});

test('one allocation whose name cannot be opened does not keep the others from being polled', async () => {
  const [sick, well] = [allocationStream(digestOf('sick')), allocationStream(digestOf('well'))];
  const published: ObservationBody[] = [];
  const failures: string[] = [];
  const watcher = new Watcher({
    allocations: {
      get: async () => null,
      count: async () => 0,
      list: async ({ outcome }) => (outcome === 'placed_primary' ? [placed(sick), placed(well)] : []),
    },
    lanes: new Map([['gcp', laneOf([reading()])]]),
    clock: { now: () => '2026-11-29T10:00:00.000Z', monotonicMs: () => 0 },
    name: async (stream) => {
      if (stream === sick) throw new Error('no key');
      return 'train-7';
    },
    publish: async (body) => void published.push(body),
    onFailure: (_lane, why) => void failures.push(why),
  });
  await watcher.round();
  expect({ published, failures }).toMatchObject({
    published: [{ logical_allocation: 'train-7', instance: 'X1', provider: 'running' }],
    failures: ['not_taken'],
  });
});
