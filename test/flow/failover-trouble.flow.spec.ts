import { beforeAll, describe, expect, test } from 'vitest';
import { launch, observe, outcomeIs, resultWhere, STAND_IN_LAUNCH } from '#support/failover-calls';
import {
  alertsIn,
  happens,
  machinesOf,
  only,
  passesGoBy,
  placed,
  secondsAhead,
  startsOf,
  storyOf,
  storyWhere,
} from '#support/failover-story';
import { openLog } from '#support/open-log';
import { streamOfName } from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { eraseAllocation } from '../../tools/spillway/erase-allocation.ts';
import type { StepInput } from '../cloud/scripts.ts';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({
  nats: 'shared',
  provisioners: 1,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_RETRY_EVERY_S: '600', SPILLWAY_WATCH_EVERY_S: '600' },
});

const { terminal } = STAND_IN_LAUNCH.plan;
const FULL = { id: 'full', lane: 'kubernetes', pool: 'batch' };
const ON_DEMAND = { id: 'od_a', lane: 'gcp', pool: 'on-demand', machine: 'a3-highgpu-1g' };

interface Story {
  readonly name: string;
  readonly location: string;
}

let launches = 0;

beforeAll(async () => {
  // The way to the terminal lane leads over a rung that never has room.
  await system.cloud.client.script('kubernetes', 'create', { answer: 'quota' });
});

/** A launch that goes straight to the terminal lane. */
async function onTerminal(): Promise<Story> {
  launches += 1;
  const name = `trouble/${launches}`;
  return { name, location: await launch(system, name, { plan: { rungs: [FULL], terminal } }) };
}

const settled = ({ location }: Pick<Story, 'location'>, ...outcomes: readonly string[]) =>
  resultWhere(system, location, outcomes.join(' or '), outcomeIs(...outcomes));
const podsOf = ({ name }: Story) => machinesOf(system, name, 'runpod');
const eventsOf = ({ name }: Story) => storyOf(system, name);
const untilEvent = ({ name }: Story, type: string) =>
  storyWhere(system, name, type, (events) => events.some((event) => event.type === type));

/** Reads that say nothing of what exists. */
const UNREADABLE: readonly StepInput[] = [
  { answer: 'error' },
  { answer: 'unavailable' },
  { answer: 'html' },
  { answer: 'html', status: 404 },
  { answer: 'garbage' },
  { answer: 'wrong_shape' },
  { answer: 'partial' },
  { answer: 'auth' },
  { answer: 'rate_limited' },
  { answer: 'reset' },
];
const titled = (steps: readonly StepInput[]) =>
  steps.map((step) => ({ step, title: `${step.answer} ${step.status ?? ''}`.trim() }));

describe('a listing', () => {
  test('that fails or is partial, whatever the way, proves nothing: nothing is made and nothing ended', async () => {
    await system.cloud.client.script('runpod', 'list', ...UNREADABLE);
    await system.cloud.client.scriptOnce('runpod', 'create', { answer: 'reset', effect: 'done' });
    const story = await onTerminal();
    await untilEvent(story, 'CreateEnded');
    await passesGoBy(system, UNREADABLE.length);
    expect(await podsOf(story)).toEqual([expect.objectContaining({ goneAt: null })]);
    expect(only(await eventsOf(story), 'CreateSending')).toHaveLength(2);
    expect(await settled(story, 'waiting')).toMatchObject({ reason: 'auto_fallback_runpod' });
    await system.cloud.client.script('runpod', 'list');
    await settled(story, 'running_on_terminal');
    expect(await podsOf(story)).toHaveLength(1);
  });

  test('that lags is waited for: the machine is found within the grace that the lane declares', async () => {
    await system.cloud.client.behave({ lane: 'runpod', listLagS: 1.5 });
    await system.cloud.client.scriptOnce('runpod', 'create', { answer: 'reset', effect: 'done' });
    const story = await onTerminal();
    await settled(story, 'running_on_terminal');
    await system.cloud.client.behave({ lane: 'runpod', listLagS: 0 });
    expect(only(await eventsOf(story), 'InstanceAdopted')).toHaveLength(1);
    expect(await podsOf(story)).toHaveLength(1);
  });

  test('pitfall 29: that lags longer than declared costs a machine for a while, and a pass ends the idle one', async () => {
    await system.cloud.client.behave({ lane: 'runpod', listLagS: 6 });
    await system.cloud.client.scriptOnce('runpod', 'create', { answer: 'reset', effect: 'done' });
    const story = await onTerminal();
    const result = await settled(story, 'running_on_terminal');
    await system.cloud.client.behave({ lane: 'runpod', listLagS: 0 });
    await untilEvent(story, 'ResidueReaped');
    const living = (await podsOf(story)).filter(({ goneAt }) => goneAt === null);
    expect(living.map(({ id }) => id)).toEqual([at(result, 'instance.id')]);
    expect(await startsOf(system, story.name)).toBe(1);
  });
});

