import { describe, expect, test } from 'vitest';
import {
  createEnded,
  createSending,
  instanceCreated,
  intentId,
  recordedBy,
  vanished,
  viewAt,
  withOpenIntent,
} from '#support/provision-builders';
import { guest, poll, RUNGS, Story, works } from '#support/watch-builders';
import type { Fact } from '../fact.ts';
import { nextStep } from './next-step.ts';
import type { Step, View } from './step.ts';

const A = intentId('a');
const B = intentId('b');
const step = (story: Story, view: View): Step => nextStep(story.placement, view);

const timedOut = (consent: 'standing' | 'never' = 'standing') => {
  const story = new Story().launch(consent).placed(0);
  story.see(poll(10, 'queued'), poll(700, 'queued'));
  return story;
};
const wedged = () => {
  const story = new Story().launch().placed(0, 'od_a');
  const alarm = { alarm: 'transport' as const };
  story.see(works(1_000), works(20_000, alarm), works(20_540, alarm));
  return story;
};
const crashed = () => {
  const story = new Story().launch().placed(0, 'od_a');
  story.see(works(100), poll(3_000, 'terminated', guest('failed', true)));
  return story;
};
const refusedBy = (story: Story, answer: Parameters<typeof createEnded>[2]) => {
  const why = answer === 'capacity' || answer === 'quota' ? ('missed' as const) : ('refused' as const);
  return story.add(800, createSending(A, 800), createEnded(A, 800, answer), {
    type: 'IntentClosed',
    data: { intent: A, why },
  });
};

describe('what is cancelled before the move', () => {
  test('a vanish and a crash have nothing to cancel', () => {
    for (const story of [vanished(), crashed()]) {
      expect(step(story, viewAt(3_000))).toMatchObject({ do: 'open_intent', chain: 'terminal:X1' });
    }
  });

  test('a queued instance is cancelled first; one that cannot be confirmed is owed and stops nothing', () => {
    const story = timedOut();
    expect(step(story, viewAt(700))).toMatchObject({ do: 'cancel', instance: 'X1', expects: 'queued' });
    story.add(700, { type: 'CancelUnconfirmed', data: { instance: 'X1', lane: 'gcp', kind: 'unavailable' } });
    expect(step(story, viewAt(700, { cancelTried: ['X1'] }))).toMatchObject({ do: 'open_intent' });
  });

  test('a machine that may still work holds the move until it is confirmed gone', () => {
    const story = wedged();
    expect(step(story, viewAt(20_540))).toMatchObject({ do: 'cancel', instance: 'X1', expects: 'running' });
    story.add(20_540, { type: 'CancelUnconfirmed', data: { instance: 'X1', lane: 'gcp', kind: null } });
    const tried = viewAt(20_540, { cancelTried: ['X1'] });
    expect(step(story, tried)).toMatchObject({ do: 'wait', why: 'cancel_unconfirmed' });
    expect(step(story, viewAt(20_600, { pass: true }))).toMatchObject({ do: 'cancel', instance: 'X1' });
    story.add(20_600, { type: 'CancelConfirmed', data: { instance: 'X1' } });
    expect(step(story, viewAt(20_600))).toMatchObject({ do: 'open_intent' });
  });

  test('under never the queued instance goes, and then the allocation is blocked', () => {
    const story = timedOut('never');
    expect(step(story, viewAt(700))).toMatchObject({ do: 'cancel', instance: 'X1' });
    story.add(700, { type: 'CancelConfirmed', data: { instance: 'X1' } });
    expect(step(story, viewAt(700))).toMatchObject({ facts: [{ data: { reason: 'no_compute_available' } }] });
  });

  test('nothing is cancelled while Spillway only observes', () => {
    const view = viewAt(700, {}, { rules: { deployment: 'test', observeOnly: true } });
    expect(step(timedOut(), view)).toMatchObject({ do: 'wait', why: 'observe_only' });
  });
});

