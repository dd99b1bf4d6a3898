import { describe, expect, test } from 'vitest';
import { type Body, textAt, tokenOf } from '#support/calls';
import { launch, observe, outcomeIs, resultWhere, STAND_IN_LAUNCH } from '#support/failover-calls';
import {
  alertsIn,
  callsOf,
  happens,
  machinesOf,
  only,
  passesGoBy,
  placed,
  secondsAhead,
  startsOf,
  storyOf,
} from '#support/failover-story';
import { withApps } from '#support/running-apps';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({
  nats: 'shared',
  provisioners: 1,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_RETRY_EVERY_S: '1', SPILLWAY_WATCH_EVERY_S: '600' },
});

const [, ON_DEMAND] = STAND_IN_LAUNCH.plan.rungs;
const { terminal } = STAND_IN_LAUNCH.plan;
const planOf = (...rungs: readonly object[]) => ({ plan: { rungs, terminal } });

const GONE = { provider: 'not_found', create_operation: 'done', delete_operation: 'none' } as const;
const CRASHED = { provider: 'terminated', guest: { phase: 'failed', workload_started: true } } as const;
const WORKS = { provider: 'running', guest: { phase: 'workload', workload_started: true } } as const;

const settled = (location: string, ...outcomes: readonly string[]) =>
  resultWhere(system, location, outcomes.join(' or '), outcomeIs(...outcomes));

/** An instance that waits in its queue, seen there once. */
async function queued(name: string, change: Body = {}) {
  const found = await placed(system, name, change);
  await observe(system, name, found.instance, { provider: 'queued', create_operation: 'done' });
  return found;
}

/** An instance on demand whose workload runs. */
async function running(name: string, change: Body = {}) {
  const found = await placed(system, name, { ...planOf(ON_DEMAND), ...change });
  await observe(system, name, found.instance, WORKS);
  return found;
}

/** The provider has no room for the next so many creates of a lane. */
const noRoom = (lane: 'gcp' | 'runpod', creates: number) =>
  system.cloud.client.scriptOnce(
    lane,
    'create',
    ...Array.from({ length: creates }, () => ({ answer: 'capacity' as const })),
  );

describe('a queued instance that vanished', () => {
  test('is a capacity miss on first sight, moves on, and burns no attempt of the day', async () => {
    const name = 'promise/vanished';
    const { location, instance } = await queued(name);
    await happens(system, instance, { remove: 'provider' });
    const answer = await observe(system, name, instance, { ...GONE, observed_at: secondsAhead(1) });
    expect(answer).toMatchObject({
      outcome: 'waiting',
      reason: 'gcp_queue_vanish_failover_runpod',
      failure_class: null,
      rule: '4.3 queue_vanish seen',
      evidence: { arm: 'seen', rung: 'flex_a', instance, reachedRunning: false },
    });
    expect(await settled(location, 'running_on_terminal')).toMatchObject({
      reason: 'gcp_queue_vanish_failover_runpod',
      instance: { lane: 'runpod' },
    });
    const story = await storyOf(system, name);
    expect(only(story, 'RungCounted').map(({ data }) => [data.rung, data.count])).toEqual([['flex_a', 1]]);
    expect(only(story, 'QueueLossRecorded')).toHaveLength(1);
    expect(only(story, 'CancelSending')).toEqual([]);
    expect(await machinesOf(system, name, 'gcp')).toHaveLength(1);
    expect(await machinesOf(system, name, 'runpod')).toHaveLength(1);
    expect(await startsOf(system, name)).toBe(1);
  });

  test('is not booked again this day: its rung is skipped uncounted by the next launch', async () => {
    const name = 'promise/dead-rung';
    const { location, instance } = await queued(name, { failover: 'never' });
    await happens(system, instance, { remove: 'provider' });
    await observe(system, name, instance, { ...GONE, observed_at: secondsAhead(1) });
    expect(await settled(location, 'blocked')).toMatchObject({ reason: 'no_compute_available' });
    const again = await placed(system, name);
    expect(again.instance).not.toBe(instance);
    const story = await storyOf(system, name);
    expect(only(story, 'RungSkipped').map(({ data }) => [data.rung, data.why])).toEqual([
      ['flex_a', 'queue_loss'],
    ]);
    expect(only(story, 'RungCounted').map(({ data }) => [data.rung, data.count])).toEqual([
      ['flex_a', 1],
      ['od_a', 2],
    ]);
  });

  test('after its workload started keeps its class: an infrastructure loss, never a capacity miss', async () => {
    const name = 'promise/lost-after-start';
    const { location, instance } = await queued(name);
    await observe(system, name, instance, { ...WORKS, observed_at: secondsAhead(1) });
    await happens(system, instance, { remove: 'provider' });
    const answer = await observe(system, name, instance, { ...GONE, observed_at: secondsAhead(2) });
    expect(answer).toMatchObject({
      outcome: 'blocked',
      reason: 'instance_lost_after_start',
      failure_class: 'infra',
      redrivable: false,
      not_fired: expect.arrayContaining(['queue_vanish:reached_running']),
    });
    await passesGoBy(system);
    // Nothing runs for it any more.
    expect(await settled(location, 'blocked')).not.toHaveProperty('instance');
    expect(await machinesOf(system, name)).toHaveLength(1);
  });
});

