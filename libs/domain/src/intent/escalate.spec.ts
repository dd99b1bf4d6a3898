import { describe, expect, test } from 'vitest';
import { type Escalation, TRIGGERS, type Trigger } from '#events/intent.events';
import { openQuestion, prompted } from '#support/allocation-events';
import { at, DAY_S, digestOf, idOf } from '#support/builders';
import { questionAt, Story, typesOf } from '#support/watch-builders';
import { evolve } from '../allocation.ts';
import type { Fact } from '../fact.ts';
import { escalate, escalationReason } from './escalate.ts';
import { proposedFailover } from './proposed-action.ts';

const escalation = (trigger: Trigger, change: Partial<Escalation> = {}): Escalation => ({
  trigger,
  reason: escalationReason(trigger, 'gcp', 'runpod'),
  rule: '4 rule',
  evidence: { rung: 'flex_a' },
  key: 'X1',
  failedInstance: 'X1',
  rung: 'flex_a',
  cancel: 'nothing',
  ...change,
});

const decide = (story: Story, one: Escalation, seconds = 300): readonly Fact[] =>
  escalate(story.placement, story.record, one, { question: questionAt(seconds), eventIdAt: story.ids() });

/** What followed, in one line: types, and the reason of a block. */
const told = (facts: readonly Fact[]) =>
  facts.map(({ type, data }) => ('reason' in data ? `${type} ${data.reason}` : type)).join(', ');

test.each([
  ['queue_vanish', 'gcp_queue_vanish_failover_runpod'],
  ['queue_timeout', 'gcp_queue_timeout_failover_runpod'],
  ['workload_crash', 'gcp_workload_failover_runpod_async'],
  ['workload_crash_placing', 'gcp_workload_failover_runpod'],
  ['infra_wedge', 'gcp_infra_wedge_failover_runpod'],
  ['boot_loop', 'gcp_boot_loop_failover_runpod'],
  ['ladder_exhausted', 'auto_fallback_runpod'],
] as const)('the reason of %s is %s', (trigger, reason) => {
  expect(escalationReason(trigger, 'gcp', 'runpod')).toBe(reason);
});

describe('standing', () => {
  test.each(TRIGGERS)('%s: decided at once', (trigger) => {
    const one = escalation(trigger);
    const facts = decide(new Story().launch('standing').placed(0), one);
    expect(facts).toEqual([
      {
        type: 'FailoverDecided',
        data: {
          escalation: one,
          consent: 'standing',
          verdict: {
            outcome: 'waiting',
            reason: one.reason,
            failureClass: null,
            redrivable: false,
            rule: '4 rule',
            evidence: { rung: 'flex_a', consent: 'standing' },
            notFired: [],
          },
        },
      },
    ]);
  });
});

