import { describe, expect, test } from 'vitest';
import { at } from '#support/builders';
import {
  createEnded,
  createSending,
  foreignMachine,
  instanceCreated,
  intentId,
  intentRecorded,
  listed,
  machine,
  openIntent,
  PRIMARY,
  probed,
  recordedBy,
  viewAt,
  withOpenIntent,
} from '#support/provision-builders';
import type { Story } from '#support/watch-builders';
import { ownLeftovers } from '../placement.ts';
import { nextStep } from './next-step.ts';
import { graceEnd } from './resolve.ts';
import type { Step, View } from './step.ts';

const A = intentId('a');
const step = (story: Story, view: View): Step => nextStep(story.placement, view);
const sent = () => withOpenIntent(A).add(300, createSending(A, 300));
const unknown = () => sent().add(300, createEnded(A, 300, 'outcome_unknown'));

describe('a worker that finds an intent open', () => {
  test('takes its lease before anything else', () => {
    expect(step(withOpenIntent(A), viewAt(420, { fence: null }))).toEqual({ do: 'take_lease', intent: A });
  });

  test.each<[string, Story, Partial<View['work']>]>([
    ['a listing that failed', unknown(), { listings: { runpod: 'failed' } }],
    ['a grace that is not over', unknown(), { listings: listed(330) }],
    [
      'a pause that is not over',
      sent().add(300, createEnded(A, 300, 'rate_limited', { notBefore: at(500) })),
      { listings: listed(420) },
    ],
    [
      'a machine that gives no answer',
      sent(),
      { listings: listed(420, machine('P1', A)), probes: { P1: 'failed' } },
    ],
  ])('leaves it without a lease, and so without an event, for %s', (_reason, story, work) => {
    expect(step(story, viewAt(420, { fence: null, ...work })).do).toBe('wait');
  });

  test('asks a machine before it takes the lease: most often it has to wait for it', () => {
    const listings = listed(420, machine('P1', A));
    expect(step(sent(), viewAt(420, { fence: null, listings }))).toMatchObject({ do: 'probe' });
    const probes = { P1: probed('running') };
    expect(step(sent(), viewAt(420, { fence: null, listings, probes }))).toMatchObject({ do: 'take_lease' });
  });

  test('takes the lease before it looks: of several that find it open one makes a listing', () => {
    expect(step(unknown(), viewAt(420, { fence: null }))).toMatchObject({ do: 'take_lease' });
    expect(step(unknown(), viewAt(420, { fence: null, listings: listed(420) }))).toMatchObject({
      do: 'take_lease',
    });
  });

  test('looks before it sends, though nothing was sent', () => {
    expect(step(withOpenIntent(A), viewAt(420))).toEqual({ do: 'list', lane: 'runpod' });
  });

  test('sends under the same intent when nothing was sent and nothing is listed', () => {
    const view = viewAt(420, { listings: listed(420) });
    expect(step(withOpenIntent(A), view)).toMatchObject({ do: 'create', intent: { intent: A } });
  });

  test('does nothing on a listing that failed or is partial', () => {
    const view = viewAt(420, { listings: { runpod: 'failed' } });
    expect(step(unknown(), view)).toMatchObject({ do: 'wait', why: 'listing_failed' });
  });

  test('a worker that opened it itself goes straight on', () => {
    expect(step(withOpenIntent(A), viewAt(300, { knows: [A] }))).toMatchObject({ do: 'create' });
  });

  test('sends nothing while it only observes', () => {
    const view = viewAt(300, { knows: [A] }, { rules: { deployment: 'test', observeOnly: true } });
    expect(step(withOpenIntent(A), view)).toMatchObject({ do: 'wait', why: 'observe_only' });
  });

  test('does nothing on a lane that has no driver, and somebody is told', () => {
    const view = viewAt(300, {}, { laneFacts: () => null });
    expect(recordedBy(step(withOpenIntent(A), view))).toEqual(['AlertRaised']);
  });
});

