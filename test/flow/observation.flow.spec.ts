import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PostgresLog } from '#event-log/postgres-log';
import { plusSeconds } from '#events/instant';
import { ObservationReported } from '#events/watch.events';
import { type BusCaller, busCaller } from '#support/bus-caller';
import { badMembersOf, type Reply, textAt } from '#support/calls';
import { capacityFailure, preflightProof } from '#support/failing-attempts';
import { LAUNCH_BODY } from '#support/launch-bodies';
import { openLog } from '#support/open-log';
import {
  appendAsProvisioner,
  instancePlaced,
  stopProvisioner,
  streamOfName,
} from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const BOUND_MS = 60_000;
const BEGUN = '2026-01-05T00:00:00.000Z';
const seconds = (after: number) => plusSeconds(BEGUN, after);

const system = withApps({ nats: 'shared', postgres: 'own' });
let log: PostgresLog;
let bus: BusCaller;

beforeAll(async () => {
  await stopProvisioner(system.apps);
  log = await openLog(system.databaseUrl);
  bus = await busCaller(system.nats);
  await waitUntil('the app takes observations by the bus', BOUND_MS, () =>
    bus.inputConsumer('observation').then(
      () => true,
      () => false,
    ),
  );
});
afterAll(async () => {
  await bus?.close();
  await log?.close();
});

const streamOf = (name: string) => streamOfName(system.ring, name);
const rowsOf = (name: string) => system.log.readStream(streamOf(name), 0, 200);
const typesOf = async (name: string) => (await rowsOf(name)).map(({ type }) => type);
const marksOf = (name: string) => system.log.marks.of(streamOf(name));
const problemOf = (reply: Reply) => [reply.status, at(reply.json, 'type')];

/** A poll of the instance X1, so many seconds after it was placed. */
const pollOf = (name: string, after: number, change: object = {}) => ({
  logical_allocation: name,
  instance: 'X1',
  lane: 'gcp',
  observed_at: seconds(after),
  provider: 'running',
  ...change,
});
const observe = (name: string, after: number, change: object = {}) =>
  system.calls.observation(pollOf(name, after, change));

/** An allocation whose instance X1 was just placed on a queueing rung. */
async function placed(name: string, change: object = {}): Promise<void> {
  const reply = await system.calls.launch({ ...LAUNCH_BODY, logical_allocation: name, ...change });
  expect(reply.status).toBe(202);
  const fact = instancePlaced({ instance: 'X1', rung: 'flex_a', createdAt: BEGUN });
  await appendAsProvisioner(log, streamOf(name), [fact], BEGUN);
}

const ANSWER_MEMBERS = [
  'evidence',
  'failure_class',
  'not_fired',
  'outcome',
  'position',
  'reason',
  'redrivable',
  'rule',
];

