import { describe, expect, test } from 'vitest';
import type { LaneInstance } from '#domain/provision/lane';
import { at, HOUR_S } from '#support/builders';
import {
  createEnded,
  createSending,
  instanceCreated,
  intentId,
  intentRecorded,
  listed,
  machine,
  probed,
  recordedBy,
  viewAt,
  withOpenIntent,
} from '#support/provision-builders';
import { guest, poll, Story, verdictOf } from '#support/watch-builders';
import { nextStep } from './next-step.ts';
import { retryFacts, retryFinding } from './retry-pass.ts';
import type { Step, View } from './step.ts';

const A = intentId('a');
const step = (story: Story, view: View): Step => nextStep(story.placement, view);

/** The move is completed by P1. */
const completed = () =>
  withOpenIntent(A)
    .add(301, instanceCreated(A))
    .add(
      302,
      { type: 'WorkloadDispatched', data: { intent: A, instance: 'P1' } },
      {
        type: 'FailoverCompleted',
        data: {
          intent: A,
          instance: 'P1',
          lane: 'runpod',
          key: 'X1',
          verdict: verdictOf('running_on_terminal'),
        },
      },
    );
const blockedFor = (reason: 'no_compute_available' | 'terminal_residue_unresolved') =>
  withOpenIntent(A)
    .add(301, { type: 'IntentClosed', data: { intent: A, why: 'missed' } })
    .add(310, {
      type: 'AllocationBlocked',
      data: {
        reason,
        verdict: verdictOf('blocked', {
          reason,
          failureClass: 'infra',
          redrivable: reason === 'no_compute_available',
        }),
      },
    });

describe('own machines that no handle names', () => {
  const idle = machine('P2', A);

  test('the current one is left alone, whatever it does', () => {
    expect(step(completed(), viewAt(400, { listings: listed(400, machine('P1', A)) }))).toEqual({
      do: 'rest',
    });
  });

  test('one that positively does nothing is ended', () => {
    const view = viewAt(400, { listings: listed(400, idle), probes: { P2: probed('none') } });
    expect(step(completed(), view)).toMatchObject({ do: 'reap', instance: 'P2' });
  });

  test('one that works is only reported', () => {
    const view = viewAt(400, { listings: listed(400, idle), probes: { P2: probed('running') } });
    expect(step(completed(), view)).toMatchObject({
      facts: [{ data: { alert: 'two_workloads', subject: 'P2' } }],
    });
  });

  test.each([probed('unknown'), probed('finished', 'complete', 'failed'), 'failed' as const])(
    'one of which a probe says %o is left alone',
    (probe) => {
      const view = viewAt(400, { listings: listed(400, idle), probes: { P2: probe } });
      expect(step(completed(), view)).toEqual({ do: 'rest' });
    },
  );

  test('one with a keep mark is never ended, and somebody is told', () => {
    const kept = { ...idle, keep: true };
    const view = viewAt(400, { listings: listed(400, kept), probes: { P2: probed('none') } });
    expect(step(completed(), view)).toMatchObject({ facts: [{ data: { alert: 'keep_mark_blocks' } }] });
  });

  test('pitfall 33: a listing that failed ends nothing', () => {
    expect(step(completed(), viewAt(400, { listings: { runpod: 'failed' } }))).toEqual({ do: 'rest' });
  });

  test('those of a blocked allocation are left for a person, told of at once and every six hours', () => {
    const story = blockedFor('terminal_residue_unresolved');
    const view = (seconds: number) =>
      viewAt(seconds, { listings: listed(seconds, idle), probes: { P2: probed('none') } });
    for (const seconds of [400, 400 + 6 * HOUR_S, 400 + 12 * HOUR_S]) {
      const alert = step(story, view(seconds));
      expect(alert).toMatchObject({ facts: [{ data: { alert: 'kept_pod_billing' } }] });
      if (alert.do === 'append') story.add(seconds, ...alert.facts);
      expect(step(story, view(seconds + 60))).toEqual({ do: 'rest' });
    }
  });

  test('a late one of an allocation that lacks compute is ended: nothing of ours may bill then', () => {
    const view = viewAt(400, { listings: listed(400, idle), probes: { P2: probed('none') } });
    expect(step(blockedFor('no_compute_available'), view)).toMatchObject({ do: 'reap', instance: 'P2' });
  });
});

