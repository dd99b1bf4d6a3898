import { beforeAll, describe, expect, test } from 'vitest';
import { ALLOCATION } from '#support/attempt-bodies';
import { type Body, tokenOf } from '#support/calls';
import { preflightProof } from '#support/failing-attempts';
import { launch, observe, outcomeIs, resultWhere, STAND_IN_LAUNCH } from '#support/failover-calls';
import {
  alertsIn,
  machinesOf,
  only,
  passesGoBy,
  placed,
  startsOf,
  storyOf,
  storyWhere,
} from '#support/failover-story';
import { withApps } from '#support/running-apps';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({
  nats: 'shared',
  provisioners: 1,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_RETRY_EVERY_S: '600', SPILLWAY_WATCH_EVERY_S: '600' },
});

const [FLEX, ON_DEMAND] = STAND_IN_LAUNCH.plan.rungs;
const { terminal } = STAND_IN_LAUNCH.plan;

beforeAll(async () => {
  // A queued instance waits until it is told otherwise.
  await system.cloud.client.behave({ lane: 'gcp', queueS: null });
});

/** A launch that recorded the request which the attempts of its allocation fail with; it never moves elsewhere. */
const asAttempted = (change: Body = {}): Body => ({
  request: ALLOCATION,
  plan: { rungs: [ON_DEMAND], terminal },
  failover: 'never',
  ...change,
});

/** On demand has no room: blocked, and re-driven by nobody in this test's time. */
async function blocked(name: string, change: Body = {}): Promise<string> {
  await system.cloud.client.scriptOnce('gcp', 'create', { answer: 'capacity' });
  const location = await launch(system, name, asAttempted(change));
  expect(await resultWhere(system, location, `${name} is blocked`, outcomeIs('blocked'))).toMatchObject({
    reason: 'no_compute_available',
  });
  return location;
}

/** The pool question of an allocation is asked by a proof, and accepted. */
async function acceptPool(name: string): Promise<void> {
  const asked = await system.calls.attempt(preflightProof(name));
  const reply = await system.calls.consent({
    logical_allocation: name,
    accept: true,
    confirm_token: tokenOf(asked),
  });
  expect([reply.status, at(reply.json, 'allocation.consent')]).toEqual([200, 'accepted']);
}

const consentOf = async (name: string) => {
  const { json } = await system.calls.attempt({ ...preflightProof(name), evidence: { source: 'scheduler' } });
  return at(json, 'allocation.consent');
};
const whyNot = async (name: string) => {
  const story = await storyWhere(system, name, 'the acceptance is dealt with', (events) =>
    events.some(({ type }) => type === 'PoolMoveNotProvisioned'),
  );
  return only(story, 'PoolMoveNotProvisioned').map(({ data }) => data.why);
};