describe('a bootstrap', () => {
  test('that fails once: the pod is ended before the next one is made, in the same attempt', async () => {
    await system.cloud.client.scriptOnce('runpod', 'agent_bootstrap', { answer: 'rejected' });
    const story = await onTerminal();
    await settled(story, 'running_on_terminal');
    const [first, second] = await podsOf(story);
    expect(Date.parse(first?.goneAt ?? '')).toBeLessThanOrEqual(Date.parse(second?.createdAt ?? ''));
    const intents = only(await eventsOf(story), 'IntentRecorded').slice(1);
    expect(new Set(intents.map(({ data }) => data.chain)).size).toBe(1);
    expect(intents.map(({ data }) => data.reaps)).toEqual([0, 1]);
  });

  test('that takes its time is waited for, also when the agent does not answer at first', async () => {
    await system.cloud.client.behave({ lane: 'runpod', bootstrapS: 3 });
    await system.cloud.client.scriptOnce('runpod', 'agent_bootstrap', { answer: 'error', effect: 'done' });
    const story = await onTerminal();
    await settled(story, 'running_on_terminal');
    await system.cloud.client.behave({ lane: 'runpod', bootstrapS: 0 });
    expect(await podsOf(story)).toHaveLength(1);
    expect(only(await eventsOf(story), 'BootstrapBegun')).toHaveLength(1);
  });

  test('that fails on a pod which somebody marked to be kept ends nothing and makes nothing', async () => {
    await system.cloud.client.behave({ lane: 'runpod', bootstrapS: 3, bootstrapEndsIn: 'failed' });
    const story = await onTerminal();
    await untilEvent(story, 'BootstrapBegun');
    const [pod] = await podsOf(story);
    await system.cloud.client.change(pod?.id ?? '', { locked: true });
    await storyWhere(system, story.name, 'the keep mark is told', (events) =>
      alertsIn(events).includes('keep_mark_blocks'),
    );
    await system.cloud.client.behave({ lane: 'runpod', bootstrapS: 0, bootstrapEndsIn: 'complete' });
    await passesGoBy(system);
    expect(await podsOf(story)).toEqual([expect.objectContaining({ id: pod?.id, goneAt: null })]);
    expect(only(await eventsOf(story), 'ReapAnnounced')).toEqual([]);
    expect(await settled(story, 'waiting')).toMatchObject({ failure_class: null });
  });
});

/** Ends that a provider did not make. */
const NOT_ENDED: readonly StepInput[] = [
  { answer: 'error' },
  { answer: 'unavailable' },
  { answer: 'html', status: 404 },
  { answer: 'reset' },
  { answer: 'auth' },
  { answer: 'rate_limited' },
];

describe('a terminate of residue', () => {
  async function afterBadEnd(end: StepInput): Promise<Story> {
    await system.cloud.client.scriptOnce('runpod', 'agent_bootstrap', { answer: 'rejected' });
    await system.cloud.client.scriptOnce('runpod', 'terminate', end);
    return onTerminal();
  }

  test.each([
    ...titled(NOT_ENDED),
    { title: 'not_found inside the grace', step: { answer: 'not_found' } as const },
    { title: 'hang', step: { answer: 'hang' } as const },
  ])(
    'pitfall 34: $title has ended nothing: told, tried again, and nothing is made before it',
    async ({ step }) => {
      const story = await afterBadEnd(step);
      await settled(story, 'running_on_terminal');
      const events = await eventsOf(story);
      expect(only(events, 'ReapFailed')).toHaveLength(1);
      expect(only(events, 'ReapAnnounced').map(({ data }) => data.number)).toEqual([1, 2]);
      expect(alertsIn(events)).toContain('residue_unresolved');
      const [first, second] = await podsOf(story);
      expect(Date.parse(first?.goneAt ?? '')).toBeLessThanOrEqual(Date.parse(second?.createdAt ?? ''));
      expect(await podsOf(story)).toHaveLength(2);
    },
  );

  test('that is refused for good ends in a block of its own reason, and the pod is named to a person', async () => {
    await system.cloud.client.scriptOnce('runpod', 'agent_bootstrap', { answer: 'rejected' });
    await system.cloud.client.script('runpod', 'terminate', { answer: 'rejected', status: 409 });
    const story = await onTerminal();
    const result = await settled(story, 'blocked');
    await system.cloud.client.script('runpod', 'terminate');
    const [pod, ...more] = await podsOf(story);
    expect(more).toEqual([]);
    expect(result).toMatchObject({
      reason: 'terminal_residue_unresolved',
      redrivable: false,
      evidence: { instance: pod?.id },
    });
    expect(pod).toMatchObject({ goneAt: null });
  });
});