describe('a machine of a lane whose create starts the workload', () => {
  const rung = { kind: 'rung', rung: 'od_a', zone: null } as const;
  const onGcp = (seconds: number, ...instances: readonly LaneInstance[]) =>
    viewAt(seconds, { listings: { gcp: { startedAt: at(seconds), instances } } });
  /** The create of A was given up without an answer, and X2 was placed instead. */
  const elsewhere = () =>
    new Story()
      .launch()
      .add(10, intentRecorded(A, rung), createSending(A, 10), createEnded(A, 40, 'outcome_unknown'))
      .add(90, { type: 'IntentClosed', data: { intent: A, why: 'missed' } })
      .placed(100, 'od_a', 'X2');
  const blockedAfter = () =>
    elsewhere().add(
      200,
      { type: 'WalkStarted', data: { walk: 'create_failed', rungs: [], retry: null, day: '2026-11-29' } },
      {
        type: 'AllocationBlocked',
        data: { reason: 'failover_declined', verdict: verdictOf('blocked', { reason: 'failover_declined' }) },
      },
    );

  test.each([
    { story: elsewhere, alert: 'two_workloads', beside: 'the instance' },
    { story: blockedAfter, alert: 'residue_unresolved', beside: 'nothing' },
  ])('that turns up late beside $beside is told of once as $alert, and never ended', ({ story, alert }) => {
    const told = story();
    const view = onGcp(300, machine('X1', A));
    const next = step(told, view);
    expect(next).toMatchObject({ facts: [{ data: { alert, subject: 'X1', evidence: { lane: 'gcp' } } }] });
    if (next.do === 'append') told.add(300, ...next.facts);
    expect(step(told, view)).toEqual({ do: 'rest' });
    // Once it is gone, so is its alert.
    expect(step(told, onGcp(400))).toMatchObject({ facts: [{ type: 'InstanceGone' }] });
  });

  test.each([
    ['has ended', machine('X1', A, { state: 'terminated' })],
    ['is the instance', machine('X2', A)],
  ])('that %s is no news', (_what, shown) => {
    expect(step(elsewhere(), onGcp(300, shown))).toEqual({ do: 'rest' });
  });

  test('that was an instance before is left to the rules about instances', () => {
    const moved = elsewhere().placed(200, 'od_a', 'X3');
    expect(step(moved, onGcp(300, machine('X2', A)))).toEqual({ do: 'rest' });
  });
});

describe('cancels', () => {
  const owed = () =>
    completed().add(310, { type: 'CancelUnconfirmed', data: { instance: 'X1', lane: 'gcp', kind: null } });

  test('one that is owed is tried once in every pass, and only in a pass', () => {
    expect(step(owed(), viewAt(400))).toEqual({ do: 'rest' });
    expect(step(owed(), viewAt(400, { pass: true }))).toMatchObject({
      do: 'cancel',
      instance: 'X1',
      superseded: true,
    });
    expect(step(owed(), viewAt(400, { pass: true, cancelTried: ['X1'] }))).toEqual({ do: 'rest' });
  });

  test('a cancelled instance that is listed alive is cancelled again', () => {
    const story = owed().add(320, { type: 'CancelConfirmed', data: { instance: 'X1' } });
    const listings = { gcp: { startedAt: '2026-11-29T11:00:00.000Z', instances: [machine('X1', A)] } };
    expect(step(story, viewAt(400, { listings }))).toMatchObject({ do: 'cancel', instance: 'X1' });
  });

  test('a machine of the same id on another lane is left alone', () => {
    const story = owed().add(320, { type: 'CancelConfirmed', data: { instance: 'X1' } });
    const unmarked = { deployment: null, allocation: null, intent: null };
    const listings = listed(390, machine('X1', A, { name: 'by-hand', marker: unmarked }));
    expect(step(story, viewAt(400, { listings }))).toEqual({ do: 'rest' });
  });
});

describe('the capacity-retry pass', () => {
  const at_ = (seconds: number) => viewAt(seconds).now;

  test.each([
    { afterS: 3_599, kind: 'not_yet' },
    { afterS: 3_600, kind: 'due' },
  ])('$afterS s after the block: $kind', ({ afterS, kind }) => {
    expect(retryFinding(blockedFor('no_compute_available').placement, at_(310 + afterS)).kind).toBe(kind);
  });

  test('no other reason is re-driven', () => {
    const { placement } = blockedFor('terminal_residue_unresolved');
    expect(retryFinding(placement, at_(99_999)).kind).toBe('not_yet');
  });

  test('four a day, then one alert for the day', () => {
    const story = blockedFor('no_compute_available');
    for (let retry = 1; retry <= 4; retry += 1) {
      const seconds = 310 + retry * 3_600;
      story.add(seconds, ...retryFacts(story.placement, at_(seconds)));
      story.add(seconds, {
        type: 'AllocationBlocked',
        data: {
          reason: 'no_compute_available',
          verdict: verdictOf('blocked', { reason: 'no_compute_available', redrivable: true }),
        },
      });
    }
    const finding = retryFinding(story.placement, at_(310 + 5 * 3_600));
    expect(finding).toMatchObject({ kind: 'exhausted', facts: [{ data: { subject: '2026-11-29' } }] });
    if (finding.kind === 'exhausted') story.add(310 + 5 * 3_600, ...finding.facts);
    expect(retryFinding(story.placement, at_(310 + 6 * 3_600))).toEqual({ kind: 'exhausted', facts: [] });
  });

  test('it enters the whole ladder anew', () => {
    const { placement } = blockedFor('no_compute_available');
    expect(retryFacts(placement, at_(4_000))).toMatchObject([
      { type: 'WalkStarted', data: { walk: 'retry', retry: 1, rungs: ['flex_a', 'od_a', 'batch_a'] } },
    ]);
  });
});

test('an instance that failed there is no cause for anything more', () => {
  const story = completed();
  story.see(poll(6_000, 'running', { ...guest('failed', true), instance: 'P1', lane: 'runpod' }));
  expect(recordedBy(step(story, viewAt(6_000)))).toEqual(['rest']);
});