describe('an observation', () => {
  test('is recorded and judged, and answered with the judgement', async () => {
    const name = 'team/judged';
    await placed(name);
    const reply = await observe(name, 60, { provider: 'queued', create_operation: 'done' });
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.json as object).toSorted()).toEqual(ANSWER_MEMBERS);
    expect(reply.json).toMatchObject({ outcome: 'unchanged', reason: null, redrivable: false });
    const rows = await rowsOf(name);
    expect(rows.slice(3).map(({ type }) => type)).toEqual(['ObservationReported', 'ObservationJudged']);
    expect(at(reply.json, 'position')).toBe(rows.at(-1)?.pos);
    expect(at(reply.json, 'not_fired')).toContain('queue_timeout:waits_not_long_enough');
  });

  test('that shows a lost queue place moves the run, and says so in every word that people search for', async () => {
    const name = 'team/vanished';
    await placed(name);
    await observe(name, 60, { provider: 'queued', create_operation: 'done' });
    const reply = await observe(name, 120, {
      provider: 'not_found',
      create_operation: 'done',
      delete_operation: 'none',
    });
    expect(reply.json).toMatchObject({
      outcome: 'waiting',
      reason: 'gcp_queue_vanish_failover_runpod',
      evidence: { arm: 'seen', rung: 'flex_a', instance: 'X1', observedAt: seconds(120) },
    });
    const types = (await typesOf(name)).slice(-3);
    expect(types).toEqual(['ObservationJudged', 'QueueLossRecorded', 'FailoverDecided']);
    expect((await system.log.allocations.get(streamOf(name)))?.placement).toMatchObject({
      outcome: 'waiting',
      reason: 'gcp_queue_vanish_failover_runpod',
      needsWorker: true,
    });
    const commands = (await rowsOf(name)).slice(-3).map(({ commandId }) => commandId);
    expect(new Set(commands).size).toBe(1);
  });

  test('that shows the end of the run is done, and a new launch is taken after it', async () => {
    const name = 'team/done';
    await placed(name);
    const reply = await observe(name, 900, { guest: { phase: 'done', workload_started: true } });
    expect(reply.json).toMatchObject({ outcome: 'done', reason: null });
    const again = await system.calls.launch({ ...LAUNCH_BODY, logical_allocation: name });
    expect(again.status).toBe(202);
  });

  test('of a failed create misses the rung; its text is sealed, only its meaning stands in clear', async () => {
    const name = 'team/create-failed';
    await placed(name);
    const message = 'no host for observation-secret-zq in rack 7';
    const reply = await observe(name, 30, {
      provider: 'not_found',
      create_operation: 'failed',
      create_error: { code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message },
    });
    expect(reply.json).toMatchObject({ outcome: 'waiting', reason: null });
    const reported = (await rowsOf(name)).find(({ type }) => type === 'ObservationReported');
    expect(reported?.body).not.toContain('secret');
    const { createError } = ObservationReported.data.parse(JSON.parse(reported?.body ?? '')).observation;
    expect(createError).toMatchObject({ kind: 'capacity', code: 'ZONE_RESOURCE_POOL_EXHAUSTED' });
    const text = await system.sealer.open(streamOf(name), 'failure', createError?.failureDigest ?? '');
    expect(JSON.parse(text ?? '')).toEqual({ code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message });
    expect((await typesOf(name)).slice(-3)).toEqual(['ObservationJudged', 'RungMissed', 'WalkStarted']);
  });

  test.each(['X9', '__proto__', 'constructor'])(
    'of an instance that is not the current one (%s) is unchanged, and records nothing',
    async (instance) => {
      const name = `team/other-${instance}`;
      await placed(name);
      const reply = await observe(name, 60, { instance, provider: 'not_found', create_operation: 'done' });
      expect(reply.json).toMatchObject({ outcome: 'unchanged', rule: '10.5 unknown_instance' });
      expect(await typesOf(name)).toHaveLength(3);
      expect(await marksOf(name)).toEqual([]);
    },
  );
});

describe('an observation that changes nothing', () => {
  const QUIET = { guest: { phase: 'workload', workload_started: true } };

  test('moves the mark instead of adding an event, and is answered at once', async () => {
    const name = 'team/quiet';
    await placed(name);
    await observe(name, 60, QUIET);
    const rows = await rowsOf(name);
    const reply = await observe(name, 120, QUIET);
    expect(reply.json).toMatchObject({ outcome: 'unchanged', position: rows.at(-1)?.pos });
    expect(Object.keys(reply.json as object).toSorted()).toEqual(ANSWER_MEMBERS);
    expect(await rowsOf(name)).toEqual(rows);
    expect(await marksOf(name)).toEqual([{ instance: 'X1', observedAt: seconds(120) }]);
  });

  test('is kept as an event all the same, one of each 10 minutes', async () => {
    const name = 'team/heartbeat';
    await placed(name);
    for (const after of [60, 659, 660, 700, 1_260]) await observe(name, after, QUIET);
    const kept = (await rowsOf(name)).filter(({ type }) => type === 'ObservationReported');
    const times = kept.map(({ body }) => ObservationReported.data.parse(JSON.parse(body)));
    expect(times.map(({ observation }) => observation.observedAt)).toEqual([
      seconds(60),
      seconds(660),
      seconds(1_260),
    ]);
  });

  test('counts as the newest for the rules: an older one fires nothing', async () => {
    const name = 'team/late';
    await placed(name);
    await observe(name, 60, QUIET);
    await observe(name, 300, QUIET);
    const late = await observe(name, 200, {
      provider: 'terminated',
      guest: { phase: 'failed', workload_started: true },
    });
    expect(late.json).toMatchObject({ outcome: 'unchanged', rule: '3.6 late' });
    const newer = await observe(name, 301, {
      provider: 'terminated',
      guest: { phase: 'failed', workload_started: true },
    });
    expect(newer.json).toMatchObject({ reason: 'gcp_workload_failover_runpod_async' });
    const judged = (await rowsOf(name)).findLast(({ type }) => type === 'ObservationJudged');
    expect(JSON.parse(judged?.body ?? '')).toMatchObject({ mark: seconds(300) });
  });

  test('repeats its answer by its id, and is refused with another body', async () => {
    const name = 'team/quiet-id';
    await placed(name);
    await observe(name, 60, QUIET);
    const first = await observe(name, 120, { ...QUIET, message_id: 'quiet-1' });
    const again = await observe(name, 120, { ...QUIET, message_id: 'quiet-1' });
    expect(again.text).toBe(first.text);
    const other = await observe(name, 121, { ...QUIET, message_id: 'quiet-1' });
    expect(problemOf(other)).toEqual([409, 'urn:spillway:problem:id-reused']);
  });
});