describe('a dispatch', () => {
  test('that is refused blocks: the pod is kept for a person, named with what it costs', async () => {
    await system.cloud.client.scriptOnce('runpod', 'agent_start', { answer: 'rejected' });
    const story = await onTerminal();
    expect(await settled(story, 'blocked')).toMatchObject({
      reason: 'terminal_workload_start_failed',
      failure_class: 'infra',
      redrivable: false,
    });
    await passesGoBy(system);
    expect(await podsOf(story)).toEqual([expect.objectContaining({ goneAt: null })]);
    const alerts = only(await eventsOf(story), 'AlertRaised').map(({ data }) => data);
    expect(alerts).toMatchObject([{ alert: 'kept_pod_billing', evidence: { costPerHourUsd: 2.5 } }]);
    expect(await startsOf(system, story.name)).toBe(0);
  });

  test.each(titled([{ answer: 'reset' }, { answer: 'error' }, { answer: 'html' }, { answer: 'garbage' }]))(
    'whose answer is lost ($title), and it started: seen by the probe, and never sent again',
    async ({ step }) => {
      await system.cloud.client.scriptOnce('runpod', 'agent_start', { ...step, effect: 'done' });
      const story = await onTerminal();
      await settled(story, 'running_on_terminal');
      expect(only(await eventsOf(story), 'DispatchSending')).toHaveLength(1);
      expect(await startsOf(system, story.name)).toBe(1);
    },
  );

  test('whose answer is lost, and nothing started: sent again to the same pod, which starts once', async () => {
    await system.cloud.client.scriptOnce('runpod', 'agent_start', { answer: 'reset' });
    const story = await onTerminal();
    await settled(story, 'running_on_terminal');
    expect(only(await eventsOf(story), 'DispatchSending').map(({ data }) => data.number)).toEqual([1, 2]);
    expect(await podsOf(story)).toHaveLength(1);
    expect(await startsOf(system, story.name)).toBe(1);
  });

  test('pitfall 37: that is acknowledged while nothing runs is no success', async () => {
    await system.cloud.client.script('runpod', 'agent_start', { answer: 'ok', effect: 'none' });
    const story = await onTerminal();
    const result = await settled(story, 'blocked');
    await system.cloud.client.script('runpod', 'agent_start');
    expect(result).toMatchObject({ reason: 'terminal_workload_start_failed' });
    const events = await eventsOf(story);
    expect(only(events, 'FailoverCompleted')).toEqual([]);
    expect(only(events, 'DispatchSending')).toHaveLength(3);
    expect(await podsOf(story)).toHaveLength(1);
  });

  test('after which no probe answers is held: no second start, no end, no other pod', async () => {
    await system.cloud.client.script('runpod', 'agent_status', { answer: 'error' });
    const story = await onTerminal();
    await untilEvent(story, 'DispatchSending');
    await passesGoBy(system);
    const events = await eventsOf(story);
    expect(only(events, 'DispatchSending')).toHaveLength(1);
    expect(only(events, 'ReapAnnounced')).toEqual([]);
    await system.cloud.client.script('runpod', 'agent_status');
    await settled(story, 'running_on_terminal');
    expect(await podsOf(story)).toHaveLength(1);
    expect(await startsOf(system, story.name)).toBe(1);
  });
});

