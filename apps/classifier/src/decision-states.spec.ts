import { expect, test } from 'vitest';
import type { CommandEvent } from '#domain/log';
import { createsToday, utcDay } from '#domain/placement';
import type { PlacementEvent } from '#domain/placement-event';
import { AllocationStates } from '#event-log/allocation-states';
import { InMemoryLog } from '#event-log/in-memory-log';
import { PlacementStates } from '#event-log/placement-states';
import { CATALOGUE } from '#events/catalogue';
import { instantMs } from '#events/instant';
import { allocationStream } from '#events/streams';
import { LostPlace } from '#messaging/handler-failure';
import { digestOf, idOf, T0 } from '#support/builders';
import { command } from '#support/log-builders';
import { DecisionStates } from './decision-states.ts';

const STREAM = allocationStream(digestOf('ref'));
const CACHED_MAX = 10;
const counted = (count: number) => ({ rung: 'od_a', day: '2026-11-29', count, fence: 1 });
const fact = (count: number): CommandEvent => ({
  event: CATALOGUE.RungCounted.create(counted(count)),
  meta: { causedBy: null, saw: 0 },
});
/** A decision of this process that is not appended yet. */
const decision = (count: number): PlacementEvent => ({
  type: 'RungCounted',
  data: counted(count),
  eventId: idOf(`decision ${count}`),
  at: T0,
});

function fresh() {
  const log = new InMemoryLog({ logId: 'log', now: () => instantMs(T0) });
  const states = new DecisionStates(
    new AllocationStates(log, CACHED_MAX),
    new PlacementStates(log, CACHED_MAX),
  );
  const append = (...events: CommandEvent[]) => log.append([command({ stream: STREAM, events })]);
  /** What the tail of the process brings, up to the newest row. */
  const tail = async () => {
    for (const row of await log.readStream(STREAM, 0, 100)) states.observe(row);
  };
  const seen = async () => {
    const { record, placement } = await states.standing(STREAM);
    return {
      version: record.version,
      placement: placement.version,
      creates: createsToday(placement, utcDay(T0)),
    };
  };
  const decide = async (count: number) => {
    const { record } = await states.standing(STREAM);
    const after = { ...record, version: record.version + 1 };
    states.decided(STREAM, after, [decision(count)], states.generation);
  };
  return { log, states, append, tail, seen, decide };
}

test('a stream that does not exist stands at its beginning', async () => {
  expect(await fresh().seen()).toEqual({ version: 0, placement: 0, creates: 0 });
});

test('record and placement stand at one version, whatever the tail has brought', async () => {
  const { append, seen, tail } = fresh();
  await append(fact(1));
  expect(await seen()).toEqual({ version: 1, placement: 1, creates: 1 });
  await append(fact(2), fact(3));
  expect(await seen()).toEqual({ version: 3, placement: 3, creates: 3 });
  await tail();
  expect(await seen()).toEqual({ version: 3, placement: 3, creates: 3 });
});

test('facts that nobody handles count for the record: its version is never behind the tail', async () => {
  const { append, states, tail } = fresh();
  await append(fact(1));
  expect((await states.record(STREAM)).version).toBe(1);
  await append(fact(2));
  await tail();
  expect((await states.record(STREAM)).version).toBe(2);
});

test('the next decision of a batch sees the ones before it, which nobody has appended yet', async () => {
  const { append, seen, decide } = fresh();
  await append(fact(1));
  await decide(2);
  expect(await seen()).toEqual({ version: 2, placement: 2, creates: 2 });
  await decide(3);
  expect(await seen()).toEqual({ version: 3, placement: 3, creates: 3 });
});

test('once appended they are read from the log, and not counted twice', async () => {
  const { append, seen, decide, tail } = fresh();
  await decide(1);
  await append(fact(1));
  expect(await seen()).toEqual({ version: 1, placement: 1, creates: 1 });
  await tail();
  await append(fact(2));
  expect(await seen()).toEqual({ version: 2, placement: 2, creates: 2 });
});

test('a record that was lost before its decision was appended is no state to decide on', async () => {
  const { append, states, seen, decide } = fresh();
  await append(fact(1));
  await decide(2);
  for (let other = 0; other < CACHED_MAX; other += 1) {
    await states.record(allocationStream(digestOf(`other ${other}`)));
  }
  await expect(states.standing(STREAM)).rejects.toThrow(LostPlace);
  states.forget(STREAM);
  expect(await seen()).toEqual({ version: 1, placement: 1, creates: 1 });
});

test('what a call decided that was given up meanwhile is not held', async () => {
  const { append, states, seen } = fresh();
  await append(fact(1));
  const { generation } = states;
  const { record } = await states.standing(STREAM);
  states.forget(STREAM);
  states.decided(STREAM, { ...record, version: 2 }, [decision(9)], generation);
  expect(await seen()).toEqual({ version: 1, placement: 1, creates: 1 });
});