describe('the message id', () => {
  test('repeats the first answer by every way and records nothing, at the same time too', async () => {
    const name = 'team/repeat';
    await placed(name);
    const body = pollOf(name, 60, { provider: 'queued' });
    const [byBus, ...replies] = await Promise.all([
      bus.publish('observation', body, 'repeat-1').then(() => bus.answered('repeat-1')),
      ...Array.from({ length: 4 }, () => system.calls.observation(body, { 'idempotency-key': 'repeat-1' })),
    ]);
    const later = await system.calls.observation({ ...body, message_id: 'repeat-1', colour: 'red' });
    for (const reply of [...replies, later]) expect(reply.text).toBe(byBus?.[0]);
    expect((await typesOf(name)).filter((type) => type === 'ObservationReported')).toHaveLength(1);
  });

  test('with another body is 409', async () => {
    const name = 'team/reused';
    await placed(name);
    await observe(name, 60, { message_id: 'reused-1', provider: 'queued' });
    const other = await observe(name, 60, { message_id: 'reused-1', provider: 'running' });
    expect(problemOf(other)).toEqual([409, 'urn:spillway:problem:id-reused']);
  });

  test('of a launch may be that of an observation', async () => {
    const name = 'team/shared-id';
    await placed(name, { message_id: 'shared-1' });
    expect((await observe(name, 60, { message_id: 'shared-1' })).status).toBe(200);
  });
});

describe('refused, and nothing is recorded', () => {
  test('of an allocation that was never launched, whether or not it was reported', async () => {
    expect(problemOf(await observe('team/nobody', 60))).toEqual([409, 'urn:spillway:problem:never-launched']);
    await system.calls.attempt(capacityFailure('team/only-attempts'));
    expect(problemOf(await observe('team/only-attempts', 60))).toEqual([
      409,
      'urn:spillway:problem:never-launched',
    ]);
    expect(await rowsOf('team/nobody')).toEqual([]);
  });

  test('more than 300 s ahead of the clock', async () => {
    const name = 'team/ahead';
    await placed(name);
    const ahead = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
    const refused = await observe(name, 0, { observed_at: ahead(330) });
    expect([refused.status, badMembersOf(refused)]).toEqual([400, ['/observed_at out_of_range']]);
    expect(await typesOf(name)).toHaveLength(3);
    expect((await observe(name, 0, { observed_at: ahead(270) })).status).toBe(200);
  });

  test('all bad members at once, and no value of them', async () => {
    const reply = await observe('team/bad', 60, { provider: 'bad-value-zq', port: 'no', lane: 7 });
    expect(badMembersOf(reply)).toEqual(['/lane wrong_type', '/port wrong_type', '/provider not_allowed']);
    expect(reply.text).not.toContain('bad-value-zq');
  });

  test('by the bus: a problem and one dead letter', async () => {
    const before = await system.log.deadLetters.count();
    await bus.publish('observation', pollOf('team/nobody', 60), 'nobody-1');
    const [answer = ''] = await bus.answered('nobody-1');
    expect(JSON.parse(answer)).toMatchObject({ type: 'urn:spillway:problem:never-launched' });
    expect(await system.log.deadLetters.count()).toBe(before + 1);
  });
});

