import { beforeAll, describe, expect, test } from 'vitest';
import { launch, outcomeIs, resultWhere, STAND_IN_LAUNCH } from '#support/failover-calls';
import {
  alertsIn,
  callsOf,
  machinesOf,
  only,
  passesGoBy,
  startsOf,
  storyOf,
  storyWhere,
} from '#support/failover-story';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import type { CloudLane, StepInput } from '../cloud/scripts.ts';

const system = withApps({
  nats: 'shared',
  provisioners: 1,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_RETRY_EVERY_S: '600', SPILLWAY_WATCH_EVERY_S: '600' },
});

const { terminal } = STAND_IN_LAUNCH.plan;
const rung = (id: string) => ({ id, lane: 'gcp', pool: 'on-demand', machine: 'a3-highgpu-1g' });
const FULL = { id: 'full', lane: 'kubernetes', pool: 'batch' };

interface Story {
  readonly name: string;
  readonly location: string;
}

let launches = 0;

beforeAll(async () => {
  // The way to the terminal lane leads over a rung that never has room.
  await system.cloud.client.script('kubernetes', 'create', { answer: 'quota' });
});

const settled = ({ location }: Story, ...outcomes: readonly string[]) =>
  resultWhere(system, location, outcomes.join(' or '), outcomeIs(...outcomes));

/** A launch that reaches the terminal lane, whose creates are answered so. */
async function onTerminal(...answers: readonly StepInput[]): Promise<Story> {
  await system.cloud.client.scriptOnce('runpod', 'create', ...answers);
  return launched([FULL]);
}

/** A launch of two rungs; the creates of the lane are answered so. */
async function onRung(...answers: readonly StepInput[]): Promise<Story> {
  await system.cloud.client.scriptOnce('gcp', 'create', ...answers);
  return launched([rung('od_a'), rung('od_b')]);
}

async function launched(rungs: readonly object[]): Promise<Story> {
  launches += 1;
  const name = `answers/${launches}`;
  return { name, location: await launch(system, name, { plan: { rungs, terminal } }) };
}

/** Begins a story per case, each once the create of the one before was answered: they settle side by side. */
function staged<Case extends { readonly answer: StepInput }>(
  cases: readonly Case[],
  lane: CloudLane,
  begin: (answer: StepInput) => Promise<Story>,
): (one: Case) => Story {
  const stories = new Map<Case, Story>();
  beforeAll(async () => {
    for (const one of cases) {
      const before = await callsOf(system, lane, 'create');
      stories.set(one, await begin(one.answer));
      await waitUntil(
        'the create is sent',
        60_000,
        async () => (await callsOf(system, lane, 'create')) > before,
        50,
      );
    }
  });
  return (one) => {
    const story = stories.get(one);
    if (story === undefined) throw new Error('the story was not begun');
    return story;
  };
}

/** `answer` and, where it is not the usual one, the status. */
const titled = <Case extends { readonly answer: StepInput }>(cases: readonly Case[]) =>
  cases.map((one) => ({ ...one, title: `${one.answer.answer} ${one.answer.status ?? ''}`.trim() }));

const createsSent = async ({ name }: Story, lane: CloudLane) => {
  const story = await storyOf(system, name);
  const ofLane = new Set(
    only(story, 'IntentRecorded').flatMap(({ data }) => (data.lane === lane ? [data.intent] : [])),
  );
  return only(story, 'CreateSending').filter(({ data }) => ofLane.has(data.intent));
};
const numbersSent = async (story: Story, lane: CloudLane) =>
  (await createsSent(story, lane)).map(({ data }) => data.number);

