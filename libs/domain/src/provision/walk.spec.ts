import { describe, expect, test } from 'vitest';
import type { Plan } from '#events/plan';
import { DAY_S } from '#support/builders';
import {
  createEnded,
  createSending,
  intentId,
  intentRecorded,
  recordedBy,
  viewAt,
} from '#support/provision-builders';
import { plan, RUNGS, Story } from '#support/watch-builders';
import type { LaneFailure } from './lane.ts';
import { nextStep } from './next-step.ts';
import { type Step, type View, type Work } from './step.ts';

const A = intentId('a');
const OPEN: Partial<Work> = { laneProbes: { flex_a: 'open', od_a: 'open', batch_a: 'open' } };
const step = (story: Story, view: View): Step => nextStep(story.placement, view);
const launched = (change: Partial<Plan> = {}) => new Story().launch({ rungs: RUNGS.slice(0, 2), ...change });
const DAY = '2026-11-29';

const failure = (kind: LaneFailure['kind'], code: string | null = null): LaneFailure => ({
  kind,
  provider: 'gcp',
  call: 'probe_lane',
  status: null,
  code,
  codeIsKnown: code !== null,
  text: '',
  retryAfterS: null,
  sent: false,
});

const missed = (rung: string) => ({
  type: 'RungMissed' as const,
  data: { rung, misses: [{ rung, zone: null, kind: 'capacity' as const, code: null, failureDigest: null }] },
});
/** The walk's own id is that of the event that began it; its chains are named after it. */
const chainOf = (story: Story, rung: string, zone = '') => `rung:${story.placement.walk?.id}:${rung}:${zone}`;
const rungIntent = (story: Story, rung: string, zone: string | null = null) =>
  intentRecorded(A, { kind: 'rung', rung, zone }, { chain: chainOf(story, rung, zone ?? '') });

describe('the rung at hand', () => {
  test('is asked whether it is open, counted, and only then opened', () => {
    const story = launched();
    expect(step(story, viewAt(0))).toMatchObject({ do: 'probe_lane', rung: { id: 'flex_a' } });
    expect(step(story, viewAt(0, OPEN))).toEqual({ do: 'count_rung', rung: 'flex_a', day: DAY, count: 1 });
    const counted = [`${story.placement.walk?.id} flex_a`];
    expect(step(story, viewAt(0, { ...OPEN, counted }))).toMatchObject({
      do: 'open_intent',
      lane: 'gcp',
      entry: { kind: 'rung', rung: 'flex_a', zone: null },
    });
  });

  test.each(['constructor', '__proto__', 'toString'])('is probed whatever it is called: %s', (id) => {
    const [first] = RUNGS;
    if (first === undefined) throw new Error('a rung');
    const story = launched({ rungs: [{ ...first, id }] });
    expect(step(story, viewAt(0))).toMatchObject({ do: 'probe_lane', rung: { id } });
    expect(step(story, viewAt(0, { laneProbes: { [id]: 'open' } }))).toMatchObject({ do: 'count_rung' });
  });

  test('a count that a dead worker left stays burned, and the rung is counted anew', () => {
    const story = launched().add(0, {
      type: 'RungCounted',
      data: { rung: 'flex_a', day: DAY, count: 1, fence: 1 },
    });
    expect(step(story, viewAt(60, OPEN))).toMatchObject({ do: 'count_rung', count: 2 });
  });

  test('a further zone of it is not counted again', () => {
    const [first, second] = RUNGS;
    if (first === undefined || second === undefined) throw new Error('two rungs');
    const story = launched({ rungs: [{ ...first, zones: ['z1', 'z2'] }, second] });
    story
      .add(0, rungIntent(story, 'flex_a', 'z1'), createSending(A, 0), createEnded(A, 0, 'capacity'))
      .add(0, {
        type: 'ZoneMissed',
        data: { rung: 'flex_a', zone: 'z1', kind: 'capacity', code: null, failureDigest: null },
      })
      .add(0, { type: 'IntentClosed', data: { intent: A, why: 'missed' } });
    expect(step(story, viewAt(0, OPEN))).toMatchObject({ do: 'open_intent', entry: { zone: 'z2' } });
  });

  test('a batch rung is never counted', () => {
    const story = launched({ rungs: RUNGS.slice(2) });
    expect(step(story, viewAt(0, OPEN))).toMatchObject({ do: 'open_intent', lane: 'slurm' });
  });

  test.each([
    [
      'a queue loss today',
      'queue_loss',
      (story: Story) =>
        story.add(0, { type: 'QueueLossRecorded', data: { instance: 'X0', rung: 'flex_a', day: DAY } }),
    ],
    [
      'a full streak of boot deaths today',
      'boot_loop',
      (story: Story) =>
        story.add(0, {
          type: 'BootDeathRecorded',
          data: { instance: 'X0', rung: 'flex_a', day: DAY, streak: 2 },
        }),
    ],
    [
      'the cap of the day',
      'creates_per_day',
      (story: Story) =>
        story.add(0, { type: 'RungCounted', data: { rung: 'od_a', day: DAY, count: 16, fence: 1 } }),
    ],
  ])('is skipped uncounted for %s', (_what, why, change) => {
    const next = step(change(launched()), viewAt(0, OPEN));
    expect(next).toEqual({ do: 'append', facts: [{ type: 'RungSkipped', data: { rung: 'flex_a', why } }] });
    // The day after it is a rung like any other.
    expect(step(change(launched()), viewAt(DAY_S, OPEN))).toMatchObject({ do: 'count_rung', count: 1 });
  });

  test('one boot death below the bound, and one create below the cap, skip nothing', () => {
    const story = launched()
      .add(0, { type: 'BootDeathRecorded', data: { instance: 'X0', rung: 'flex_a', day: DAY, streak: 1 } })
      .add(0, { type: 'RungCounted', data: { rung: 'od_a', day: DAY, count: 15, fence: 1 } });
    expect(step(story, viewAt(0, OPEN))).toMatchObject({ do: 'count_rung', count: 16 });
  });

  test('a known quota shortfall skips it uncounted', () => {
    const laneProbes = { flex_a: failure('quota', 'QUOTA_EXCEEDED') };
    expect(step(launched(), viewAt(0, { laneProbes }))).toMatchObject({
      facts: [{ type: 'RungSkipped', data: { why: 'quota' } }],
    });
  });

  test('a state that cannot be read is a miss that is not counted, and somebody is told', () => {
    const story = launched();
    const view = viewAt(0, { laneProbes: { flex_a: failure('unavailable') } });
    const alert = step(story, view);
    expect(recordedBy(alert)).toEqual(['AlertRaised']);
    if (alert.do === 'append') story.add(0, ...alert.facts);
    expect(recordedBy(step(story, view))).toEqual(['RungMissed']);
  });

  test('nothing is counted while Spillway only observes', () => {
    const view = viewAt(0, OPEN, { rules: { deployment: 'test', observeOnly: true } });
    expect(step(launched(), view)).toMatchObject({ do: 'wait', why: 'observe_only' });
  });
});