describe('nothing of ours is listed', () => {
  test.each([
    { what: 'before the grace is over', startedS: 329, waits: true },
    { what: 'exactly at its end', startedS: 330, waits: true },
    { what: 'after it', startedS: 330.001, waits: false },
  ])('a look that began $what: waits $waits', ({ startedS, waits }) => {
    const view = viewAt(600, { listings: listed(startedS) });
    const next = step(unknown(), view);
    if (waits) expect(next).toEqual({ do: 'wait', why: 'listing_grace', until: at(330) });
    else expect(next).toMatchObject({ do: 'open_intent', replaces: A, chain: 'terminal:X1' });
  });

  test('pitfall 29: without a known end the grace counts from the send limit and the deadline', () => {
    const intent = openIntent(sent());
    expect(graceEnd(intent, { ...PRIMARY, createDeadlineMs: 20_000 })).toBe(at(300 + 30 + 20 + 30));
    expect(step(sent(), viewAt(600, { listings: listed(359) }))).toMatchObject({ do: 'wait' });
  });

  test('pitfall 30: an unknown outcome is looked for before any second create', () => {
    expect(step(unknown(), viewAt(300, { knows: [A] }))).toEqual({ do: 'list', lane: 'runpod' });
  });

  test('a text of missing capacity counts once the look found nothing', () => {
    const story = sent().add(300, createEnded(A, 300, 'outcome_unknown', { speaksOfShortage: true }));
    expect(step(story, viewAt(320, { listings: listed(320) }))).toMatchObject({ do: 'wait' });
    expect(recordedBy(step(story, viewAt(331, { listings: listed(331) })))).toEqual(['IntentClosed']);
  });

  test('three unknown creates in a chain: somebody is told, then 60 s, doubling', () => {
    const [b, c] = [intentId('b'), intentId('c')];
    const closed = (intent: string) => ({
      type: 'IntentClosed' as const,
      data: { intent, why: 'replaced' as const },
    });
    const story = unknown()
      .add(340, closed(A), intentRecorded(b), createSending(b, 340), createEnded(b, 340, 'outcome_unknown'))
      .add(380, closed(b), intentRecorded(c), createSending(c, 380), createEnded(c, 380, 'outcome_unknown'));
    const view = viewAt(412, { listings: listed(412) });
    const alert = step(story, view);
    expect(recordedBy(alert)).toEqual(['AlertRaised']);
    if (alert.do === 'append') story.add(412, ...alert.facts);
    expect(step(story, view)).toEqual({ do: 'wait', why: 'pause', until: at(440) });
    expect(step(story, viewAt(440, { listings: listed(440) }))).toMatchObject({ do: 'open_intent' });
  });

  test('a machine that got a dispatch and is gone is never made again', () => {
    const story = sent()
      .add(301, instanceCreated(A))
      .add(302, { type: 'DispatchSending', data: { intent: A, instance: 'P1', number: 1 } });
    const next = step(story, viewAt(900, { listings: listed(900) }));
    expect(next).toMatchObject({
      do: 'append',
      facts: [{ type: 'IntentClosed' }, { data: { reason: 'instance_lost_after_start' } }],
    });
  });

  test('a half-built machine that disappeared by itself is replaced, and that is no reap', () => {
    const story = sent()
      .add(301, instanceCreated(A))
      .add(301, { type: 'BootstrapBegun', data: { intent: A, instance: 'P1', begunAt: at(301) } });
    const view = viewAt(420, { listings: listed(420) });
    const gone = step(story, view);
    expect(gone).toEqual({
      do: 'append',
      facts: [{ type: 'InstanceGone', data: { instance: 'P1', lane: 'runpod', listedAt: at(420) } }],
    });
    if (gone.do === 'append') story.add(420, ...gone.facts);
    // It is no residue any more, whatever the next create is answered.
    expect(ownLeftovers(story.placement)).toEqual([]);
    expect(step(story, view)).toMatchObject({ do: 'open_intent', replaces: A });
    expect(story.placement.reaps).toEqual({});
  });

  test('a machine that disappeared and is found again after all may bill again once it is taken', () => {
    const story = sent()
      .add(301, instanceCreated(A))
      .add(420, { type: 'InstanceGone', data: { instance: 'P1', lane: 'runpod', listedAt: at(420) } });
    expect(ownLeftovers(story.placement)).toEqual([]);
    story.add(421, { ...instanceCreated(A), type: 'InstanceAdopted' });
    expect(ownLeftovers(story.placement)).toEqual(['P1']);
  });
});

