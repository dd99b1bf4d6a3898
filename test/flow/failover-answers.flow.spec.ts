import { describe, expect, test } from 'vitest';
import { launch, outcomeIs, resultWhere, STAND_IN_LAUNCH } from '#support/failover-calls';
import {
  alertsIn,
  machinesOf,
  only,
  passesGoBy,
  startsOf,
  storyOf,
  storyWhere,
} from '#support/failover-story';
import { withApps } from '#support/running-apps';
import type { StepInput } from '../cloud/scripts.ts';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({
  nats: 'shared',
  provisioners: 1,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_RETRY_EVERY_S: '600', SPILLWAY_WATCH_EVERY_S: '600' },
});

const { terminal } = STAND_IN_LAUNCH.plan;
const rung = (id: string) => ({ id, lane: 'gcp', pool: 'on-demand', machine: 'a3-highgpu-1g' });
const CAPACITY: StepInput = { answer: 'capacity' };

let launches = 0;
const fresh = () => `answers/${++launches}`;
const settled = (location: string, ...outcomes: readonly string[]) =>
  resultWhere(system, location, outcomes.join(' or '), outcomeIs(...outcomes));

/** A launch whose one rung has no room, so that the terminal lane is asked. */
async function onTerminal(...answers: readonly StepInput[]) {
  const name = fresh();
  await system.cloud.client.scriptOnce('gcp', 'create', CAPACITY);
  await system.cloud.client.scriptOnce('runpod', 'create', ...answers);
  return { name, location: await launch(system, name, { plan: { rungs: [rung('od_a')], terminal } }) };
}

/** A launch of two rungs, the first of which is answered so. */
async function onRung(...answers: readonly StepInput[]) {
  const name = fresh();
  await system.cloud.client.scriptOnce('gcp', 'create', ...answers);
  const plan = { rungs: [rung('od_a'), rung('od_b')], terminal };
  return { name, location: await launch(system, name, { plan }) };
}

const living = async (name: string) =>
  (await machinesOf(system, name)).filter(({ goneAt }) => goneAt === null).map(({ lane }) => lane);
const createsAnnounced = async (name: string) =>
  only(await storyOf(system, name), 'CreateSending').map(({ data }) => data.number);