describe('what the terminal lane refuses blocks, under a reason of its own, and nothing is made', () => {
  const cases = titled<{ answer: StepInput; reason: string; kind: string; redrivable?: true }>([
    { answer: { answer: 'capacity' }, reason: 'no_compute_available', kind: 'capacity', redrivable: true },
    { answer: { answer: 'rejected' }, reason: 'terminal_request_rejected', kind: 'rejected' },
    // A 400 that does not speak of missing machines breaks a rule.
    { answer: { answer: 'quota' }, reason: 'terminal_request_rejected', kind: 'rejected' },
    { answer: { answer: 'not_found' }, reason: 'terminal_request_rejected', kind: 'rejected' },
    { answer: { answer: 'balance' }, reason: 'terminal_balance_exhausted', kind: 'balance' },
  ]);
  const storyFor = staged(cases, 'runpod', (answer) => onTerminal(answer));

  test.each(cases)('$title: $reason', async (one) => {
    const story = storyFor(one);
    const { reason, kind, redrivable = false } = one;
    expect(await settled(story, 'blocked')).toMatchObject({ reason, failure_class: 'infra', redrivable });
    const ended = only(await storyOf(system, story.name), 'CreateEnded').at(-1);
    expect(ended?.data).toMatchObject({
      answer: kind,
      failureDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await machinesOf(system, story.name)).toEqual([]);
    expect(await numbersSent(story, 'runpod')).toEqual([1]);
  });
});

describe('where nothing was made the same intent waits for as long as it was told, and goes on', () => {
  test.each(
    titled<{ answer: StepInput; alerts: readonly string[] }>([
      { answer: { answer: 'rate_limited', retryAfterS: 2 }, alerts: [] },
      { answer: { answer: 'auth', retryAfterS: 2 }, alerts: ['lane_auth_failed'] },
      { answer: { answer: 'auth', status: 403, retryAfterS: 2 }, alerts: ['lane_auth_failed'] },
    ]),
  )('$title', async ({ answer, alerts }) => {
    const story = await onTerminal(answer);
    await settled(story, 'running_on_terminal');
    const sent = await createsSent(story, 'runpod');
    expect(sent.map(({ data }) => data.number)).toEqual([1, 2]);
    expect(new Set(sent.map(({ data }) => data.intent)).size).toBe(1);
    const [first, second] = sent.map(({ row }) => Date.parse(row.recordedAt));
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect(alertsIn(await storyOf(system, story.name))).toEqual(alerts);
    expect(await machinesOf(system, story.name)).toEqual([expect.objectContaining({ goneAt: null })]);
  });
});

/** Answers after which nobody knows whether a machine was made. */
const UNKNOWN = titled<{ answer: StepInput }>([
  { answer: { answer: 'hang' } },
  { answer: { answer: 'error' } },
  { answer: { answer: 'unavailable' } },
  { answer: { answer: 'reset' } },
  { answer: { answer: 'html' } },
  { answer: { answer: 'html', status: 404 } },
  { answer: { answer: 'garbage' } },
  { answer: { answer: 'wrong_shape' } },
]);

describe('pitfall 30: an answer that leaves it open, and the machine was made', () => {
  const made = (answer: StepInput): StepInput => ({ ...answer, effect: 'done' });
  const terminalStory = staged(UNKNOWN, 'runpod', (answer) => onTerminal(made(answer)));
  const rungStory = staged(UNKNOWN, 'gcp', (answer) => onRung(made(answer)));

  test.each(UNKNOWN)('$title on the terminal lane: adopted, and never bought twice', async (one) => {
    const story = terminalStory(one);
    await settled(story, 'running_on_terminal');
    const events = await storyOf(system, story.name);
    expect(only(events, 'CreateEnded').at(-1)?.data.answer).toBe('outcome_unknown');
    expect(only(events, 'InstanceAdopted')).toHaveLength(1);
    expect(await numbersSent(story, 'runpod')).toEqual([1]);
    expect(await machinesOf(system, story.name)).toHaveLength(1);
    expect(await startsOf(system, story.name)).toBe(1);
  });

  test.each(UNKNOWN)('$title on a rung: that one machine is the placement', async (one) => {
    const story = rungStory(one);
    expect(await settled(story, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_a' } });
    expect(await machinesOf(system, story.name)).toHaveLength(1);
    expect(only(await storyOf(system, story.name), 'RungCounted')).toHaveLength(1);
    expect(await startsOf(system, story.name)).toBe(1);
  });
});

describe('pitfall 31: an answer that leaves it open, and no machine was made: looked for, then one is', () => {
  // An error of 500 speaks of missing capacity here: see below.
  test.each(UNKNOWN.filter(({ title }) => title !== 'error'))('$title', async ({ answer }) => {
    const [onPod, onMachine] = await Promise.all([onTerminal(answer), onRung(answer)]);
    await settled(onPod, 'running_on_terminal');
    // Without an idempotency key: a new intent of the same chain.
    const [old, fresh] = only(await storyOf(system, onPod.name), 'IntentRecorded').slice(1);
    expect(fresh?.data).toMatchObject({ replaces: old?.data.intent, chain: old?.data.chain });
    expect(await numbersSent(onPod, 'runpod')).toEqual([1, 1]);
    expect((await machinesOf(system, onPod.name)).map(({ mark }) => mark.intent)).toEqual([
      fresh?.data.intent,
    ]);

    // With one: the same request under the same key.
    expect(await settled(onMachine, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_a' } });
    expect(only(await storyOf(system, onMachine.name), 'IntentRecorded')).toHaveLength(1);
    expect(await numbersSent(onMachine, 'gcp')).toEqual([1, 2]);
    expect(await machinesOf(system, onMachine.name)).toHaveLength(1);
  });

  test('what it says of missing capacity counts only once the look found nothing', async () => {
    const [onPod, onMachine] = await Promise.all([
      onTerminal({ answer: 'error' }),
      onRung({ answer: 'error' }),
    ]);
    expect(await settled(onPod, 'blocked')).toMatchObject({ reason: 'no_compute_available' });
    expect(await settled(onMachine, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_b' } });
    const events = await storyOf(system, onPod.name);
    const endedAt = only(events, 'CreateEnded').at(-1)?.row.recordedAt ?? '';
    const closedAt = only(events, 'IntentClosed').at(-1)?.row.recordedAt ?? '';
    // Not before the grace of the lane is over.
    expect(Date.parse(closedAt) - Date.parse(endedAt)).toBeGreaterThanOrEqual(2_000);
    const [missed] = only(await storyOf(system, onMachine.name), 'RungMissed');
    expect(missed?.data.misses).toMatchObject([{ rung: 'od_a', kind: 'capacity' }]);
    expect(await machinesOf(system, onPod.name)).toEqual([]);
    expect(await machinesOf(system, onMachine.name)).toHaveLength(1);
  });

  test('pitfall 29: a machine that appears after the call has ended is found before a second create', async () => {
    const story = await onTerminal({ answer: 'hang', effect: 'late', afterS: 5.5 });
    await settled(story, 'running_on_terminal');
    expect(await numbersSent(story, 'runpod')).toEqual([1]);
    expect(await machinesOf(system, story.name)).toHaveLength(1);
  });

  test('three times in a chain: somebody is told, and the fourth create has to wait', async () => {
    const lost: StepInput = { answer: 'reset' };
    const story = await onTerminal(lost, lost, lost);
    await storyWhere(system, story.name, 'somebody is told', (events) =>
      alertsIn(events).includes('create_unknown_repeated'),
    );
    await passesGoBy(system);
    expect(await numbersSent(story, 'runpod')).toEqual([1, 1, 1]);
    expect(await machinesOf(system, story.name)).toEqual([]);
  });
});

describe('what a rung definitely refuses is a miss of that rung, and the next one is asked', () => {
  const cases = titled<{ answer: StepInput; kind: string; alerts: readonly string[] }>([
    { answer: { answer: 'capacity' }, kind: 'capacity', alerts: [] },
    { answer: { answer: 'quota' }, kind: 'quota', alerts: [] },
    { answer: { answer: 'rejected' }, kind: 'rejected', alerts: ['lane_unavailable'] },
    { answer: { answer: 'rejected', status: 422 }, kind: 'rejected', alerts: ['lane_unavailable'] },
    {
      answer: { answer: 'status', status: 402, body: { error: { code: 402, message: 'No funds' } } },
      kind: 'balance',
      alerts: ['lane_unavailable'],
    },
    { answer: { answer: 'not_found' }, kind: 'rejected', alerts: ['lane_unavailable'] },
    { answer: { answer: 'auth' }, kind: 'auth', alerts: ['lane_auth_failed'] },
    { answer: { answer: 'auth', status: 403 }, kind: 'auth', alerts: ['lane_auth_failed'] },
  ]);

  test.each(cases)('$title: $kind', async ({ answer, kind, alerts }) => {
    const story = await onRung(answer);
    expect(await settled(story, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_b' } });
    const events = await storyOf(system, story.name);
    const misses = only(events, 'RungMissed').flatMap(({ data }) => data.misses);
    expect(misses).toMatchObject([{ rung: 'od_a', kind }]);
    expect(alertsIn(events)).toEqual(alerts);
    expect(only(events, 'RungCounted').map(({ data }) => data.count)).toEqual([1, 2]);
    expect(await machinesOf(system, story.name)).toHaveLength(1);
  });

  test('too many requests is no miss: the same intent waits and goes on', async () => {
    const story = await onRung({ answer: 'rate_limited', status: 429, retryAfterS: 1 });
    expect(await settled(story, 'placed_primary')).toMatchObject({ evidence: { rung: 'od_a' } });
    const events = await storyOf(system, story.name);
    expect(only(events, 'IntentRecorded')).toHaveLength(1);
    expect(await numbersSent(story, 'gcp')).toEqual([1, 2]);
    expect(only(events, 'RungCounted')).toHaveLength(1);
  });
});
