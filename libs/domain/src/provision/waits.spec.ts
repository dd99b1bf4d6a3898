import { describe, expect, test } from 'vitest';
import type { AlertKind } from '#events/watch.events';
import { at } from '#support/builders';
import {
  createEnded,
  createSending,
  instanceCreated,
  intentId,
  intentRecorded,
  vanished,
  withOpenIntent,
} from '#support/provision-builders';
import { poll, Story, works } from '#support/watch-builders';
import type { Fact } from '../fact.ts';
import { type Wait, waitOf } from './waits.ts';

const [A, B, C] = [intentId('a'), intentId('b'), intentId('c')];
const alert = (kind: AlertKind, subject: string): Fact => ({
  type: 'AlertRaised',
  data: { alert: kind, subject, evidence: {} },
});
const rewound: Fact = { type: 'LogRewound', data: { instance: 'P7', lane: 'runpod', intent: C } };
const owed: Fact = { type: 'CancelUnconfirmed', data: { instance: 'X1', lane: 'gcp', kind: null } };
const replaced = (intent: string): Fact => ({ type: 'IntentClosed', data: { intent, why: 'replaced' } });
const unknown = (intent: string, seconds: number) => [
  createSending(intent, seconds),
  createEnded(intent, seconds, 'outcome_unknown'),
];
const reaping: Fact = {
  type: 'ReapAnnounced',
  data: { instance: 'P1', lane: 'runpod', intent: A, chain: 'terminal:X1', number: 1 },
};
const sent = () => withOpenIntent(A).add(300, createSending(A, 300));

/** A queued instance that waited for too long: cancelled before anything follows. */
const timedOut = (failover: 'standing' | 'never' | 'ask') => {
  const story = new Story().launch(failover).placed(0);
  story.see(poll(60, 'queued'), poll(661, 'queued'));
  return story;
};
const threeUnknown = () =>
  withOpenIntent(A)
    .add(300, ...unknown(A, 300))
    .add(340, replaced(A), intentRecorded(B), ...unknown(B, 340))
    .add(380, replaced(B), intentRecorded(C), ...unknown(C, 380));

describe('what an allocation waits for', () => {
  test.each<[Wait['why'], string | null, string, Story]>([
    [
      'pause',
      at(330),
      'the lane takes nothing for a time',
      sent().add(300, createEnded(A, 300, 'rate_limited', { notBefore: at(330) })),
    ],
    [
      'listing_grace',
      null,
      'its create may yet turn up',
      sent().add(301, createEnded(A, 301, 'outcome_unknown')),
    ],
    ['listing_grace', null, 'how its create ended is unknown', sent()],
    [
      'pause',
      at(440),
      'three creates were lost',
      threeUnknown().add(412, alert('create_unknown_repeated', 'terminal:X1')),
    ],
    ['log_rewound', null, 'a machine proves a restored backup', withOpenIntent(A).add(310, rewound)],
    ['log_rewound', null, 'the same before an intent', new Story().launch().add(10, rewound)],
    ['keep_mark', null, 'a machine is to be kept', sent().add(310, alert('keep_mark_blocks', 'P1'))],
    [
      'probe_unknown',
      null,
      'its machine gives no answer',
      sent().add(301, instanceCreated(A)).add(1_300, alert('terminal_pod_unreachable', 'P1')),
    ],
    ['reap_failed', null, 'residue is not gone yet', sent().add(301, instanceCreated(A)).add(400, reaping)],
    [
      'terminal_limit',
      null,
      'the breaker has no room',
      vanished().add(310, alert('terminal_limit_reached', 'terminal:X1')),
    ],
    [
      'terminal_limit',
      null,
      'the same with its intent open',
      withOpenIntent(A).add(310, alert('terminal_limit_reached', 'terminal:X1')),
    ],
    ['cancel_unconfirmed', null, 'the queued instance may still run', timedOut('never').add(670, owed)],
  ])('%s until %s: %s', (why, until, _reason, story) => {
    expect(waitOf(story.placement)).toEqual({ why, until });
  });

  test.each<[string, Story]>([
    ['it was never launched', new Story()],
    ['its ladder is being walked', new Story().launch()],
    ['an intent was opened just now', withOpenIntent(A)],
    ['its machine is being prepared', sent().add(301, instanceCreated(A))],
    ['a person is asked: the outcome says so', timedOut('ask')],
    ['a cancel is owed that holds nothing up', timedOut('standing').add(670, owed)],
    ['the move has just been decided', vanished()],
  ])('nothing, when %s', (_reason, story) => {
    expect(waitOf(story.placement)).toBeNull();
  });

  test('nothing, while it runs', () => {
    const story = new Story().launch().placed(0);
    story.see(works(60));
    expect(waitOf(story.placement)).toBeNull();
  });
});