describe('what the terminal lane refuses blocks, under a reason of its own, and nothing is made', () => {
  test.each<{ answer: StepInput; reason: string; kind: string; redrivable: boolean }>([
    { answer: CAPACITY, reason: 'no_compute_available', kind: 'capacity', redrivable: true },
    {
      answer: { answer: 'rejected' },
      reason: 'terminal_request_rejected',
      kind: 'rejected',
      redrivable: false,
    },
    // A 400 that says nothing of missing machines breaks a rule.
    { answer: { answer: 'quota' }, reason: 'terminal_request_rejected', kind: 'rejected', redrivable: false },
    {
      answer: { answer: 'not_found' },
      reason: 'terminal_request_rejected',
      kind: 'rejected',
      redrivable: false,
    },
    {
      answer: { answer: 'balance' },
      reason: 'terminal_balance_exhausted',
      kind: 'balance',
      redrivable: false,
    },
  ])('$answer.answer: $reason', async ({ answer, reason, kind, redrivable }) => {
    const { name, location } = await onTerminal(answer);
    expect(await settled(location, 'blocked')).toMatchObject({ reason, failure_class: 'infra', redrivable });
    const ended = only(await storyOf(system, name), 'CreateEnded').at(-1);
    expect(ended?.data).toMatchObject({
      answer: kind,
      failureDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await machinesOf(system, name)).toEqual([]);
    expect(await createsAnnounced(name)).toEqual([1, 1]);
  });
});

describe('where nothing was made the same intent waits, and goes on', () => {
  test.each<{ answer: StepInput; alerts: readonly string[] }>([
    { answer: { answer: 'rate_limited', retryAfterS: 2 }, alerts: [] },
    { answer: { answer: 'auth', retryAfterS: 2 }, alerts: ['lane_auth_failed'] },
    { answer: { answer: 'auth', status: 403, retryAfterS: 2 }, alerts: ['lane_auth_failed'] },
  ])('$answer.answer $answer.status: for Retry-After, then once more', async ({ answer, alerts }) => {
    const { name, location } = await onTerminal(answer);
    await settled(location, 'running_on_terminal');
    const story = await storyOf(system, name);
    const sent = only(story, 'CreateSending').slice(1);
    expect(sent.map(({ data }) => data.number)).toEqual([1, 2]);
    expect(new Set(sent.map(({ data }) => data.intent)).size).toBe(1);
    const [first, second] = sent.map(({ row }) => Date.parse(row.recordedAt));
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect(alertsIn(story)).toEqual(alerts);
    expect(await living(name)).toEqual(['runpod']);
  });
});

/** Answers after which nobody knows whether a machine was made. */
const UNKNOWN: readonly StepInput[] = [
  { answer: 'error' },
  { answer: 'unavailable' },
  { answer: 'hang' },
  { answer: 'reset' },
  { answer: 'html' },
  { answer: 'html', status: 404 },
  { answer: 'garbage' },
  { answer: 'wrong_shape' },
];
const titled = UNKNOWN.map((answer) => ({ title: `${answer.answer} ${answer.status ?? ''}`.trim(), answer }));

describe('an answer of the terminal lane that leaves open whether a machine was made', () => {
  test.each(titled)('pitfall 30: $title, and it was: adopted, and never bought twice', async ({ answer }) => {
    const { name, location } = await onTerminal({ ...answer, effect: 'done' });
    await settled(location, 'running_on_terminal');
    const story = await storyOf(system, name);
    expect(only(story, 'CreateEnded').at(-1)?.data.answer).toBe('outcome_unknown');
    expect(only(story, 'InstanceAdopted')).toHaveLength(1);
    expect(await createsAnnounced(name)).toEqual([1, 1]);
    expect(await machinesOf(system, name, 'runpod')).toHaveLength(1);
    expect(await startsOf(system, name)).toBe(1);
  });

  test.each(titled.filter(({ answer }) => !['error', 'html'].includes(answer.answer ?? '')))(
    'pitfall 31: $title, and it was not: a new intent after the look, and one machine',
    async ({ answer }) => {
      const { name, location } = await onTerminal(answer);
      await settled(location, 'running_on_terminal');
      const intents = only(await storyOf(system, name), 'IntentRecorded').map(({ data }) => data);
      expect(intents).toHaveLength(3);
      expect(intents[2]).toMatchObject({ replaces: intents[1]?.intent, chain: intents[1]?.chain });
      expect(await machinesOf(system, name, 'runpod')).toEqual([
        expect.objectContaining({ mark: expect.objectContaining({ intent: intents[2]?.intent }) }),
      ]);
    },
  );

  test('that speaks of missing capacity counts as capacity only once the look found nothing', async () => {
    const { name, location } = await onTerminal({ answer: 'error' });
    expect(await settled(location, 'blocked')).toMatchObject({ reason: 'no_compute_available' });
    const story = await storyOf(system, name);
    const [ended, closed] = [
      only(story, 'CreateEnded').at(-1)?.row.recordedAt,
      only(story, 'IntentClosed').at(-1)?.row.recordedAt,
    ];
    // Not before the lane's grace is over.
    expect(Date.parse(closed ?? '') - Date.parse(ended ?? '')).toBeGreaterThanOrEqual(2_000);
    expect(await machinesOf(system, name)).toEqual([]);
  });

  test('pitfall 29: a machine that appears long after the call is found before a second create', async () => {
    const { name, location } = await onTerminal({ answer: 'hang', effect: 'late', afterS: 5.5 });
    await settled(location, 'running_on_terminal');
    expect(await createsAnnounced(name)).toEqual([1, 1]);
    expect(await machinesOf(system, name, 'runpod')).toHaveLength(1);
  });

  test('three times in a chain: somebody is told, and the fourth create has to wait', async () => {
    const lost: StepInput = { answer: 'reset' };
    const { name } = await onTerminal(lost, lost, lost);
    await storyWhere(system, name, 'somebody is told', (story) =>
      alertsIn(story).includes('create_unknown_repeated'),
    );
    await passesGoBy(system);
    expect(await createsAnnounced(name)).toEqual([1, 1, 1, 1]);
    expect(await machinesOf(system, name)).toEqual([]);
  });
});

describe('what a rung definitely refuses is a miss of that rung, and the next one is asked', () => {
  test.each<{ answer: StepInput; kind: string; alerts: readonly string[] }>([
    { answer: CAPACITY, kind: 'capacity', alerts: [] },
    { answer: { answer: 'quota' }, kind: 'quota', alerts: [] },
    { answer: { answer: 'rejected' }, kind: 'rejected', alerts: ['lane_unavailable'] },
    { answer: { answer: 'rejected', status: 422 }, kind: 'rejected', alerts: ['lane_unavailable'] },
    { answer: { answer: 'rejected', status: 402 }, kind: 'balance', alerts: ['lane_unavailable'] },
    { answer: { answer: 'not_found' }, kind: 'rejected', alerts: ['lane_unavailable'] },
    { answer: { answer: 'auth' }, kind: 'auth', alerts: ['lane_auth_failed'] },
    { answer: { answer: 'auth', status: 403 }, kind: 'auth', alerts: ['lane_auth_failed'] },
  ])('$answer.answer $answer.status: $kind', async ({ answer, kind, alerts }) => {
    const { name, location } = await onRung(answer);
    expect(await settled(location, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_b' } });
    const story = await storyOf(system, name);
    expect(
      only(story, 'RungMissed').map(({ data }) => data.misses.map((miss) => [miss.rung, miss.kind])),
    ).toEqual([[['od_a', kind]]]);
    expect(alertsIn(story)).toEqual(alerts);
    expect(only(story, 'RungCounted').map(({ data }) => data.count)).toEqual([1, 2]);
    expect(await living(name)).toEqual(['gcp']);
  });

  test('too many requests is no miss: the same intent waits and goes on', async () => {
    const { name, location } = await onRung({ answer: 'rate_limited', status: 429, retryAfterS: 1 });
    expect(await settled(location, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_a' } });
    const story = await storyOf(system, name);
    expect(only(story, 'IntentRecorded')).toHaveLength(1);
    expect(await createsAnnounced(name)).toEqual([1, 2]);
    expect(only(story, 'RungCounted')).toHaveLength(1);
  });
});

describe('an answer of a rung that leaves open whether a machine was made', () => {
  test.each(titled.filter(({ title }) => title !== 'html 404'))(
    'pitfall 30: $title, and it was: that one machine is the placement',
    async ({ answer }) => {
      const { name, location } = await onRung({ ...answer, effect: 'done' });
      expect(await settled(location, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_a' } });
      expect(await machinesOf(system, name)).toHaveLength(1);
      expect(only(await storyOf(system, name), 'RungCounted')).toHaveLength(1);
      expect(await startsOf(system, name)).toBe(1);
    },
  );

  test.each(titled.filter(({ title }) => !['html 404', 'error'].includes(title)))(
    'pitfall 31: $title, and it was not: the same request under the same key, and one machine',
    async ({ answer }) => {
      const { name, location } = await onRung(answer);
      expect(await settled(location, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_a' } });
      expect(only(await storyOf(system, name), 'IntentRecorded')).toHaveLength(1);
      expect(await createsAnnounced(name)).toEqual([1, 2]);
      expect(await machinesOf(system, name)).toHaveLength(1);
    },
  );

  test('that speaks of missing capacity is a miss once the look found nothing', async () => {
    const { name, location } = await onRung({ answer: 'error' });
    const result = await settled(location, 'placed_primary');
    expect(at(result, 'evidence.rung')).toBe('od_b');
    expect(only(await storyOf(system, name), 'RungMissed')[0]?.data.misses).toMatchObject([
      { kind: 'capacity' },
    ]);
    expect(await machinesOf(system, name)).toHaveLength(1);
  });
});
