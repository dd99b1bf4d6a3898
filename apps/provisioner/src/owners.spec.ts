import { beforeEach, describe, expect, test } from 'vitest';
import type { PlacementRow } from '#domain/log';
import type { AllocationFilter, StoredAllocation } from '#domain/log-tables';
import type { LaneInstance } from '#domain/provision/lane';
import { markOf, shortRefOf } from '#domain/provision/marker';
import type { Listing } from '#domain/provision/step';
import { allocationStream } from '#events/streams';
import { digestOf } from '#support/builders';
import { Owners } from './owners.ts';

const STREAM = allocationStream(digestOf('one'));
const INTENT = 'a'.repeat(26);

const machine = (id: string, change: Partial<LaneInstance> = {}): LaneInstance => {
  const { name, deployment, allocation } = markOf('test', STREAM, INTENT);
  return {
    id,
    name,
    marker: { deployment, allocation, intent: INTENT },
    keep: false,
    state: 'running',
    pool: null,
    zone: null,
    createdAt: null,
    costPerHourUsd: null,
    ...change,
  };
};
const stranger = (id: string) =>
  machine(id, { name: 'by-hand', marker: { deployment: null, allocation: null, intent: null } });
const listed = (...instances: readonly LaneInstance[]): Readonly<Record<string, Listing>> => ({
  gcp: { startedAt: '2026-11-29T10:00:00.000Z', instances },
});
const rowOf = (change: Partial<PlacementRow> = {}): StoredAllocation => ({
  stream: STREAM,
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
    ...change,
  },
});

let rows: readonly StoredAllocation[] = [];
/** Rows read one by one: what must not grow with the number of allocations at rest. */
let lookUps = 0;

const table = {
  async list(filter: AllocationFilter, _limit: number, after = '') {
    if (filter.bills === true)
      return rows.filter(({ placement, stream }) => placement?.bills && stream > after);
    if (filter.hasAlerts === true) {
      return rows.filter(({ placement, stream }) => (placement?.alerts ?? 0) > 0 && stream > after);
    }
    lookUps += 1;
    return rows.filter(({ stream }) => stream >= after).slice(0, 1);
  },
  get: async () => null,
  count: async () => 0,
};

let owners: Owners;
beforeEach(() => {
  rows = [rowOf()];
  lookUps = 0;
  owners = new Owners({ allocations: table }, 'test');
});
const visited = async (listings: Readonly<Record<string, Listing | 'failed'>>) =>
  (await owners.toVisit(listings)).streams;

describe('an allocation at rest', () => {
  test('is looked at once, and not again while its machine is the only one and the same', async () => {
    expect(await visited(listed(machine('X1')))).toEqual([STREAM]);
    expect(await visited(listed(machine('X1')))).toEqual([]);
    expect(lookUps).toBe(0);
  });

  test('is looked at again by a new process', async () => {
    await visited(listed(machine('X1')));
    owners = new Owners({ allocations: table }, 'test');
    expect(await visited(listed(machine('X1')))).toEqual([STREAM]);
  });

  test.each([
    { reason: 'a second machine carries its mark', shown: listed(machine('X1'), machine('X2')) },
    { reason: 'another machine than the one of the row does', shown: listed(machine('X2')) },
    {
      reason: 'a machine of nobody appears: it may bear its name',
      shown: listed(machine('X1'), stranger('H1')),
    },
    {
      reason: 'the machine is on another lane',
      shown: { slurm: listed(machine('X1')).gcp ?? 'failed' } as const,
    },
  ])('is looked at when $reason', async ({ shown }) => {
    await visited(listed(machine('X1')));
    expect(await visited(shown)).toEqual([STREAM]);
  });

  test('is left alone again once the machine of nobody is known', async () => {
    await visited(listed(machine('X1'), stranger('H1')));
    expect(await visited(listed(machine('X1'), stranger('H1')))).toEqual([]);
  });

  test.each(['blocked', 'waiting', 'awaiting_consent', 'unchanged'])(
    'is none when its outcome is %s: looked at in every pass',
    async (outcome) => {
      rows = [rowOf({ outcome })];
      await visited(listed(machine('X1')));
      expect(await visited(listed(machine('X1')))).toEqual([STREAM]);
    },
  );
});

describe('a machine', () => {
  test('is found by its name as well as by its marker', async () => {
    const nameless = machine('X2', { name: 'renamed' });
    const unmarked = machine('X3', { marker: { deployment: null, allocation: null, intent: null } });
    expect(await visited(listed(nameless))).toEqual([STREAM]);
    expect(await visited(listed(unmarked))).toEqual([STREAM]);
  });

  test('that no row tells of is found in the table, or else is an orphan', async () => {
    rows = [rowOf({ bills: false, instance: null, lane: null })];
    expect(await visited(listed(machine('X1')))).toEqual([STREAM]);
    rows = [];
    const { streams, orphans } = await owners.toVisit(listed(machine('X1')));
    expect(streams).toEqual([]);
    expect([...orphans]).toEqual([shortRefOf(STREAM)]);
  });

  test('of another deployment is nobody’s business here', async () => {
    const { name, allocation } = markOf('other', STREAM, INTENT);
    const other = machine('X9', { name, marker: { deployment: 'other', allocation, intent: INTENT } });
    expect(await owners.toVisit(listed(other))).toEqual({ streams: [], orphans: new Set() });
  });

  test('of a lane that could not be listed is looked at anew when it can be', async () => {
    await visited(listed(machine('X1')));
    expect(await visited({ gcp: 'failed' })).toEqual([]);
    expect(await visited(listed(machine('X1')))).toEqual([STREAM]);
  });
});

describe('a machine that is listed no more', () => {
  test.each([
    { reason: 'a blocked allocation may still be billed for it', change: { outcome: 'blocked' }, seen: true },
    { reason: 'nobody polls one that is done', change: { outcome: 'done' }, seen: true },
    { reason: 'one that runs is polled', change: { outcome: 'running_on_terminal' }, seen: false },
    { reason: 'nothing bills', change: { outcome: 'blocked', bills: false }, seen: false },
  ])('is looked into: $reason = $seen', async ({ change, seen }) => {
    rows = [rowOf(change)];
    expect(await visited(listed())).toEqual(seen ? [STREAM] : []);
  });

  test('is looked into once where an alert is open', async () => {
    rows = [rowOf({ bills: false, alerts: 1 })];
    await visited(listed(machine('X1')));
    expect(await visited(listed())).toEqual([STREAM]);
    expect(await visited(listed())).toEqual([]);
  });
});
