import { describe, expect, test } from 'vitest';
import {
  createSending,
  instanceCreated,
  intentId,
  probed,
  recordedBy,
  viewAt,
  withOpenIntent,
} from '#support/provision-builders';
import type { Story } from '#support/watch-builders';
import { nextStep } from '../provision/next-step.ts';
import type { Step, Work } from '../provision/step.ts';

const A = intentId('a');
const made = () => withOpenIntent(A).add(300, createSending(A, 300), instanceCreated(A));
const dispatched = (times = 1) => {
  const story = made();
  for (let number = 1; number <= times; number += 1) {
    story.add(301, { type: 'DispatchSending', data: { intent: A, instance: 'P1', number } });
  }
  return story;
};
const step = (story: Story, work: Partial<Work> = {}): Step =>
  nextStep(story.placement, viewAt(302, { knows: [A], ...work }));

test('a machine is prepared first', () => {
  expect(step(made())).toMatchObject({ do: 'bootstrap', instance: 'P1' });
});

test('then it gets the dispatch, guarded by the intent that it carries', () => {
  expect(step(made(), { ready: ['P1'] })).toMatchObject({ do: 'dispatch', instance: 'P1', guard: A });
});

test('one whose bootstrap failed goes', () => {
  expect(step(made(), { halfBuilt: ['P1'] })).toMatchObject({ do: 'reap', instance: 'P1' });
});

describe('after a dispatch', () => {
  test('pitfall 37: only a probe says whether it runs', () => {
    expect(step(dispatched(), { ready: ['P1'] })).toEqual({ do: 'probe', lane: 'runpod', instance: 'P1' });
  });

  test('running: handle, stamp and completion are one append', () => {
    const next = step(dispatched(), { ready: ['P1'], probes: { P1: probed('running') } });
    expect(recordedBy(next)).toEqual(['WorkloadDispatched', 'FailoverCompleted']);
  });

  test.each(['failed' as const, probed('unknown')])('a probe that says %o holds', (probe) => {
    expect(step(dispatched(), { ready: ['P1'], probes: { P1: probe } })).toMatchObject({
      do: 'wait',
      why: 'probe_unknown',
    });
  });

  test('positively not running: sent once more to the same machine', () => {
    const next = step(dispatched(2), { ready: ['P1'], probes: { P1: probed('none') } });
    expect(next).toMatchObject({ do: 'dispatch', instance: 'P1' });
  });

  test('the third that does not run ends it: the machine is kept, and it is not called missing compute', () => {
    const next = step(dispatched(3), { ready: ['P1'], probes: { P1: probed('none') } });
    expect(next).toMatchObject({
      facts: [
        { type: 'IntentClosed', data: { why: 'blocked' } },
        { data: { reason: 'terminal_workload_start_failed' } },
        { data: { alert: 'kept_pod_billing', evidence: { costPerHourUsd: 2 } } },
      ],
    });
  });
});