describe('an accepted pool question', () => {
  test('of a launch that recorded the same request walks one preemptible rung, once', async () => {
    const name = 'pool/moved';
    const location = await blocked(name);
    await acceptPool(name);
    const result = await resultWhere(system, location, 'it is moved', outcomeIs('placed_primary'));
    expect(result).toMatchObject({
      reason: 'consented_pool_move',
      evidence: { rung: 'od_a:preemptible', pool: 'preemptible' },
      instance: { lane: 'gcp', pool: 'preemptible' },
    });
    await passesGoBy(system);
    const story = await storyOf(system, name);
    expect(only(story, 'PoolMoveStarted')).toHaveLength(1);
    // It counts like any rung.
    expect(only(story, 'RungCounted').map(({ data }) => [data.rung, data.count])).toEqual([
      ['od_a', 1],
      ['od_a:preemptible', 2],
    ]);
    expect(await machinesOf(system, name)).toHaveLength(1);
    expect(await startsOf(system, name)).toBe(1);
  });

  test('cancels a queued instance first, and confirms it, before the new one is made', async () => {
    const name = 'pool/queued-first';
    const plan = { rungs: [FLEX, ON_DEMAND], terminal };
    const { location, instance } = await placed(system, name, asAttempted({ plan }));
    await observe(system, name, instance, { provider: 'queued', create_operation: 'done' });
    await acceptPool(name);
    await resultWhere(
      system,
      location,
      'it is moved',
      (shown) => at(shown, 'reason') === 'consented_pool_move',
    );
    const [old, made] = await machinesOf(system, name);
    expect(old).toMatchObject({ goneAt: expect.any(String) });
    expect(Date.parse(old?.goneAt ?? '')).toBeLessThanOrEqual(Date.parse(made?.createdAt ?? ''));
    expect(await startsOf(system, name)).toBe(1);
  });

  test('that meets no room changes nothing else: the outcome stays, and so does the consent', async () => {
    const name = 'pool/no-room';
    const location = await blocked(name);
    await system.cloud.client.scriptOnce('gcp', 'create', { answer: 'capacity' });
    await acceptPool(name);
    await storyWhere(system, name, 'the rung is missed', (events) =>
      only(events, 'RungMissed').some(({ data }) => data.rung === 'od_a:preemptible'),
    );
    await passesGoBy(system);
    expect(await resultWhere(system, location, 'it stays blocked', () => true)).toMatchObject({
      outcome: 'blocked',
      reason: 'no_compute_available',
    });
    expect(await consentOf(name)).toBe('accepted');
    expect(only(await storyOf(system, name), 'PoolMoveStarted')).toHaveLength(1);
    expect(await machinesOf(system, name)).toEqual([]);
  });
});

describe('an accepted pool question provisions nothing, and says why', () => {
  test('no_launch: nobody launched the allocation', async () => {
    await acceptPool('pool/never-launched');
    expect(await whyNot('pool/never-launched')).toEqual(['no_launch']);
    expect(await machinesOf(system, 'pool/never-launched')).toEqual([]);
  });

  test.each([
    { reason: 'the launch recorded another request', request: { ...ALLOCATION, gpu_count: 8 } },
    { reason: 'the launch recorded none', request: null },
  ])('other_request: $reason', async ({ reason, request }) => {
    const name = `pool/other ${reason}`;
    await blocked(name, { request });
    await acceptPool(name);
    expect(await whyNot(name)).toEqual(['other_request']);
    expect(await machinesOf(system, name)).toEqual([]);
  });

  test('no_rung: the plan has no on-demand rung of a primary lane', async () => {
    const name = 'pool/no-rung';
    await blocked(name, { plan: { rungs: [FLEX], terminal } });
    await acceptPool(name);
    expect(await whyNot(name)).toEqual(['no_rung']);
  });

  test('running: what runs is left as it is', async () => {
    const name = 'pool/running';
    const { location, instance } = await placed(system, name, asAttempted());
    await acceptPool(name);
    expect(await whyNot(name)).toEqual(['running']);
    await passesGoBy(system);
    expect(await resultWhere(system, location, 'it stays', () => true)).toMatchObject({
      outcome: 'placed_primary',
      instance: { id: instance },
    });
    expect(await machinesOf(system, name)).toEqual([expect.objectContaining({ goneAt: null })]);
  });
});

test('pitfall 38: delivered in another pool than was consented to: a fact, an alert, and a person decides', async () => {
  const name = 'pool/differs';
  const location = await blocked(name);
  await system.cloud.client.behave({ lane: 'gcp', deliversAs: 'STANDARD' });
  await acceptPool(name);
  const result = await resultWhere(
    system,
    location,
    'it is told',
    (shown) => at(shown, 'reason') === 'delivered_pool_differs',
  );
  await system.cloud.client.behave({ lane: 'gcp', deliversAs: null });
  expect(result).toMatchObject({
    outcome: 'waiting',
    rule: '5.8 delivered_pool',
    evidence: { consented: 'preemptible', delivered: 'on-demand' },
  });
  await passesGoBy(system);
  const story = await storyOf(system, name);
  expect(alertsIn(story)).toContain('delivered_pool_differs');
  expect(only(story, 'InstancePlaced')).toEqual([]);
  // What the create itself started is reported, never stopped.
  expect(await machinesOf(system, name)).toEqual([expect.objectContaining({ goneAt: null })]);
});
