import { describe, expect, test } from 'vitest';
import { counted } from '#support/allocation-events';
import { at, digestOf, idOf, REQUEST } from '#support/builders';
import {
  createEnded,
  createSending,
  instanceCreated,
  intentId,
  intentRecorded,
  machine,
  viewAt,
} from '#support/provision-builders';
import { plan, Story } from '#support/watch-builders';
import type { Fact } from '../fact.ts';
import { notWatched } from '../intent/failover-once.ts';
import { currentInstance } from '../placement.ts';
import { placementRowOf } from '../placement-row.ts';
import { decideLaunch } from './decide-launch.ts';
import { acceptPool, releasePool } from './delivered-pool.ts';
import { nextStep } from './next-step.ts';
import type { Step, View } from './step.ts';
import { waitOf } from './waits.ts';

const A = intentId('a');
const PROMPT = idOf('prompt');
const RUNG = {
  id: 'od_a:preemptible',
  lane: 'gcp',
  kind: 'primary' as const,
  pool: 'preemptible',
  queues: false,
  zones: [],
  machine: null,
  gpu: null,
  maxRunS: null,
};
const WORD = { instance: null, by: 'local' };

const started: Fact = { type: 'PoolMoveStarted', data: { prompt: PROMPT, rung: RUNG } };
/** An attempt of another request: the record begins anew, and with it the pool. */
const changed: Fact = { type: 'AttemptTracked', data: counted(1, { request: 'another' }).data };
const same: Fact = { type: 'AttemptTracked', data: counted(1).data };

const again = (launch = 'again') => ({
  launch: idOf(launch),
  plan: plan({ failover: 'never' }),
  requestDigest: digestOf(REQUEST),
  workloadDigest: digestOf('workload'),
});

/** A launch of the request that the pool question was about; its move has begun. */
function moving(): Story {
  return new Story().add(0, { type: 'LaunchAccepted', data: again('launch') }).add(10, started);
}
function withIntent(): Story {
  const story = moving();
  const chain = `rung:${story.placement.walk?.id}:${RUNG.id}:`;
  return story.add(20, intentRecorded(A, { kind: 'rung', rung: RUNG.id, zone: null }, { chain }));
}
const made = (story: Story, pool: string) =>
  story.add(20, createSending(A, 20), {
    type: 'InstanceCreated',
    data: { ...instanceCreated(A, 'X9').data, pool, createdAt: at(21) },
  });
const step = (story: Story, view: View): Step => nextStep(story.placement, view);
/** Records what the next step says, which must be facts. */
function record(story: Story, seconds: number, view: View): Story {
  const next = step(story, view);
  if (next.do !== 'append') throw new Error(`no facts, but ${next.do}`);
  return story.add(seconds, ...next.facts);
}
const differs = () => record(made(withIntent(), 'on-demand'), 30, viewAt(30, { knows: [A] }));

