import { describe, expect, test } from 'vitest';
import type { AlertKind } from '#events/watch.events';
import { at } from '#support/builders';
import {
  createEnded,
  createSending,
  instanceCreated,
  intentId,
  listed,
  machine,
  probed,
  viewAt,
  withOpenIntent,
} from '#support/provision-builders';
import { gone, guest, poll, questionAt, RUNGS, Story, verdictOf } from '#support/watch-builders';
import type { Fact } from '../fact.ts';
import { escalate } from '../intent/escalate.ts';
import { placementRowOf } from '../placement-row.ts';
import { nextStep } from './next-step.ts';
import { terminalMachines } from './terminal-machines.ts';

const A = intentId('a');

/** A pod whose workload never started: kept for a person. Its create may be under way until 330 s. */
const kept = () =>
  withOpenIntent(A).add(
    300,
    createSending(A, 300),
    instanceCreated(A),
    { type: 'IntentClosed', data: { intent: A, why: 'blocked' } },
    {
      type: 'AllocationBlocked',
      data: {
        reason: 'terminal_workload_start_failed',
        verdict: verdictOf('blocked', { reason: 'terminal_workload_start_failed' }),
      },
    },
    {
      type: 'AlertRaised',
      data: { alert: 'kept_pod_billing', subject: 'P1', evidence: { lane: 'runpod' } },
    },
  );
const OF_ANOTHER = { deployment: 'test', allocation: 'f'.repeat(16), intent: A };
const goneAt = (seconds: number) => ({ instance: 'P1', lane: 'runpod', listedAt: at(seconds) });
const notListed = (seconds: number) => viewAt(seconds, { listings: listed(seconds) });
const stepOf = (story: Story, view: ReturnType<typeof viewAt>) => nextStep(story.placement, view);

describe('a machine that was left to a person', () => {
  test.each([
    { startedS: 360, reason: 'the grace after the send limit is not over', gone: false },
    { startedS: 361, reason: 'nothing can turn up any more', gone: true },
  ])('and is missing from a listing of $startedS s: $reason', ({ startedS, gone: isGone }) => {
    const step = stepOf(kept(), notListed(startedS));
    const fact = { type: 'InstanceGone', data: { instance: 'P1', lane: 'runpod', listedAt: at(startedS) } };
    expect(step).toEqual(isGone ? { do: 'append', facts: [fact] } : { do: 'rest' });
  });

  test('bills no more, and its alert is over; that is said once', () => {
    const story = kept();
    expect(placementRowOf(story.placement)).toMatchObject({ bills: true, alerts: 1 });
    const step = stepOf(story, notListed(400));
    if (step.do === 'append') story.add(400, ...step.facts);
    expect(placementRowOf(story.placement)).toMatchObject({ bills: false, alerts: 0 });
    expect(stepOf(story, notListed(500))).toEqual({ do: 'rest' });
  });

  test('bills again when a later listing shows it after all: a person is told, and it can be missed anew', () => {
    const story = kept().add(400, { type: 'InstanceGone', data: goneAt(400) });
    const back = viewAt(460, { listings: listed(460, machine('P1', A)) });
    const step = stepOf(story, back);
    expect(step).toMatchObject({
      facts: [{ type: 'AlertRaised', data: { alert: 'kept_pod_billing', subject: 'P1' } }],
    });
    if (step.do === 'append') story.add(460, ...step.facts);
    expect(placementRowOf(story.placement)).toMatchObject({ bills: true, alerts: 1 });
    expect(stepOf(story, back)).toEqual({ do: 'rest' });
    expect(stepOf(story, notListed(490))).toEqual({ do: 'rest' });
    expect(stepOf(story, notListed(491))).toEqual({
      do: 'append',
      facts: [{ type: 'InstanceGone', data: goneAt(491) }],
    });
  });

  test.each([
    ['has ended', machine('P1', A, { state: 'terminated' })],
    ['is of another allocation', machine('P1', A, { marker: OF_ANOTHER })],
  ])('that was gone and %s brings nothing back', (_what, shown) => {
    const story = kept().add(400, { type: 'InstanceGone', data: goneAt(400) });
    expect(stepOf(story, viewAt(460, { listings: listed(460, shown) }))).toEqual({ do: 'rest' });
    expect(placementRowOf(story.placement).bills).toBe(false);
  });

  test('is polled and bills once it is the instance, whatever a listing missed before', () => {
    const story = kept().add(400, { type: 'InstanceGone', data: goneAt(400) });
    story.placed(460, 'od_a', 'P1');
    expect(story.placement.gone).toEqual([]);
  });

  test.each([
    { reason: 'it is listed', view: viewAt(400, { listings: listed(400, machine('P1', A)) }) },
    { reason: 'the listing failed', view: viewAt(400, { listings: { runpod: 'failed' } }) },
    { reason: 'its lane was not listed', view: viewAt(400) },
    {
      reason: 'nobody knows its lane',
      view: viewAt(400, { listings: listed(400) }, { laneFacts: () => null }),
    },
  ])('is not called gone: $reason', ({ view }) => {
    expect(stepOf(kept(), view)).toEqual({ do: 'rest' });
  });
});