describe('every rung missed or skipped', () => {
  const exhausted = () => launched().add(0, missed('flex_a'), missed('od_a'));

  test('escalates with all misses in the evidence', () => {
    expect(step(exhausted(), viewAt(0, OPEN))).toMatchObject({
      do: 'escalate',
      escalation: {
        trigger: 'ladder_exhausted',
        reason: 'auto_fallback_runpod',
        evidence: { misses: ['flex_a:capacity', 'od_a:capacity'], capReached: false },
      },
    });
  });

  test('of the on-demand walk ends as missing compute and does not bounce back', () => {
    const story = launched().add(0, {
      type: 'WalkStarted',
      data: { walk: 'on_demand', rungs: [], retry: null, day: DAY },
    });
    expect(step(story, viewAt(0, OPEN))).toMatchObject({
      facts: [{ data: { reason: 'no_compute_available' } }],
    });
  });
});

describe('a workload that fails while placing stops the ladder', () => {
  const crashed = (story: Story, rung: string) =>
    story
      .add(0, rungIntent(story, rung), createSending(A, 0), createEnded(A, 0, 'workload_error'))
      .add(0, { type: 'IntentClosed', data: { intent: A, why: 'refused' } });

  test('on a primary rung it escalates under the key of the intent', () => {
    expect(step(crashed(launched(), 'flex_a'), viewAt(0, OPEN))).toMatchObject({
      do: 'escalate',
      escalation: { reason: 'gcp_workload_failover_runpod', key: A },
    });
  });

  test('on a batch rung it is the workload’s fault', () => {
    const story = new Story().launch(plan({ rungs: RUNGS.slice(2) }));
    expect(step(crashed(story, 'batch_a'), viewAt(0, OPEN))).toMatchObject({
      facts: [{ data: { reason: 'workload_failure' } }],
    });
  });

  test('in the on-demand walk after a queue loss it does not bounce back', () => {
    const story = launched().add(0, {
      type: 'WalkStarted',
      data: { walk: 'on_demand', rungs: ['od_a'], retry: null, day: DAY },
    });
    expect(step(crashed(story, 'od_a'), viewAt(0, OPEN))).toMatchObject({
      facts: [{ data: { reason: 'workload_failure' } }],
    });
  });
});
