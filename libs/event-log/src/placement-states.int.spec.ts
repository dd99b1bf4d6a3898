import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandEvent, LogReader } from '#domain/log';
import { NOT_PLACED } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import { BUILT_IN_LIMITS } from '#domain/provision/limits';
import { resolvePlan } from '#domain/provision/plan';
import { CATALOGUE } from '#events/catalogue';
import { allocationStream } from '#events/streams';
import { readEvent } from '#events/upcast';
import type { Verdict } from '#events/watch.events';
import { digestOf, idOf, T0 } from '#support/builders';
import { withPostgres } from '#support/infra';
import { LANES, launchOf } from '#support/launch-bodies';
import { command, fresh } from '#support/log-builders';
import { openLog } from '#support/open-log';
import { PlacementStates, viewAt } from './placement-states.ts';
import type { PostgresLog } from './postgres-log.ts';

const plan = resolvePlan(launchOf(), LANES, BUILT_IN_LIMITS);
const verdict: Verdict = {
  outcome: 'placed_primary',
  reason: null,
  failureClass: null,
  redrivable: false,
  rule: '9.1 placed',
  evidence: {},
  notFired: [],
};

const decision = (event: CommandEvent['event'], causedBy: string | null = null): CommandEvent => ({
  event,
  meta: { causedBy, saw: 0 },
});
const accepted = () =>
  decision(
    CATALOGUE.LaunchAccepted.create({
      launch: idOf('launch'),
      plan,
      requestDigest: null,
      workloadDigest: null,
    }),
  );
const placed = (instance: string) =>
  decision(
    CATALOGUE.InstancePlaced.create({
      instance,
      lane: 'gcp',
      rung: 'od_a',
      intent: null,
      pool: 'on-demand',
      createdAt: T0,
      costPerHourUsd: 1.5,
      verdict,
    }),
  );
const counted = (count: number) =>
  decision(CATALOGUE.RungCounted.create({ rung: 'od_a', day: '2026-11-29', count, fence: 1 }));
const reported = (instance: string, observedAt: string): CommandEvent => ({
  event: CATALOGUE.ObservationReported.create({
    messageIdDigest: null,
    bodyDigest: digestOf('body'),
    reportedBy: 'local',
    observation: {
      instance,
      lane: 'gcp',
      observedAt,
      provider: 'running',
      guest: null,
      alarm: 'none',
      logAgeS: null,
      createOperation: 'unknown',
      createError: null,
      deleteOperation: 'unknown',
      port: null,
    },
  }),
  meta: { causedBy: null, saw: null },
});
const judged = (causedBy: string) =>
  decision(
    CATALOGUE.ObservationJudged.create({
      instance: 'X1',
      observedAt: T0,
      mark: null,
      verdict: { ...verdict, outcome: 'unchanged' },
      facts: null,
    }),
    causedBy,
  );

