import { describe, expect, test } from 'vitest';
import type { AlertKind } from '#events/watch.events';
import { at, HOUR_S } from '#support/builders';
import {
  createEnded,
  createSending,
  instanceCreated,
  intentId,
  intentRecorded,
  vanished,
  withOpenIntent,
} from '#support/provision-builders';
import { gone, guest, poll, Story, verdictOf } from '#support/watch-builders';
import type { Fact } from '../fact.ts';
import { alertOnce } from './blocked.ts';

const A = intentId('a');
const B = intentId('b');

const alert = (kind: AlertKind, subject: string, lane: string | null = null): Fact => ({
  type: 'AlertRaised',
  data: { alert: kind, subject, evidence: lane === null ? {} : { lane } },
});
const placed = () => new Story().launch().placed(0);
const openIn = ({ placement }: Story) => placement.alerts.map((open) => `${open.alert} ${open.subject}`);

const reaped = (instance: string): Fact => ({
  type: 'ResidueReaped',
  data: { instance, intent: A, chain: 'terminal:X1' },
});
const cancelled = (instance: string): Fact => ({ type: 'CancelConfirmed', data: { instance } });
const listedNoMore = (instance: string, lane = 'runpod'): Fact => ({
  type: 'InstanceGone',
  data: { instance, lane, listedAt: at(500) },
});
const completed = (instance: string): Fact => ({
  type: 'FailoverCompleted',
  data: { intent: A, instance, lane: 'runpod', key: 'X1', verdict: verdictOf('running_on_terminal') },
});
const closed = (intent: string, why: 'missed' | 'replaced' | 'blocked'): Fact => ({
  type: 'IntentClosed',
  data: { intent, why },
});
const retried: Fact = {
  type: 'WalkStarted',
  data: { walk: 'retry', rungs: [], retry: 1, day: '2026-11-30' },
};
const missed = (kind: 'capacity' | 'auth' | 'unavailable' | 'rejected'): Fact => ({
  type: 'RungMissed',
  data: { rung: 'flex_a', misses: [{ rung: 'flex_a', zone: null, kind, code: null, failureDigest: null }] },
});
const done: Fact = { type: 'AllocationDone', data: { instance: 'X1', verdict: verdictOf('done') } };
const voided: Fact = {
  type: 'FailoverVoided',
  data: {
    key: 'X1',
    instance: 'X1',
    why: 'running',
    dropsRungLoss: false,
    verdict: verdictOf('placed_primary'),
    after: new Story().record.scalars,
  },
};
const released: Fact = { type: 'RewindReleased', data: { instance: 'P7', releasedBy: 'local' } };
const announced: Fact = {
  type: 'ReapAnnounced',
  data: { instance: 'P1', lane: 'runpod', intent: A, chain: 'terminal:X1', number: 1 },
};