describe('a cancel before the move', () => {
  const queue = { provider: 'queued', create_operation: 'done' } as const;
  const alarm = { provider: 'running', alarm: 'transport', create_operation: 'done' } as const;

  async function queuedTooLong(name: string): Promise<Story & { readonly instance: string }> {
    const { location, instance } = await placed(system, name);
    await observe(system, name, instance, { ...queue, observed_at: secondsAhead(-400) });
    return { name, location, instance };
  }
  const waited = ({ name, instance }: { readonly name: string; readonly instance: string }) =>
    observe(system, name, instance, { ...queue, observed_at: secondsAhead(250) });

  test('of a queued instance that fails is owed and told, stops nothing, and is made good', async () => {
    const story = await queuedTooLong('trouble/cancel-owed');
    await system.cloud.client.script('gcp', 'terminate', { answer: 'error' });
    expect(await waited(story)).toMatchObject({ reason: 'gcp_queue_timeout_failover_runpod' });
    await settled(story, 'running_on_terminal');
    const owed = await eventsOf(story);
    expect(alertsIn(owed)).toContain('cancel_unconfirmed');
    expect(only(owed, 'CancelConfirmed')).toEqual([]);
    await system.cloud.client.script('gcp', 'terminate');
    await untilEvent(story, 'CancelConfirmed');
    expect(await machinesOf(system, story.name, 'gcp')).toEqual([
      expect.objectContaining({ goneAt: expect.any(String) }),
    ]);
    expect(await startsOf(system, story.name)).toBe(1);
  });

  test('that finds the queued instance running: the move is off, the instance stays', async () => {
    const story = await queuedTooLong('trouble/cancel-runs');
    await happens(system, story.instance, { state: 'running' });
    await waited(story);
    const result = await resultWhere(
      system,
      story.location,
      'the move is off',
      (shown) => at(shown, 'rule') === '4.4 runs_by_now',
    );
    expect(result).toMatchObject({ outcome: 'placed_primary', instance: { id: story.instance } });
    await passesGoBy(system);
    expect(await podsOf(story)).toEqual([]);
    expect(await machinesOf(system, story.name, 'gcp')).toEqual([expect.objectContaining({ goneAt: null })]);
  });

  test('of a wedged machine that fails holds the move, since it may still do the work', async () => {
    const name = 'trouble/wedge';
    const { location, instance } = await placed(system, name, { plan: { rungs: [ON_DEMAND], terminal } });
    const guest = { phase: 'workload', workload_started: true };
    await system.cloud.client.script('gcp', 'terminate', { answer: 'error' });
    await observe(system, name, instance, {
      ...alarm,
      alarm: 'none',
      guest,
      observed_at: secondsAhead(-1_200),
    });
    await observe(system, name, instance, { ...alarm, guest, observed_at: secondsAhead(-300) });
    const wedged = await observe(system, name, instance, { ...alarm, guest, observed_at: secondsAhead(250) });
    expect(wedged).toMatchObject({ outcome: 'waiting', reason: 'gcp_infra_wedge_failover_runpod' });
    await storyWhere(system, name, 'it is told', (events) => alertsIn(events).includes('cancel_unconfirmed'));
    await passesGoBy(system);
    expect(await machinesOf(system, name, 'runpod')).toEqual([]);
    expect(await settled({ location }, 'waiting')).toMatchObject({
      reason: 'gcp_infra_wedge_failover_runpod',
    });
    await system.cloud.client.script('gcp', 'terminate');
    await settled({ location }, 'running_on_terminal');
    const [machine] = await machinesOf(system, name, 'gcp');
    const [pod] = await machinesOf(system, name, 'runpod');
    // The orphan dies before its replacement is created.
    expect(Date.parse(machine?.goneAt ?? '')).toBeLessThanOrEqual(Date.parse(pod?.createdAt ?? ''));
  });
});

test('after an erasure what a provider answers is sealed anew: no text goes under a key that is destroyed', async () => {
  const name = 'trouble/erased';
  const stream = streamOfName(system.ring, name);
  const refused = async (message_id: string) => {
    const location = await launch(system, name, { message_id, plan: { rungs: [FULL] } });
    await settled({ location }, 'blocked');
    const { data } = only(await eventsOf({ name, location }), 'CreateEnded').at(-1) ?? {};
    return system.sealer.open(stream, 'failure', data?.failureDigest ?? '');
  };
  expect(await refused('before')).toContain('kubernetes');
  const admin = await openLog(system.databaseUrl, { role: 'spillway_admin' });
  const at = new Date().toISOString();
  await eraseAllocation(admin, { stream, at, requestedBy: 'local' }).finally(() => admin.close());
  expect(await refused('after')).toContain('kubernetes');
});