describe('the instance of an allocation', () => {
  const onGcp = (seconds: number) =>
    viewAt(seconds, { listings: { gcp: { startedAt: at(seconds), instances: [] } } });
  const lost = () => {
    const story = new Story().launch('never').placed(0, 'od_a');
    story.see(poll(60, 'running', guest('workload', true)));
    return story;
  };

  test('is left to its poller while it is placed', () => {
    expect(stepOf(lost(), onGcp(400))).toEqual({ do: 'rest' });
  });

  test.each<[string, Fact]>([
    ['done', { type: 'AllocationDone', data: { instance: 'X1', verdict: verdictOf('done') } }],
    [
      'blocked',
      {
        type: 'AllocationBlocked',
        data: { reason: 'failover_declined', verdict: verdictOf('blocked', { reason: 'failover_declined' }) },
      },
    ],
  ])('is known to be gone when that is %s and no listing shows it', (_outcome, over) => {
    const story = lost().add(100, over);
    expect(placementRowOf(story.placement).bills).toBe(true);
    const step = stepOf(story, onGcp(400));
    expect(step).toMatchObject({ facts: [{ type: 'InstanceGone', data: { instance: 'X1', lane: 'gcp' } }] });
    if (step.do === 'append') story.add(400, ...step.facts);
    expect(placementRowOf(story.placement).bills).toBe(false);
    expect(stepOf(story, onGcp(500))).toEqual({ do: 'rest' });
  });

  test('that was seen gone is not looked for', () => {
    const story = lost();
    story.see(gone(120));
    expect(story.placement.outcome).toBe('blocked');
    expect(stepOf(story, onGcp(400))).toEqual({ do: 'rest' });
  });
});