describe('ask', () => {
  test.each(TRIGGERS)('%s: one question, and nothing else', (trigger) => {
    expect(told(decide(new Story().launch('ask').placed(0), escalation(trigger)))).toBe('FailoverPrompted');
  });
  test('binds the proposed action', () => {
    const story = new Story().launch('ask').placed(0);
    const one = escalation('queue_vanish');
    const [prompt] = decide(story, one);
    const action = proposedFailover(story.placement, one, questionAt(0));
    expect(prompt).toMatchObject({ data: { actionDigest: action.digest, expiresAt: at(300 + DAY_S) } });
    expect(action).toMatchObject({
      action: 'failover_to_terminal',
      logical_allocation_ref: digestOf('ref'),
      failed_instance_digest: digestOf('failed-instance {"instance":"X1","lane":"gcp"}'),
      lane: 'runpod',
      machine: null,
      gpu: null,
    });
  });
  test('withdraws an open pool question, whose evidence then counts as unprompted', () => {
    const story = new Story().launch('ask').placed(0);
    const { type, eventId, data } = prompted(3);
    const record = evolve(story.record, { type, eventId, data });
    const [prompt] = escalate(story.placement, record, escalation('queue_vanish'), {
      question: questionAt(300),
      eventIdAt: () => idOf('prompt'),
    });
    expect(prompt).toMatchObject({
      data: {
        withdrew: openQuestion().eventId,
        after: {
          status: 'tracking',
          consent: 'not-requested',
          promptedEvidence: null,
          openQuestion: { kind: 'failover', eventId: idOf('prompt'), originId: idOf('prompt') },
        },
      },
    });
  });

  describe('an acceptance', () => {
    const accepted = () => {
      const story = new Story().launch('ask').placed(0);
      story.add(300, ...decide(story, escalation('queue_vanish')));
      const question = idOf('question');
      const data = {
        questionId: question,
        actionDigest: digestOf('action'),
        key: 'X1',
        answeredBy: 'local',
        expiresAt: at(300 + DAY_S),
        after: { ...story.record.scalars, openQuestion: null },
      };
      story.add(400, { type: 'FailoverAccepted', data });
      const blocked = { reason: 'no_compute_available' } as const;
      const verdict = {
        outcome: 'blocked',
        reason: blocked.reason,
        failureClass: 'infra',
        redrivable: true,
        rule: 't',
        evidence: {},
        notFired: [],
      } as const;
      return story.add(500, {
        type: 'AllocationBlocked',
        data: { ...blocked, verdict: { ...verdict, notFired: [] } },
      });
    };
    test('covers a re-drive of its move until its life ends', () => {
      const story = accepted();
      expect(decide(story, escalation('queue_vanish'), 300 + DAY_S - 1)).toMatchObject([
        { type: 'FailoverDecided', data: { consent: idOf('question') } },
      ]);
      expect(told(decide(story, escalation('queue_vanish'), 300 + DAY_S))).toBe('FailoverPrompted');
    });
    const exhausted = escalation('ladder_exhausted', { key: 'launch:1', failedInstance: null, rung: null });
    const retry: Fact = {
      type: 'WalkStarted',
      data: { walk: 'retry', rungs: [], retry: 1, day: '2026-11-29' },
    };
    test('covers the ladder that the retry pass walked again, under the key that it names', () => {
      const story = accepted().add(4000, retry);
      expect(decide(story, exhausted, 4000)).toMatchObject([
        {
          type: 'FailoverDecided',
          data: { consent: idOf('question'), escalation: { ...exhausted, key: 'X1' } },
        },
      ]);
      expect(told(decide(story, exhausted, 300 + DAY_S))).toBe('FailoverPrompted');
    });
    test('does not outlive its launch', () => {
      const story = accepted().launch('ask', 600).add(4000, retry);
      expect(told(decide(story, exhausted, 4000))).toBe('FailoverPrompted');
    });
    test('covers no other move', () => {
      expect(
        told(decide(accepted(), escalation('ladder_exhausted', { key: 'launch:1', failedInstance: null }))),
      ).toBe('FailoverPrompted');
    });
    test('ends with the completion of its move', () => {
      const story = accepted();
      story.add(600, ...decide(story, escalation('queue_vanish'), 600)).completed(700);
      expect(story.placement.acceptance).toBeNull();
    });
  });
});

describe('never, and where the plan has no terminal entry', () => {
  const table = [
    ['queue_vanish', 'AllocationBlocked no_compute_available'],
    ['ladder_exhausted', 'AllocationBlocked no_compute_available'],
    ['workload_crash', 'AllocationBlocked workload_failure'],
    ['workload_crash_placing', 'AllocationBlocked workload_failure'],
    ['boot_loop', 'AllocationBlocked setup_failure'],
    ['infra_wedge', 'AllocationBlocked failover_declined, AlertRaised'],
  ] as const;
  test.each(table)('%s: %s', (trigger, followed) => {
    const one = escalation(trigger);
    expect(told(decide(new Story().launch('never').placed(0), one))).toBe(followed);
    for (const failover of ['standing', 'ask'] as const) {
      const without = new Story().launch({ terminal: null, failover }).placed(0);
      expect(told(decide(without, one))).toBe(followed);
    }
  });
  test('a ladder that the cap cut short says so', () => {
    const story = new Story().launch('never');
    story.add(10, { type: 'RungSkipped', data: { rung: 'flex_a', why: 'creates_per_day' } });
    const one = escalation('ladder_exhausted', { key: 'launch:1', failedInstance: null, rung: null });
    expect(told(decide(story, one))).toBe('AllocationBlocked creates_per_day_reached');
    const quota = new Story().launch('never');
    quota.add(10, { type: 'RungSkipped', data: { rung: 'flex_a', why: 'quota' } });
    expect(told(decide(quota, one))).toBe('AllocationBlocked no_compute_available');
  });
  test('a queued instance is cancelled before compute is called missing', () => {
    const story = new Story().launch('never').placed(0);
    expect(typesOf(decide(story, escalation('queue_timeout', { cancel: 'queued' })))).toEqual([
      'CancelDecided',
    ]);
  });
  test('missing compute is not said while anything of ours may bill', () => {
    const story = new Story().launch('never').placed(0);
    story.add(10, { type: 'CancelUnconfirmed', data: { instance: 'X0', lane: 'gcp', kind: null } });
    expect(typesOf(decide(story, escalation('queue_vanish')))).toEqual(['CancelDecided']);
    expect(told(decide(story, escalation('workload_crash')))).toBe('AllocationBlocked workload_failure');
  });
});