describe('a crash of the workload', () => {
  test('found by a poll minutes into a run moves exactly once, however often it is seen', async () => {
    const name = 'promise/crash-async';
    const { location, instance } = await running(name);
    const crash = { ...CRASHED, observed_at: secondsAhead(240) };
    const [first] = await Promise.all(
      Array.from({ length: 8 }, () => observe(system, name, instance, { ...crash, message_id: 'crash-1' })),
    );
    expect(first).toMatchObject({
      outcome: 'waiting',
      reason: 'gcp_workload_failover_runpod_async',
      rule: expect.stringMatching(/^4\.5 /),
    });
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        observe(system, name, instance, { ...CRASHED, observed_at: secondsAhead(241 + index) }),
      ),
    );
    expect(await settled(location, 'running_on_terminal')).toMatchObject({
      reason: 'gcp_workload_failover_runpod_async',
    });
    expect(only(await storyOf(system, name), 'FailoverDecided')).toHaveLength(1);
    expect(await machinesOf(system, name, 'runpod')).toHaveLength(1);
    // One on each lane, and the terminal lane's is the second and last one.
    expect(await startsOf(system, name)).toBe(2);
  });

  test('again, on the terminal lane, is the code’s own: blocked, the pod kept, and no retry pass touches it', async () => {
    const name = 'promise/crash-again';
    // If it were re-driven at all, the next pass would do so.
    const { location, instance } = await running(name, { limits: { capacity_retry_backoff_s: 0.001 } });
    await observe(system, name, instance, { ...CRASHED, observed_at: secondsAhead(240) });
    const pod = String(at(await settled(location, 'running_on_terminal'), 'instance.id'));
    await happens(system, pod, { workload: 'failed' });
    const failed = { provider: 'running', guest: { phase: 'failed', workload_started: true } };
    const answer = await observe(system, name, pod, {
      ...failed,
      lane: 'runpod',
      observed_at: secondsAhead(250),
    });
    expect(answer).toMatchObject({
      outcome: 'blocked',
      reason: 'workload_failure',
      failure_class: 'code',
      redrivable: false,
    });
    await retryPassGoesBy();
    const story = await storyOf(system, name);
    expect(only(story, 'WalkStarted')).toEqual([]);
    expect(alertsIn(story)).toContain('kept_pod_billing');
    expect(await machinesOf(system, name, 'runpod')).toEqual([
      expect.objectContaining({ id: pod, goneAt: null }),
    ]);
    expect(await settled(location, 'blocked')).toMatchObject({
      reason: 'workload_failure',
      failure_class: 'code',
    });
  });

  test('on a batch lane never moves', async () => {
    const name = 'promise/batch';
    const { location, instance } = await placed(
      system,
      name,
      planOf({ id: 'batch_a', lane: 'kubernetes', pool: 'batch' }),
    );
    const answer = await observe(system, name, instance, { ...CRASHED, lane: 'kubernetes' });
    expect(answer).toMatchObject({ outcome: 'blocked', reason: 'workload_failure', failure_class: 'code' });
    await passesGoBy(system);
    await settled(location, 'blocked');
    expect(await machinesOf(system, name, 'runpod')).toEqual([]);
  });
});

/** A blocked allocation that the pass may re-drive has been re-driven: whatever else was due was due too. */
async function retryPassGoesBy(): Promise<void> {
  const name = `promise/canary-${Date.now()}`;
  await noRoom('gcp', 1);
  const location = await launch(system, name, {
    ...planOf(ON_DEMAND),
    failover: 'never',
    limits: { capacity_retry_backoff_s: 0.001 },
  });
  await settled(location, 'placed_primary');
  expect(only(await storyOf(system, name), 'WalkStarted').map(({ data }) => data.walk)).toEqual(['retry']);
}