test('observations at once are judged one after the other, and the run moves once', async () => {
  const name = 'team/at-once';
  await placed(name);
  await observe(name, 60, { provider: 'queued', create_operation: 'done' });
  const gone = { provider: 'not_found', create_operation: 'done', delete_operation: 'none' };
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) => observe(name, 100 + index, gone)),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array(12).fill(200));
  const types = await typesOf(name);
  expect(types.filter((type) => type === 'FailoverDecided')).toHaveLength(1);
  const moved = replies.filter((reply) => at(reply.json, 'outcome') === 'waiting');
  expect(moved).toHaveLength(1);
});

test('attempts and observations of one allocation are decided side by side, each on what it says it saw', async () => {
  const name = 'team/side-by-side';
  await placed(name);
  const phases = ['boot', 'setup', 'workload', 'finalizing'];
  const replies = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      index % 2 === 0
        ? system.calls.attempt(capacityFailure(name, { fingerprint: `f${index}` }))
        : observe(name, 60 + index, { guest: { phase: phases[index % 4], workload_started: null } }),
    ),
  );
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  const last = await system.calls.attempt(capacityFailure(name));
  expect(at(last.json, 'allocation.qualifying_attempts')).toBe(13);
});

test("facts of other apps do not hold up an attempt's decision", async () => {
  const name = 'team/interleaved';
  await system.calls.attempt(capacityFailure(name));
  await placed(name);
  for (let count = 1; count <= 5; count += 1) {
    const fact = { type: 'RungCounted', data: { rung: 'od_a', day: '2026-01-05', count, fence: 1 } } as const;
    await appendAsProvisioner(log, streamOf(name), [fact], seconds(count));
    const reply = await system.calls.attempt(capacityFailure(name));
    expect(at(reply.json, 'allocation.qualifying_attempts')).toBe(count + 1);
  }
});

test('a pool question that is open is not touched by an observation that decides nothing', async () => {
  const name = 'team/pool-open';
  await placed(name);
  const asked = await system.calls.attempt(preflightProof(name));
  expect(at(asked.json, 'needs_confirmation')).toBe(true);
  await observe(name, 60);
  const accept = { logical_allocation: name, accept: true, confirm_token: textAt(asked, 'confirm_token') };
  expect(at((await system.calls.consent(accept)).json, 'allocation.consent')).toBe('accepted');
  expect((await system.log.allocations.get(streamOf(name)))?.placement).toMatchObject({ needsWorker: true });
});

describe('while the classifier is away', () => {
  test('the answer is 202 with a location, which then gives exactly the answer', async () => {
    const name = 'team/waiting';
    await placed(name);
    await system.apps.processes.classifier.stop();
    const body = pollOf(name, 60, { provider: 'queued', message_id: 'waiting-1' });
    const waiting = await system.calls.observation(body);
    expect(waiting.status).toBe(202);
    const location = textAt(waiting, 'location');
    expect(waiting.headers.get('location')).toBe(location);
    expect((await system.calls.get(location)).status).toBe(202);
    // What is not judged yet may change what this one means: it is kept, and judged behind it.
    const second = await observe(name, 90, { provider: 'queued' });
    expect(second.status).toBe(202);
    expect(await marksOf(name)).toEqual([]);

    await system.apps.processes.classifier.start();
    await waitUntil('the first is judged', BOUND_MS, async () => {
      return (await system.calls.get(location)).status === 200;
    });
    const read = await system.calls.get(location);
    expect(read.json).toMatchObject({ outcome: 'unchanged' });
    expect((await system.calls.observation(body)).text).toBe(read.text);
  });
});

test('while the log is away an observation is 503, and is taken by the same id when it is back', async () => {
  const name = 'team/log-away';
  await placed(name);
  await system.ownPostgres.stop();
  const body = pollOf(name, 60, { provider: 'queued', message_id: 'log-away-1' });
  const reply = await system.calls.observation(body);
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
  await system.ownPostgres.restart();
  await waitUntil('the log is back', BOUND_MS, async () => {
    return (await system.calls.observation(body)).status === 200;
  });
  expect((await typesOf(name)).filter((type) => type === 'ObservationReported')).toHaveLength(1);
});