describe('own machines are listed', () => {
  const own = machine('P1', A, { createdAt: at(300) });
  const found = (...machines: Parameters<typeof listed>[1][]) => listed(420, ...machines);

  test('pitfall 29: one that the log did not know is probed, then adopted', () => {
    const view = viewAt(420, { listings: found(own) });
    expect(step(sent(), view)).toEqual({ do: 'probe', lane: 'runpod', instance: 'P1' });
    const probes = { P1: probed('none', 'not_begun') };
    expect(recordedBy(step(sent(), viewAt(420, { listings: found(own), probes })))).toEqual([
      'InstanceAdopted',
    ]);
  });

  test('one whose workload runs is completed without a dispatch', () => {
    const story = sent().add(301, instanceCreated(A));
    const view = viewAt(420, { listings: found(own), probes: { P1: probed('running') } });
    expect(recordedBy(step(story, view))).toEqual(['WorkloadDispatched', 'FailoverCompleted']);
  });

  test('a probe that gives no answer holds everything', () => {
    const view = viewAt(420, { listings: found(own), probes: { P1: 'failed' } });
    expect(step(sent(), view)).toMatchObject({ do: 'wait', why: 'probe_unknown' });
  });

  // Sent until 330 s, and `no_port_s` is 900.
  test.each([
    { seconds: 1_230, told: false },
    { seconds: 1_230.001, told: true },
  ])('one that nobody can ask at $seconds s is told of: $told, and stays', ({ seconds, told }) => {
    const view = viewAt(seconds, { listings: { ...listed(seconds, own) }, probes: { P1: 'failed' } });
    const story = sent();
    if (told) {
      const alert = step(story, view);
      expect(alert).toMatchObject({
        do: 'append',
        facts: [{ type: 'AlertRaised', data: { alert: 'terminal_pod_unreachable', subject: 'P1' } }],
      });
      if (alert.do === 'append') story.add(seconds, ...alert.facts);
    }
    expect(step(story, view)).toMatchObject({ do: 'wait', why: 'probe_unknown' });
  });

  test('a half-built one goes, and only then a new one is made', () => {
    const story = sent()
      .add(301, instanceCreated(A))
      .add(301, { type: 'BootstrapBegun', data: { intent: A, instance: 'P1', begunAt: at(301) } });
    const probes = { P1: probed('none', 'begun') };
    const view = viewAt(420, { listings: found(own), probes });
    expect(step(story, view)).toMatchObject({ do: 'reap', instance: 'P1' });
  });

  test.each([
    { reaps: 1, does: 'reap' },
    { reaps: 2, does: 'append' },
  ])('after $reaps reaps of the chain: $does', ({ reaps, does }) => {
    const story = sent()
      .add(301, instanceCreated(A))
      .add(301, { type: 'BootstrapBegun', data: { intent: A, instance: 'P1', begunAt: at(301) } });
    for (let number = 1; number <= reaps; number += 1) {
      const data = { instance: `P0${number}`, lane: 'runpod', intent: A, chain: 'terminal:X1', number };
      story.add(302, { type: 'ReapAnnounced', data });
    }
    const probes = { P1: probed('none', 'begun') };
    expect(step(story, viewAt(420, { listings: found(own), probes })).do).toBe(does);
  });

  test('two of ours, one works: that one stays', () => {
    const working = machine('P2', A, { createdAt: at(305) });
    const probes = { P1: probed('none'), P2: probed('running') };
    const view = viewAt(420, { listings: found(own, working), probes });
    expect(step(sent(), view)).toMatchObject({ do: 'append', facts: [{ data: { instance: 'P2' } }] });
  });

  test('two of ours both work: the older is taken, the other is reported and left', () => {
    const second = machine('P2', A, { createdAt: at(290) });
    const probes = { P1: probed('running'), P2: probed('running') };
    const next = step(sent(), viewAt(420, { listings: found(own, second), probes }));
    expect(next).toMatchObject({
      do: 'append',
      facts: [
        { type: 'AlertRaised', data: { alert: 'two_workloads', subject: 'P1' } },
        { type: 'InstanceAdopted', data: { instance: 'P2' } },
      ],
    });
  });

  test('two of ours, one probe unknown: nothing is done to either', () => {
    const second = machine('P2', A, { createdAt: at(290) });
    const probes = { P1: probed('running'), P2: 'failed' as const };
    const view = viewAt(420, { listings: found(own, second), probes });
    expect(step(sent(), view)).toMatchObject({ do: 'wait', why: 'probe_unknown' });
  });

  test('a keep mark holds it unless its workload runs', () => {
    const kept = { ...own, keep: true, state: 'terminated' as const };
    const next = step(sent(), viewAt(420, { listings: found(kept) }));
    expect(next).toMatchObject({ facts: [{ data: { alert: 'keep_mark_blocks', subject: 'P1' } }] });
    const runs = { ...own, keep: true };
    const view = viewAt(420, { listings: found(runs), probes: { P1: probed('running') } });
    expect(recordedBy(step(sent(), view))).toEqual(['InstanceAdopted']);
  });

  test('one that may have run and cannot be read is a person’s', () => {
    const story = sent()
      .add(301, instanceCreated(A))
      .add(302, { type: 'DispatchSending', data: { intent: A, instance: 'P1', number: 1 } });
    const ended = { ...own, state: 'terminated' as const };
    const view = viewAt(420, { listings: found(ended), probes: { P1: probed('unknown') } });
    expect(step(story, view)).toMatchObject({
      facts: [
        { type: 'IntentClosed' },
        { data: { reason: 'terminal_residue_unresolved' } },
        { data: { alert: 'residue_unresolved', subject: 'P1' } },
      ],
    });
  });

  test.each([
    { result: 'done' as const, ends: 'AllocationDone' },
    { result: 'failed' as const, ends: 'AllocationBlocked' },
  ])('a workload that ended before anybody looked is adopted, then judged: $result', ({ result, ends }) => {
    const story = sent()
      .add(301, instanceCreated(A))
      .add(302, { type: 'DispatchSending', data: { intent: A, instance: 'P1', number: 1 } });
    const probes = { P1: probed('finished', 'complete', result) };
    const next = step(story, viewAt(420, { listings: found(own), probes }));
    expect(recordedBy(next).slice(0, 3)).toEqual(['WorkloadDispatched', 'FailoverCompleted', ends]);
  });
});