describe('an alert ends with the fact that its subject has changed', () => {
  test.each<[AlertKind, string, string, readonly Fact[], readonly Fact[]]>([
    ['residue_unresolved', 'P1', 'it is reaped', [reaped('P1')], [reaped('P2'), announced]],
    ['residue_unresolved', 'P1', 'it does the work', [completed('P1')], [completed('P2')]],
    ['kept_pod_billing', 'P1', 'it is listed no more', [listedNoMore('P1')], [listedNoMore('P2')]],
    ['kept_pod_billing', 'P1', 'of its lane', [listedNoMore('P1')], [listedNoMore('P1', 'gcp'), done]],
    ['keep_mark_blocks', 'P1', 'it is ended after all', [announced], [closed(A, 'missed')]],
    ['keep_mark_blocks', 'P1', 'it does the work', [completed('P1')], []],
    ['two_workloads', 'P1', 'one of them is gone', [cancelled('P1')], [completed('P1'), done]],
    ['cancel_unconfirmed', 'X1', 'it is confirmed', [cancelled('X1')], [cancelled('X2')]],
    ['cancel_unconfirmed', 'X1', 'it is owed no more', [voided], [done]],
    ['create_unknown_repeated', 'terminal:X1', 'it has its machine', [instanceCreated(A)], []],
    [
      'create_unknown_repeated',
      'terminal:X1',
      'it is given up',
      [closed(A, 'missed')],
      [closed(A, 'replaced')],
    ],
    ['foreign_marker_conflict', 'F1', 'it is listed no more', [listedNoMore('F1')], [done]],
    ['wedge_without_consent', 'X1', 'it is listed no more', [listedNoMore('X1')], [done]],
    ['capacity_retries_exhausted', '2026-11-29', 'it is tried again', [retried], [closed(A, 'missed')]],
    ['log_rewound', 'P7', 'a person has released it', [released], [done]],
    ['terminal_limit_reached', 'X1', 'a create is sent', [createSending(A, 400)], [closed(A, 'replaced')]],
    ['terminal_limit_reached', 'X1', 'there is no move any more', [voided], []],
    ['delivered_pool_differs', 'X1', 'it is listed no more', [listedNoMore('X1', 'gcp')], [done]],
  ])('%s about %s: %s', (kind, subject, _how, ends, quiet) => {
    const story = withOpenIntent(A).add(310, alert(kind, subject, subject === 'P1' ? 'runpod' : null));
    story.add(
      320,
      ...quiet.filter(({ type }) => type !== 'AllocationDone' || kind !== 'terminal_limit_reached'),
    );
    expect(openIn(story)).toContain(`${kind} ${subject}`);
    expect(openIn(story.add(330, ...ends))).not.toContain(`${kind} ${subject}`);
  });

  test.each<[AlertKind, readonly Fact[], readonly Fact[]]>([
    ['lane_unavailable', [missed('capacity')], [missed('unavailable'), missed('rejected'), missed('auth')]],
    ['lane_auth_failed', [missed('rejected')], [missed('auth'), missed('unavailable')]],
    ['lane_unavailable', [cancelled('X1')], []],
    ['lane_unavailable', [{ type: 'RungSkipped', data: { rung: 'od_a', why: 'quota' } }], []],
  ])('%s: the lane answers', (kind, ends, quiet) => {
    const story = placed()
      .add(10, alert(kind, 'gcp', 'gcp'))
      .add(20, ...quiet);
    expect(openIn(story)).toEqual([`${kind} gcp`]);
    expect(openIn(story.add(30, ...ends))).toEqual([]);
  });

  test.each<[AlertKind, Fact, Fact]>([
    ['lane_auth_failed', createEnded(A, 320, 'auth'), createEnded(A, 330, 'balance')],
    ['lane_auth_failed', createEnded(A, 320, 'outcome_unknown'), createEnded(A, 330, 'workload_error')],
    ['lane_unavailable', createEnded(A, 320, 'rate_limited'), createEnded(A, 330, 'capacity')],
    ['lane_unavailable', createEnded(A, 320, 'rejected'), instanceCreated(A)],
  ])('%s of the terminal lane stays after %o', (kind, quiet, ends) => {
    const story = withOpenIntent(A).add(310, alert(kind, 'runpod', 'runpod'), alert(kind, 'gcp', 'gcp'));
    expect(openIn(story.add(320, quiet))).toEqual([`${kind} runpod`, `${kind} gcp`]);
    expect(openIn(story.add(330, ends))).toEqual([`${kind} gcp`]);
  });

  test('a machine that is seen without the trouble, or gone', () => {
    const story = placed().add(10, alert('failed_machine_up', 'X1'));
    story.see(poll(60, 'running', guest('failed', null)));
    expect(openIn(story)).toEqual(['failed_machine_up X1']);
    story.see(poll(120, 'running', guest('workload', true)));
    expect(openIn(story)).toEqual([]);
    story.add(130, alert('failed_machine_up', 'X1'));
    story.see(poll(140, 'running', guest('failed', null)), gone(180));
    expect(openIn(story)).toEqual([]);
  });

  test('a pod that has its port again', () => {
    const story = vanished()
      .completed(400)
      .add(410, alert('terminal_pod_unreachable', 'P1', 'runpod'));
    const pod = { instance: 'P1', lane: 'runpod' } as const;
    story.see(poll(500, 'running', { ...pod, port: false }));
    expect(openIn(story)).toEqual(['terminal_pod_unreachable P1']);
    story.see(poll(560, 'running', { ...pod, port: true }));
    expect(openIn(story)).toEqual([]);
  });

  test('a new launch ends what was about lanes and days; a machine may bill on', () => {
    const story = vanished().completed(400);
    story.add(
      410,
      alert('lane_unavailable', 'gcp', 'gcp'),
      alert('lane_auth_failed', 'gcp', 'gcp'),
      alert('capacity_retries_exhausted', '2026-11-29'),
      alert('kept_pod_billing', 'P1', 'runpod'),
      alert('residue_unresolved', 'P2', 'runpod'),
    );
    expect(openIn(story.launch('standing', 500))).toEqual(['kept_pod_billing P1', 'residue_unresolved P2']);
  });
});

describe('an open alert', () => {
  test('says when it was raised and by which event, and is not raised again', () => {
    const story = placed().add(10, alert('two_workloads', 'X2', 'gcp'));
    const { facts } = story;
    expect(story.placement.alerts).toEqual([
      {
        alert: 'two_workloads',
        subject: 'X2',
        lane: 'gcp',
        at: at(10),
        eventId: story.placement.alerts[0]?.eventId,
        version: facts.length,
      },
    ]);
    expect(alertOnce(story.placement, 'two_workloads', 'X2')).toEqual([]);
    expect(alertOnce(story.placement, 'two_workloads', 'X3')).toHaveLength(1);
    expect(alertOnce(story.placement, 'kept_pod_billing', 'X2')).toHaveLength(1);
  });

  test('may be raised again once it has ended', () => {
    const story = placed().add(10, alert('two_workloads', 'X2', 'gcp'), cancelled('X2'));
    expect(alertOnce(story.placement, 'two_workloads', 'X2')).toHaveLength(1);
  });

  test('is one, however often it is raised: a repeat moves its time', () => {
    const story = placed().add(10, alert('kept_pod_billing', 'P1', 'runpod'));
    story.add(6 * HOUR_S, alert('kept_pod_billing', 'P1', 'runpod'));
    // As older builds said it.
    story.add(12 * HOUR_S, alert('kept_pod_billing', 'P1 again 2', 'runpod'));
    expect(story.placement.alerts).toMatchObject([{ subject: 'P1', at: at(12 * HOUR_S) }]);
  });

  test('about a day gives way to the next day’s', () => {
    const story = placed().add(10, alert('capacity_retries_exhausted', '2026-11-29'));
    story.add(86_400, alert('capacity_retries_exhausted', '2026-11-30'));
    expect(openIn(story)).toEqual(['capacity_retries_exhausted 2026-11-30']);
  });

  test('of another chain is left alone', () => {
    const story = withOpenIntent(A).add(
      310,
      closed(A, 'missed'),
      intentRecorded(B, { kind: 'terminal' }, { chain: 'terminal:X2' }),
      alert('create_unknown_repeated', 'terminal:X1'),
      instanceCreated(B),
    );
    expect(openIn(story)).toEqual(['create_unknown_repeated terminal:X1']);
  });
});