describe('nothing to run', () => {
  test.each(['standing', 'ask', 'never'] as const)(
    'is blocked before consent is looked at: %s',
    (failover) => {
      const story = new Story().launch({ hasWorkload: false, failover }).placed(0);
      for (const trigger of TRIGGERS) {
        expect(told(decide(story, escalation(trigger)))).toBe('AllocationBlocked relaunch_spec_missing');
      }
    },
  );
});

describe('once', () => {
  test('a key that has had its failover gets no second one, of whatever trigger', () => {
    const story = new Story().launch().placed(0);
    story.add(300, ...decide(story, escalation('queue_vanish'))).completed(400);
    for (const trigger of TRIGGERS) expect(decide(story, escalation(trigger))).toEqual([]);
    expect(told(decide(story, escalation('workload_crash', { key: 'X2', failedInstance: 'X2' })))).toBe(
      'FailoverDecided',
    );
  });
  test.each(['standing', 'ask', 'never'] as const)(
    'nothing is decided beside a move under way: %s',
    (failover) => {
      const story = new Story().launch(failover).placed(0);
      story.add(300, ...decide(story, escalation('queue_timeout', { cancel: 'queued' })));
      expect(story.placement.move).not.toBeNull();
      for (const key of ['X1', 'X2']) expect(decide(story, escalation('boot_loop', { key }))).toEqual([]);
    },
  );
  test('of an allocation that was never launched is a mistake of ours', () => {
    expect(() => decide(new Story(), escalation('queue_vanish'))).toThrow(/never launched/);
  });
});

describe('the failed thing that the action names', () => {
  const digestFor = (story: Story, one: Escalation) =>
    proposedFailover(story.placement, one, questionAt(0)).failed_instance_digest;
  const story = new Story().launch('ask').placed(0);
  test('of an exhausted ladder is the launch, of a crash while placing the intent', () => {
    const none = { failedInstance: null, rung: null };
    expect(digestFor(story, escalation('ladder_exhausted', { key: 'launch:1', ...none }))).toBe(
      digestOf('failed-instance {"launch":1}'),
    );
    expect(digestFor(story, escalation('workload_crash_placing', { key: 'intent', ...none }))).toBe(
      digestOf('failed-instance {"intent":"intent"}'),
    );
  });
  test('another plan, workload, instance or allocation is another action', () => {
    const base = proposedFailover(story.placement, escalation('queue_vanish'), questionAt(0)).digest;
    const others = [
      proposedFailover(
        new Story().launch({ failover: 'ask', budgetS: 7 }).placed(0).placement,
        escalation('queue_vanish'),
        questionAt(0),
      ),
      proposedFailover(
        new Story().launch({ failover: 'ask', hasWorkload: false }).placed(0).placement,
        escalation('queue_vanish'),
        questionAt(0),
      ),
      proposedFailover(story.placement, escalation('queue_vanish', { failedInstance: 'X2' }), questionAt(0)),
      proposedFailover(story.placement, escalation('queue_vanish'), {
        ...questionAt(0),
        ref: digestOf('other'),
      }),
    ];
    expect(new Set([base, ...others.map(({ digest }) => digest)]).size).toBe(5);
  });
  test('without a terminal lane nobody is asked', () => {
    const without = new Story().launch({ terminal: null }).placed(0);
    expect(() => proposedFailover(without.placement, escalation('queue_vanish'), questionAt(0))).toThrow(
      /without a terminal lane/,
    );
  });
});