describe('a machine that a person made for the same run', () => {
  test('pitfall 31: of the same display name, is never adopted, started, ended, or in the way', async () => {
    const name = 'promise/by-hand';
    const foreign = [
      await system.cloud.client.addForeign({ lane: 'runpod', name, bootstrap: 'complete' }),
      await system.cloud.client.addForeign({ lane: 'runpod', name: `${name}-2`, state: 'stopped' }),
      await system.cloud.client.addForeign({ lane: 'gcp', name: 'promise-by-hand' }),
    ];
    await noRoom('gcp', 2);
    const location = await launch(system, name);
    const result = await settled(location, 'running_on_terminal');
    expect(at(result, 'reason')).toBe('auto_fallback_runpod');
    await passesGoBy(system);
    expect(foreign).not.toContain(String(at(result, 'instance.id')));
    const { instances, starts, deletes } = await system.cloud.client.ledger();
    for (const id of foreign) {
      expect(instances.find((one) => one.id === id)).toMatchObject({ goneAt: null });
      expect([...starts, ...deletes].filter((line) => line.instance === id)).toEqual([]);
    }
    // Named once each, however many passes see them.
    const seen = only(await storyOf(system, name), 'ForeignInstanceSeen').map(({ data }) => data.instance);
    expect(seen.toSorted()).toEqual(foreign.slice(0, 2).toSorted());
  });

  test('pitfall 32: of another deployment, with the marker in our form, is left alone', async () => {
    const labels = {
      SPILLWAY_DEPLOYMENT: 'other',
      SPILLWAY_ALLOCATION: '0123456789abcdef',
      SPILLWAY_INTENT: 'abcdefghijklmnopqrstuvwxyz',
    };
    const other = await system.cloud.client.addForeign({
      lane: 'runpod',
      name: 'sw-other-0123456789abcdef-abcdefghijklmnopqrstuvwxyz',
      labels,
      state: 'stopped',
      bootstrap: 'begun',
    });
    await passesGoBy(system);
    const { instances } = await system.cloud.client.ledger();
    expect(instances.find(({ id }) => id === other)).toMatchObject({ goneAt: null });
  });
});

describe('polls that cannot be read', () => {
  test('pitfall 35: 25 in a row cause nothing', async () => {
    const name = 'promise/unreadable';
    const { location, instance } = await running(name);
    const before = await storyOf(system, name);
    for (let poll = 1; poll <= 25; poll += 1) {
      const answer = await observe(system, name, instance, {
        provider: 'probe_error',
        alarm: poll % 2 === 0 ? 'transport' : 'control_plane',
        observed_at: secondsAhead(poll * 10),
      });
      expect(answer).toMatchObject({ outcome: 'unchanged', rule: '3.3 probe_error' });
    }
    await passesGoBy(system);
    // Not even an event: only the instance's mark moves.
    expect(await storyOf(system, name)).toEqual(before);
    expect(await settled(location, 'placed_primary')).toMatchObject({ instance: { id: instance } });
    expect(await machinesOf(system, name)).toEqual([expect.objectContaining({ goneAt: null })]);
  });
});

describe('residue of our own', () => {
  test('pitfall 30: a pod that a 500 speaking of capacity made is adopted, not called missing compute', async () => {
    const name = 'promise/own-residue';
    await noRoom('gcp', 2);
    await system.cloud.client.scriptOnce('runpod', 'create', { answer: 'error', effect: 'done' });
    const location = await launch(system, name);
    await settled(location, 'running_on_terminal');
    const story = await storyOf(system, name);
    expect(only(story, 'CreateEnded').at(-1)?.data).toMatchObject({
      answer: 'outcome_unknown',
      speaksOfShortage: true,
    });
    expect(only(story, 'InstanceAdopted')).toHaveLength(1);
    expect(await machinesOf(system, name, 'runpod')).toHaveLength(1);
    expect(await startsOf(system, name)).toBe(1);
  });

  test('that cannot be brought up is reaped twice and then kept for a person, never “no compute available”', async () => {
    const name = 'promise/reap-limit';
    await noRoom('gcp', 2);
    await system.cloud.client.behave({ lane: 'runpod', bootstrapEndsIn: 'failed' });
    const location = await launch(system, name);
    const result = await settled(location, 'blocked');
    await system.cloud.client.behave({ lane: 'runpod', bootstrapEndsIn: 'complete' });
    const kept = (await machinesOf(system, name, 'runpod')).filter(({ goneAt }) => goneAt === null);
    expect(kept).toHaveLength(1);
    expect(result).toMatchObject({
      reason: 'terminal_residue_unresolved',
      failure_class: 'infra',
      redrivable: false,
      evidence: { instance: kept[0]?.id, reaps: 2 },
    });
    await passesGoBy(system);
    expect(await machinesOf(system, name, 'runpod')).toHaveLength(3);
    expect(alertsIn(await storyOf(system, name))).toContain('residue_unresolved');
  });
});