describe('a machine in another pool than was agreed to', () => {
  test('waits for a person, and bills meanwhile', () => {
    const { placement } = differs();
    expect(placementRowOf(placement)).toMatchObject({
      outcome: 'waiting',
      reason: 'delivered_pool_differs',
      openIntent: null,
      bills: true,
      alerts: 1,
    });
    expect(waitOf(placement)).toEqual({ why: 'delivered_pool', until: null });
    expect(decideLaunch(placement, again())).toMatchObject({ kind: 'refused' });
  });

  test('that is accepted is the instance, in the pool that it is in', () => {
    const story = differs();
    const answer = acceptPool(story.placement, { ...WORD, instance: 'X9' });
    if (answer.kind !== 'decided') throw new Error('refused');
    const { placement } = story.add(40, ...answer.facts);
    expect(currentInstance(placement)).toMatchObject({
      id: 'X9',
      lane: 'gcp',
      kind: 'primary',
      rung: RUNG.id,
      pool: 'on-demand',
      createdAt: at(21),
      costPerHourUsd: 2,
    });
    expect(placementRowOf(placement)).toMatchObject({ outcome: 'placed_primary', bills: true, alerts: 0 });
    expect([waitOf(placement), notWatched(placement, 'X9')]).toEqual([null, null]);
    expect(acceptPool(placement, WORD)).toMatchObject({ kind: 'refused', why: 'nothing_delivered' });
  });

  test('that is released bills until it is seen gone, and the owner may launch again', () => {
    const story = differs();
    const answer = releasePool(story.placement, WORD);
    if (answer.kind !== 'decided') throw new Error('refused');
    story.add(40, ...answer.facts);
    expect(placementRowOf(story.placement)).toMatchObject({
      outcome: 'blocked',
      reason: 'failover_declined',
      bills: true,
      alerts: 0,
    });
    expect(decideLaunch(story.placement, again())).toMatchObject({ kind: 'taken' });
    const listing = { gcp: { startedAt: at(400), instances: [] } };
    expect(
      step(story, viewAt(400, { listings: { gcp: { ...listing.gcp, instances: [machine('X9', A)] } } })).do,
    ).toBe('rest');
    expect(placementRowOf(record(story, 400, viewAt(400, { listings: listing })).placement).bills).toBe(
      false,
    );
  });

  test.each([acceptPool, releasePool])('is not settled twice, nor for another machine: %o', (settle) => {
    expect(settle(moving().placement, WORD)).toMatchObject({ why: 'nothing_delivered', machine: null });
    expect(settle(differs().placement, { ...WORD, instance: 'X1' })).toMatchObject({
      why: 'other_instance',
      machine: { instance: 'X9', lane: 'gcp' },
    });
  });
});

describe('a request that changes during its pool move', () => {
  const ends = [
    { type: 'IntentClosed', data: { intent: A, why: 'voided' } },
    { type: 'PoolMoveNotProvisioned', data: { prompt: PROMPT, why: 'other_request' } },
  ];
  const listed = (seconds: number, ...instances: readonly ReturnType<typeof machine>[]) => ({
    listings: { gcp: { startedAt: at(seconds), instances } },
  });

  test('ends it before its intent', () => {
    expect(step(moving().add(15, changed), viewAt(15))).toEqual({ do: 'append', facts: ends.slice(1) });
  });

  test('closes an intent under which nothing was sent', () => {
    expect(step(withIntent().add(25, changed), viewAt(25, { knows: [A] }))).toEqual({
      do: 'append',
      facts: ends,
    });
  });

  test('and an intent that another worker left: after the look, under the lease', () => {
    const story = withIntent().add(25, changed);
    expect(step(story, viewAt(100, { fence: null, ...listed(100) }))).toMatchObject({ do: 'take_lease' });
    expect(step(story, viewAt(100, listed(100)))).toEqual({ do: 'append', facts: ends });
    record(story, 100, viewAt(100, listed(100)));
    expect(story.placement).toMatchObject({ walk: null, poolMoves: [PROMPT] });
    expect(step(story, viewAt(110))).toEqual({ do: 'rest' });
  });

  test('one whose create is unknown is closed after its grace, and creates nothing more', () => {
    const story = withIntent().add(20, createSending(A, 20), createEnded(A, 20, 'outcome_unknown'), changed);
    expect(step(story, viewAt(50, listed(50)))).toMatchObject({ do: 'wait', why: 'listing_grace' });
    expect(step(story, viewAt(51, listed(51)))).toEqual({ do: 'append', facts: ends });
  });

  test.each(['preemptible', 'on-demand'])('what it made in pool %s is told, and never stopped', (pool) => {
    const story = record(made(withIntent(), pool).add(25, changed), 30, viewAt(30, { knows: [A] }));
    expect(story.placement).toMatchObject({
      outcome: 'waiting',
      current: null,
      verdict: { rule: '5.8 changed_request', evidence: { consented: 'on-demand', delivered: pool } },
      poolDiffers: { instance: 'X9' },
      alerts: [{ alert: 'delivered_pool_differs', subject: 'X9', lane: 'gcp' }],
    });
  });

  test('is no change when it is the same one', () => {
    expect(step(moving().add(15, same), viewAt(15))).toMatchObject({ do: 'probe_lane' });
  });
});