describe('placements as the log has them', () => {
  const database = withPostgres();
  let log: PostgresLog;
  beforeAll(async () => {
    log = await openLog(database.url);
  });
  afterAll(() => log.close());

  const newStream = () => allocationStream(digestOf(fresh('ref')));
  const append = async (stream: string, ...events: CommandEvent[]) => {
    const [result] = await log.append([command({ stream, events })]);
    expect(result?.outcome).toBe('appended');
  };
  const eventIds = async (stream: string) => (await log.readStream(stream, 0, 100)).map((row) => row.eventId);
  /** The log, counting the rows that are read. */
  const counting = () => {
    const read = { rows: 0, calls: 0 };
    const readStream: LogReader['readStream'] = async (...asked) => {
      const rows = await log.readStream(...asked);
      read.rows += rows.length;
      read.calls += 1;
      return rows;
    };
    return { read, readStream };
  };

  test('a stream that does not exist was never launched', async () => {
    expect(await new PlacementStates(log, 10).get(newStream())).toEqual(NOT_PLACED);
  });

  test('reads only what is new, and is never behind', async () => {
    const stream = newStream();
    const { read, readStream } = counting();
    const states = new PlacementStates({ readStream }, 10);
    await append(stream, accepted(), counted(1));
    expect(Object.values((await states.get(stream)).creates)).toEqual([1]);
    expect(read).toEqual({ rows: 2, calls: 1 });

    await append(stream, placed('X1'));
    expect((await states.get(stream)).current).toBe('X1');
    expect((await states.get(stream)).version).toBe(3);
    expect(read).toEqual({ rows: 3, calls: 3 });

    states.forget(stream);
    expect((await states.get(stream)).current).toBe('X1');
    expect(read.rows).toBe(6);
  });

  test('a stream of more than a page is read to its end', async () => {
    const stream = newStream();
    await append(stream, accepted());
    for (let done = 0; done < 1_200; done += 60) {
      await append(stream, ...Array.from({ length: 60 }, (_, index) => counted(done + index + 1)));
    }
    const { creates } = await new PlacementStates(log, 10).get(stream);
    expect(Object.values(creates)).toEqual([1_200]);
  });

  test('the cache is bounded: what fell out is read again', async () => {
    const { read, readStream } = counting();
    const states = new PlacementStates({ readStream }, 1);
    const [one, other] = [newStream(), newStream()];
    await append(one, accepted());
    await append(other, accepted());
    for (const stream of [one, other, one]) expect((await states.get(stream)).version).toBe(1);
    expect(read.rows).toBe(3);
  });

  test('questions at once all get an answer that is not behind', async () => {
    const stream = newStream();
    const states = new PlacementStates(log, 10);
    await append(stream, accepted());
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        await append(stream, counted(index + 1));
        expect((await states.get(stream)).version).toBeGreaterThanOrEqual(2);
      }),
    );
    expect((await states.get(stream)).version).toBe(9);
  });

  test('knows the newest poll that is kept of each instance, and which nobody has judged', async () => {
    const stream = newStream();
    const states = new PlacementStates(log, 10);
    const later = '2026-11-29T10:05:00.000Z';
    await append(stream, accepted(), reported('X1', later), reported('X1', T0), reported('__proto__', T0));
    const [, first, second, third] = await eventIds(stream);
    const before = await states.view(stream);
    expect([...before.kept.newest]).toEqual([
      ['X1', later],
      ['__proto__', T0],
    ]);
    expect([...before.kept.unjudged]).toEqual([first, second, third]);

    await append(stream, judged(second ?? ''));
    expect([...(await states.view(stream)).kept.unjudged]).toEqual([first, third]);
  });

  test('knows where the latest decision stands, and how things stood at any version', async () => {
    const stream = newStream();
    const states = new PlacementStates(log, 10);
    await append(stream, accepted());
    expect((await states.view(stream)).verdictPos).toBeNull();
    await append(stream, placed('X1'), counted(2));
    await append(stream, placed('X2'), counted(3));
    const rows = await log.readStream(stream, 0, 100);
    const posOf = (version: number) => rows.find((row) => row.streamVersion === version)?.pos;
    expect(await states.view(stream)).toMatchObject({ verdictPos: posOf(4), pos: posOf(5) });

    const then = await viewAt(log, stream, 3);
    expect(then).toMatchObject({ streamVersion: 3, verdictPos: posOf(2), pos: posOf(3) });
    expect(then.placement.current).toBe('X1');
    expect(await viewAt(log, stream, 99)).toEqual(await states.view(stream));
    await append(stream, accepted());
    expect((await states.view(stream)).verdictPos).toBeNull();
  });

  const steps = fc.array(
    fc.oneof(
      fc.constant(accepted()),
      fc.integer({ min: 1, max: 4 }).map(counted),
      fc.constantFrom('X1', 'X2').map(placed),
      fc.constantFrom('X1', 'X2').map((instance) => reported(instance, T0)),
      fc.constant('ask' as const),
      fc.constant('forget' as const),
    ),
    { minLength: 1, maxLength: 25 },
  );

  test('however it was asked in between, it equals the full fold', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        const stream = newStream();
        const states = new PlacementStates(log, 10);
        for (const step of story) {
          if (step === 'ask') await states.get(stream);
          else if (step === 'forget') states.forget(stream);
          else await append(stream, step);
        }
        const rows = await log.readStream(stream, 0, 1_000);
        const full = rows.map(readEvent).reduce(evolveRecordedPlacement, NOT_PLACED);
        expect(await states.get(stream)).toEqual(full);
      }),
      { numRuns: 30, verbose: true },
    );
  });
});