describe('the terminal lane refuses', () => {
  test.each(['capacity', 'quota'] as const)(
    '%s after a queue loss: the on-demand rungs that are left',
    (answer) => {
      const next = step(refusedBy(withOpenIntent(A), answer), viewAt(800));
      expect(next).toMatchObject({
        facts: [{ type: 'WalkStarted', data: { walk: 'on_demand', rungs: ['od_a'] } }],
      });
    },
  );

  test('capacity after a crash: no on-demand walk', () => {
    const story = crashed().add(3_000, ...withOpenIntent(A).facts.slice(-1));
    expect(step(refusedBy(story, 'capacity'), viewAt(3_000))).toMatchObject({
      facts: [{ data: { reason: 'no_compute_available', verdict: { redrivable: true } } }],
    });
  });

  test('capacity with no on-demand rung left: missing compute, with the first refusal', () => {
    const story = new Story().launch({ rungs: RUNGS.slice(0, 1) }).placed(0);
    story.see(
      poll(60, 'queued'),
      poll(300, 'not_found', { createOperation: 'done', deleteOperation: 'none' }),
    );
    story.add(300, ...withOpenIntent(A).facts.slice(-1));
    expect(step(refusedBy(story, 'capacity'), viewAt(800))).toMatchObject({
      facts: [
        { data: { reason: 'no_compute_available', verdict: { evidence: { firstRefusal: 'capacity' } } } },
      ],
    });
  });

  test.each([
    ['rejected', 'terminal_request_rejected'],
    ['not_found', 'terminal_request_rejected'],
    ['balance', 'terminal_balance_exhausted'],
  ] as const)('%s is said as it is, and no other lane is tried', (answer, reason) => {
    expect(step(refusedBy(withOpenIntent(A), answer), viewAt(800))).toMatchObject({
      facts: [{ data: { reason, verdict: { redrivable: false } } }],
    });
  });

  test('with a cancel unsettled nothing is called missing compute', () => {
    const story = timedOut().add(700, {
      type: 'CancelUnconfirmed',
      data: { instance: 'X1', lane: 'gcp', kind: null },
    });
    story.add(700, ...withOpenIntent(A).facts.slice(-1));
    expect(step(refusedBy(story, 'capacity'), viewAt(800, { cancelTried: ['X1'] }))).toMatchObject({
      do: 'wait',
      why: 'cancel_unconfirmed',
    });
  });

  /** P0 was made under A; under the intent that has replaced it there is no room. */
  const refusedAfter = (...meanwhile: readonly Fact[]) => {
    const story = withOpenIntent(A)
      .add(310, instanceCreated(A, 'P0'))
      .add(320, { type: 'IntentClosed', data: { intent: A, why: 'replaced' } });
    story.add(330, ...withOpenIntent(B).facts.slice(-1), ...meanwhile);
    return story.add(330, createSending(B, 330), createEnded(B, 330, 'capacity'), {
      type: 'IntentClosed',
      data: { intent: B, why: 'missed' },
    });
  };

  test('a machine that a later intent of the chain has ended is no residue', () => {
    const reaped = { instance: 'P0', intent: B, chain: 'terminal:X1' };
    const story = refusedAfter(
      { type: 'ReapAnnounced', data: { ...reaped, lane: 'runpod', number: 1 } },
      { type: 'ResidueReaped', data: reaped },
    );
    expect(recordedBy(step(story, viewAt(330)))).toEqual(['WalkStarted']);
  });

  test('while an own machine bills the reason is the residue, never missing compute', () => {
    const story = refusedAfter();
    expect(recordedBy(step(story, viewAt(330)))).toEqual(['AllocationBlocked', 'AlertRaised']);
    expect(step(story, viewAt(330))).toMatchObject({
      facts: [{ data: { reason: 'terminal_residue_unresolved' } }, {}],
    });
  });
});

test('the breaker holds the move, tells once, and refuses nothing', () => {
  const story = vanished();
  const view = viewAt(300, {}, { terminalRoom: false });
  const alert = step(story, view);
  expect(alert).toMatchObject({ facts: [{ data: { alert: 'terminal_limit_reached' } }] });
  if (alert.do === 'append') story.add(300, ...alert.facts);
  expect(step(story, view)).toMatchObject({ do: 'wait', why: 'terminal_limit' });
  expect(step(story, viewAt(301))).toMatchObject({ do: 'open_intent' });
});