describe('what waits until nothing of ours bills', () => {
  /** Launched anew under `never` while P1 of the launch before is kept: no rung had room. */
  const withoutCompute = () => {
    const story = kept().launch('never', 500);
    for (const { id } of RUNGS) story.add(510, { type: 'RungMissed', data: { rung: id, misses: [] } });
    const exhausted = stepOf(story, viewAt(510));
    if (exhausted.do !== 'escalate') throw new Error('the ladder is exhausted');
    const context = { question: questionAt(510), eventIdAt: story.ids() };
    return story.add(510, ...escalate(story.placement, story.record, exhausted.escalation, context));
  };
  /** The terminal lane had no room, nor had the rungs on demand; then the pod of the lost answer turned up. */
  const withLatePod = () =>
    withOpenIntent(A).add(
      400,
      createSending(A, 300),
      createEnded(A, 300, 'outcome_unknown', { speaksOfShortage: true }),
      { type: 'IntentClosed', data: { intent: A, why: 'missed' } },
      { type: 'WalkStarted', data: { walk: 'on_demand', rungs: [], retry: null, day: '2026-11-29' } },
      { type: 'LateInstanceSeen', data: { intent: A, instance: 'P1' } },
    );

  test('holds the word that compute is missing as long as a kept machine stands', () => {
    const view = viewAt(520, { listings: listed(520, machine('P1', A)) });
    expect(stepOf(withoutCompute(), view)).toEqual({ do: 'wait', why: 'cancel_unconfirmed', until: null });
  });

  test('says it once a listing shows that a person has ended the machine', () => {
    const story = withoutCompute();
    const step = stepOf(story, notListed(520));
    expect(step).toEqual({ do: 'append', facts: [{ type: 'InstanceGone', data: goneAt(520) }] });
    if (step.do === 'append') story.add(520, ...step.facts);
    expect(stepOf(story, notListed(520))).toMatchObject({
      facts: [{ type: 'AllocationBlocked', data: { reason: 'no_compute_available' } }],
    });
  });

  test('ends a late machine of this launch that does nothing', () => {
    const seen = { listings: listed(460, machine('P1', A)), probes: { P1: probed('none') } };
    expect(stepOf(withLatePod(), viewAt(460, seen))).toMatchObject({ do: 'reap', instance: 'P1' });
  });

  test('leaves one that works, tells somebody once, and waits', () => {
    const story = withLatePod();
    const seen = { listings: listed(460, machine('P1', A)), probes: { P1: probed('running') } };
    const step = stepOf(story, viewAt(460, seen));
    expect(step).toMatchObject({ facts: [{ data: { alert: 'two_workloads', subject: 'P1' } }] });
    if (step.do === 'append') story.add(460, ...step.facts);
    expect(stepOf(story, viewAt(460, seen))).toMatchObject({ do: 'wait', why: 'cancel_unconfirmed' });
  });
});

describe('a machine whose end was announced by a worker that died', () => {
  const P2 = { instance: 'P2', intent: A, chain: 'terminal:X1' };
  /** P1 runs the workload; P2 of the same attempt was left over. */
  const leftOver = () => {
    const story = withOpenIntent(A).add(300, createSending(A, 300), instanceCreated(A));
    story.completed(310);
    return story.add(400, { type: 'ReapAnnounced', data: { ...P2, lane: 'runpod', number: 1 } });
  };
  const billing = ({ placement }: Story) => [...terminalMachines(placement, at(0))];

  test('is ended again while it is listed', () => {
    const seen = { listings: listed(460, machine('P2', A)), probes: { P2: probed('none') } };
    expect(stepOf(leftOver(), viewAt(460, seen))).toMatchObject({ do: 'reap', instance: 'P2' });
  });

  test('takes no room of the terminal lane any more once no listing shows it', () => {
    const story = leftOver();
    expect(billing(story)).toEqual(['P1', 'P2']);
    const step = stepOf(story, viewAt(460, { listings: listed(460, machine('P1', A)) }));
    expect(step).toMatchObject({
      facts: [{ type: 'InstanceGone', data: { ...goneAt(460), instance: 'P2' } }],
    });
    if (step.do === 'append') story.add(460, ...step.facts);
    expect(billing(story)).toEqual(['P1']);
  });
});

test.each<[AlertKind, boolean]>([
  ['foreign_marker_conflict', true],
  ['two_workloads', true],
  ['lane_unavailable', false],
  ['cancel_unconfirmed', false],
])('an alert %s is about a machine that can be missed: %s', (alert, isOfMachine) => {
  const story = new Story().launch().placed(0);
  story.add(10, { type: 'AlertRaised', data: { alert, subject: 'F1', evidence: { lane: 'runpod' } } });
  expect(stepOf(story, notListed(41)).do).toBe(isOfMachine ? 'append' : 'rest');
  expect(stepOf(story, notListed(40)).do).toBe('rest');
});
