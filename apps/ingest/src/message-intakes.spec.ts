import { describe, expect, test } from 'vitest';
import { type KeyRing, keyRing, type RingKeyMaterial } from '#domain/key-ring';
import { BUILT_IN_LIMITS } from '#domain/provision/limits';
import { observationBody, observationOf } from '#domain/watch/observation-body';
import { StreamFinder } from '#event-log/find-stream';
import { InMemoryLog } from '#event-log/in-memory-log';
import { PlacementStates } from '#event-log/placement-states';
import { instantMs } from '#events/instant';
import { ObservationReported } from '#events/watch.events';
import { ManualClock } from '#platform/clock';
import { Sealer } from '#platform/sealer';
import { digestOf, T0 } from '#support/builders';
import { LANES, launchOf, OBSERVATION_BODY } from '#support/launch-bodies';
import { command } from '#support/log-builders';
import { LaunchIntake } from './launch-intake.ts';
import { ObservationIntake } from './observation-intake.ts';

const OLD: RingKeyMaterial = { id: 'k1', bytes: new Uint8Array(32).fill(1) };
const NEW: RingKeyMaterial = { id: 'k2', bytes: new Uint8Array(32).fill(2) };
const WRAP = [{ id: 'w1', bytes: new Uint8Array(32).fill(3) }];
const named = (id: string) => ({ kind: 'caller', id }) as const;

/** A poll that was recorded and is not judged yet. */
const keptObservation = (stream: string) => {
  const observation = observationOf(observationBody(T0).parse(OBSERVATION_BODY), null);
  const event = ObservationReported.create({
    messageIdDigest: null,
    bodyDigest: digestOf('body'),
    reportedBy: 'local',
    observation,
  });
  return command({ stream, events: [{ event, meta: { causedBy: null, saw: null } }] });
};

function logWith() {
  const log = new InMemoryLog({ logId: 'log', now: () => instantMs(T0) });
  /** The intakes of a process that was started with these keys. */
  const startedWith = (...keys: readonly RingKeyMaterial[]) => {
    const ring: KeyRing = keyRing(keys);
    const shared = {
      ring,
      streams: new StreamFinder(ring, log),
      placements: new PlacementStates(log, 10),
      log,
      sealer: new Sealer({ store: log.sealed, wrapKeys: WRAP }),
      clock: new ManualClock(T0),
    };
    const launches = new LaunchIntake({ ...shared, lanes: LANES, limits: BUILT_IN_LIMITS });
    const observations = new ObservationIntake({ ...shared, failureRetentionS: 60 });
    return {
      launch: (id: string, change: object = {}) => launches.take(launchOf(change), named(id), 'local'),
      observe: (id: string, change: object = {}) =>
        observations.take(observationBody(T0).parse({ ...OBSERVATION_BODY, ...change }), named(id), 'local'),
    };
  };
  const streams = async () => new Set((await log.readAfter(0, 100)).map(({ stream }) => stream));
  return { log, startedWith, streams };
}

describe('after a rotation of the key', () => {
  test('a launch is repeated by its id, and refused with another body', async () => {
    const { startedWith } = logWith();
    const first = await startedWith(OLD).launch('m1');
    const rotated = startedWith(NEW, OLD);
    expect(first.kind).toBe('taken');
    expect(await rotated.launch('m1')).toEqual(first);
    expect(await rotated.launch('m1', { failover: 'ask' })).toEqual({ kind: 'refused', why: 'id_reused' });
  });

  test('the allocation is still known: another launch meets the one that waits', async () => {
    const { startedWith, streams } = logWith();
    await startedWith(OLD).launch('m1');
    const rotated = startedWith(NEW, OLD);
    expect(await rotated.launch('m2')).toEqual({ kind: 'refused', why: 'launch_in_progress' });
    expect(await rotated.observe('o1', { provider: 'queued' })).toMatchObject({ kind: 'unchanged' });
    expect((await streams()).size).toBe(1);
  });

  test('an observation is repeated by its id, and refused with another body', async () => {
    const { log, startedWith } = logWith();
    const before = startedWith(OLD);
    const launched = await before.launch('m1');
    if (launched.kind !== 'taken') throw new Error('the launch is refused');
    // Something that nobody has judged is kept, whatever the next ones say.
    const [row] = await log.readAfter(0, 1);
    await log.append([keptObservation(row?.stream ?? '')]);
    const first = await before.observe('o1');
    expect(first.kind).toBe('recorded');

    const rotated = startedWith(NEW, OLD);
    expect(await rotated.observe('o1')).toEqual({ ...first, kind: 'repeat' });
    expect(await rotated.observe('o1', { provider: 'queued' })).toEqual({
      kind: 'refused',
      why: 'id_reused',
    });
  });
});

test('a launch that was refused leaves nothing behind, and its id may be used again', async () => {
  const { log, startedWith } = logWith();
  const { launch } = startedWith(OLD);
  await launch('m1');
  const { pos } = await log.head();
  await launch('m2');
  expect((await log.head()).pos).toBe(pos);
  expect((await launch('m2', { logical_allocation: 'team/other' })).kind).toBe('taken');
});

test('an observation of an allocation that was never launched records nothing', async () => {
  const { log, startedWith } = logWith();
  expect(await startedWith(OLD).observe('o1')).toEqual({ kind: 'refused', why: 'never_launched' });
  expect((await log.head()).pos).toBe(0);
});