describe('failover: ask', () => {
  test('makes and cancels nothing before the answer', async () => {
    const name = 'promise/ask';
    await noRoom('gcp', 2);
    const location = await launch(system, name, { failover: 'ask' });
    const question = await settled(location, 'awaiting_consent');
    expect(question).toMatchObject({
      reason: 'auto_fallback_runpod',
      needs_confirmation: true,
      proposed_action: { action: 'failover_to_terminal', lane: 'runpod' },
    });
    await passesGoBy(system);
    expect(await machinesOf(system, name)).toEqual([]);
    const reply = await system.calls.consent({
      logical_allocation: name,
      accept: true,
      confirm_token: String(at(question, 'confirm_token')),
    });
    expect(reply.json).toMatchObject({ outcome: 'waiting', reason: 'auto_fallback_runpod' });
    expect(await settled(location, 'running_on_terminal')).toMatchObject({ reason: 'auto_fallback_runpod' });
    expect(await startsOf(system, name)).toBe(1);
  });

  test('declined is final: blocked, and nothing is made', async () => {
    const name = 'promise/declined';
    const { location, instance } = await queued(name, { failover: 'ask' });
    await happens(system, instance, { remove: 'provider' });
    const asked = await observe(system, name, instance, { ...GONE, observed_at: secondsAhead(1) });
    expect(asked).toMatchObject({ outcome: 'awaiting_consent', reason: 'gcp_queue_vanish_failover_runpod' });
    const token = String(at(asked, 'confirm_token'));
    const consent = (accept: boolean) =>
      system.calls.consent({ logical_allocation: name, accept, confirm_token: token });
    expect((await consent(false)).json).toMatchObject({ outcome: 'blocked', reason: 'failover_declined' });
    expect((await consent(true)).status).toBe(409);
    await retryPassGoesBy();
    expect(await settled(location, 'blocked')).toMatchObject({ redrivable: false });
    expect(await machinesOf(system, name)).toHaveLength(1);
  });

  test('accepted by 16 at once moves once', async () => {
    const name = 'promise/accept-16';
    const { location, instance } = await running(name, { failover: 'ask' });
    const reply = await system.calls.observation({
      logical_allocation: name,
      instance,
      lane: 'gcp',
      ...CRASHED,
      observed_at: secondsAhead(240),
    });
    expect(textAt(reply, 'outcome')).toBe('awaiting_consent');
    const body = { logical_allocation: name, accept: true, confirm_token: tokenOf(reply) };
    const replies = await Promise.all(Array.from({ length: 16 }, () => system.calls.consent(body)));
    const statuses = replies.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, ...Array.from({ length: 15 }, () => 409)]);
    await settled(location, 'running_on_terminal');
    expect(await machinesOf(system, name, 'runpod')).toHaveLength(1);
    expect(only(await storyOf(system, name), 'FailoverDecided')).toHaveLength(1);
  });
});

describe('failover: never', () => {
  test('leaves the terminal lane out of the plan, whatever happens', async () => {
    const before = await callsOf(system, 'runpod', 'create');
    await noRoom('gcp', 2);
    const exhausted = await launch(system, 'promise/never-ladder', { failover: 'never' });
    expect(await settled(exhausted, 'blocked')).toMatchObject({
      reason: 'no_compute_available',
      redrivable: true,
      evidence: { misses: ['flex_a:capacity', 'od_a:capacity'], firstRefusal: 'capacity' },
    });
    const crash = await running('promise/never-crash', { failover: 'never' });
    await observe(system, 'promise/never-crash', crash.instance, {
      ...CRASHED,
      observed_at: secondsAhead(1),
    });
    expect(await settled(crash.location, 'blocked')).toMatchObject({ reason: 'workload_failure' });
    await passesGoBy(system);
    expect(await callsOf(system, 'runpod', 'create')).toBe(before);
  });
});

test('an answer says by which rule, on which evidence, and why each other rule did not fire', async () => {
  const name = 'promise/explained';
  const { instance } = await queued(name);
  const waits = await observe(system, name, instance, {
    provider: 'queued',
    create_operation: 'done',
    observed_at: secondsAhead(120),
  });
  expect(waits).toMatchObject({
    outcome: 'unchanged',
    rule: '4.1 no_rule',
    not_fired: [
      expect.stringMatching(/^done:/),
      expect.stringMatching(/^failed_create:/),
      expect.stringMatching(/^infra_wedge:/),
      expect.stringMatching(/^queue_timeout:/),
      expect.stringMatching(/^deleted_externally:/),
      'queue_vanish:not_missing',
      expect.stringMatching(/^workload_crash:/),
      expect.stringMatching(/^boot_death:/),
      expect.stringMatching(/^plain_loss:/),
    ],
  });
  await happens(system, instance, { remove: 'provider' });
  const observed_at = secondsAhead(130);
  const moved = await observe(system, name, instance, { ...GONE, observed_at });
  expect(moved).toMatchObject({
    position: expect.any(Number),
    evidence: { instance, observedAt: observed_at, arm: 'seen', pool: 'flex-start', consent: 'standing' },
    not_fired: expect.arrayContaining(['deleted_externally:no_delete_operation']),
  });
});