describe('machines that are none of ours', () => {
  test('a person’s machine of the same name is recorded once, and holds nothing up', () => {
    const story = withOpenIntent(A);
    const view = viewAt(420, { listings: listed(420, foreignMachine('P9')) });
    const seen = step(story, view);
    expect(recordedBy(seen)).toEqual(['ForeignInstanceSeen']);
    if (seen.do === 'append') story.add(420, ...seen.facts);
    expect(step(story, view)).toMatchObject({ do: 'create' });
  });

  test('a machine of an unknown intent proves a restored backup: no create until a person says so', () => {
    const story = withOpenIntent(A);
    const view = viewAt(420, { listings: listed(420, machine('P9', intentId('q'))) });
    const seen = step(story, view);
    expect(recordedBy(seen)).toEqual(['LogRewound', 'AlertRaised']);
    if (seen.do === 'append') story.add(420, ...seen.facts);
    expect(step(story, view)).toMatchObject({ do: 'wait', why: 'log_rewound' });
    story.add(500, { type: 'RewindReleased', data: { instance: 'P9', releasedBy: 'local' } });
    expect(step(story, viewAt(500, { listings: listed(500) }))).toMatchObject({ do: 'create' });
  });
});

describe('the answer to a create', () => {
  const answered = (answer: Parameters<typeof createEnded>[2], notBeforeS: number | null = null) =>
    sent().add(300, createEnded(A, 300, answer, { notBefore: notBeforeS === null ? null : at(notBeforeS) }));

  test.each(['capacity', 'quota', 'rejected', 'balance', 'not_found'] as const)(
    '%s ends the attempt without a look',
    (answer) => {
      expect(recordedBy(step(answered(answer), viewAt(300, { knows: [A] })))).toEqual(['IntentClosed']);
    },
  );

  test('a name that is somebody else’s takes a new intent', () => {
    expect(step(answered('name_taken'), viewAt(300, { knows: [A] }))).toMatchObject({
      do: 'open_intent',
      replaces: A,
    });
  });

  test.each([
    { atS: 329, does: 'wait' },
    { atS: 330, does: 'create' },
  ])('a rate limit is waited out under the same intent: at $atS s $does', ({ atS, does }) => {
    expect(step(answered('rate_limited', 330), viewAt(atS, { knows: [A] })).do).toBe(does);
  });

  test.each(['auth', 'unavailable'] as const)(
    '%s waits on the terminal lane, and somebody is told',
    (answer) => {
      const story = answered(answer, 330);
      const alert = step(story, viewAt(301, { knows: [A] }));
      expect(recordedBy(alert)).toEqual(['AlertRaised']);
      if (alert.do === 'append') story.add(301, ...alert.facts);
      expect(step(story, viewAt(301, { knows: [A] }))).toMatchObject({
        do: 'wait',
        why: 'pause',
        until: at(330),
      });
    },
  );
});

test('the breaker holds a terminal create, and somebody is told', () => {
  const story = withOpenIntent(A);
  const view = viewAt(300, { knows: [A] }, { terminalRoom: false });
  const alert = step(story, view);
  expect(alert).toMatchObject({ facts: [{ data: { alert: 'terminal_limit_reached' } }] });
  if (alert.do === 'append') story.add(300, ...alert.facts);
  expect(step(story, view)).toMatchObject({ do: 'wait', why: 'terminal_limit' });
});
