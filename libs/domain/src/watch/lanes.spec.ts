import { describe, expect, test } from 'vitest';
import type { Observation } from '#events/watch.events';
import { answerOf, gone, guest, poll, Story, typesOf, verdictIn, works } from '#support/watch-builders';

const onBatch = (change: Partial<Observation> = {}) => ({ instance: 'J1', lane: 'slurm', ...change });
const onPod = (change: Partial<Observation> = {}) => ({ instance: 'P1', lane: 'runpod', ...change });
const batch = () => new Story().launch().placed(0, 'batch_a', 'J1');

/** Moved to the terminal lane after a crash. */
function onTerminal(): Story {
  const story = new Story().launch().placed(0, 'od_a');
  story.see(works(100), poll(3000, 'terminated', guest('failed', true)));
  return story.completed(3100);
}

describe('a batch job never fails over', () => {
  test.each<[string, Observation, string]>([
    [
      'its workload crashed',
      poll(3000, 'terminated', onBatch(guest('failed', true))),
      'blocked workload_failure',
    ],
    [
      'it failed, whatever is known of its start',
      poll(3000, 'terminated', onBatch(guest('failed', null))),
      'blocked workload_failure',
    ],
    [
      'its setup failed',
      poll(3000, 'terminated', onBatch(guest('failed', false))),
      'blocked workload_failure',
    ],
    [
      'it was stopped in the middle of the work',
      poll(3000, 'terminated', onBatch(guest('workload', true))),
      'blocked instance_lost_after_start',
    ],
    [
      'somebody deleted it',
      gone(3000, onBatch({ deleteOperation: 'present' })),
      'blocked instance_deleted_externally',
    ],
    ['it ended well', poll(3000, 'terminated', onBatch(guest('done', true))), 'done'],
    ['it ended before it began', poll(300, 'terminated', onBatch()), 'unchanged'],
    ['it is gone from the queue', gone(300, onBatch()), 'unchanged'],
    ['it waits for hours', poll(5000, 'queued', onBatch()), 'unchanged'],
    ['it failed on a machine that is up', poll(300, 'running', onBatch(guest('failed', true))), 'unchanged'],
  ])('%s', (_reason, last, answer) => {
    const story = batch();
    const facts = story.see(poll(100, 'queued', onBatch()), poll(200, 'probe_error', onBatch()), last);
    expect(answerOf(facts)).toBe(answer);
    expect(story.placement.move).toBeNull();
    expect(story.placement.countedDeaths).toEqual([]);
  });
  test('alarms are not counted against it', () => {
    const cut = (seconds: number) => works(seconds, onBatch({ alarm: 'transport' }));
    const story = batch();
    expect(answerOf(story.see(works(1000, onBatch()), cut(20000), cut(20540)))).toBe('unchanged');
    expect(typesOf(story.facts)).not.toContain('WedgeAlarmRecorded');
  });
});

describe('the terminal lane buys nothing twice', () => {
  test.each([
    ['on a pod that is up', poll(6000, 'running', onPod(guest('failed', true)))],
    ['on a pod that ended', poll(6000, 'terminated', onPod(guest('failed', true)))],
    ['whatever is known of its start', poll(6000, 'terminated', onPod(guest('failed', null)))],
    ['also before it began', poll(6000, 'terminated', onPod(guest('failed', false)))],
  ])('a workload that fails there is code, and the pod is kept: %s', (_reason, last) => {
    const story = onTerminal();
    const facts = story.see(last);
    expect(answerOf(facts)).toBe('blocked workload_failure');
    expect(verdictIn(facts)).toMatchObject({
      failureClass: 'code',
      redrivable: false,
      rule: '8.4 terminal_workload_failure',
    });
    expect(facts.at(-1)).toEqual({
      type: 'AlertRaised',
      data: {
        alert: 'kept_pod_billing',
        subject: 'P1',
        evidence: { instance: 'P1', lane: 'runpod', costPerHourUsd: null },
      },
    });
    expect(story.placement.current).toBe('P1');
  });
  test.each([
    ['gone', gone(5100, onPod()), 'blocked instance_lost_after_start'],
    [
      'gone, and nothing is known of its create',
      poll(5100, 'not_found', onPod()),
      'blocked instance_lost_after_start',
    ],
    [
      'ended in the middle of the work',
      poll(5100, 'terminated', onPod(guest('workload', true))),
      'blocked instance_lost_after_start',
    ],
    [
      'deleted by somebody',
      gone(5100, onPod({ deleteOperation: 'present' })),
      'blocked instance_deleted_externally',
    ],
    ['done', poll(5100, 'running', onPod(guest('done', true))), 'done'],
  ])('%s', (_reason, last, answer) => {
    const story = onTerminal();
    const facts = story.see(works(4000, onPod()), last);
    expect(answerOf(facts)).toBe(answer);
    expect(typesOf(facts)).not.toContain('FailoverDecided');
  });
  test('neither its queue nor its alarms move it again', () => {
    const story = onTerminal();
    const cut = (seconds: number) => works(seconds, onPod({ alarm: 'transport' }));
    const facts = story.see(
      poll(4000, 'queued', onPod()),
      poll(9000, 'queued', onPod()),
      cut(20000),
      cut(30000),
    );
    expect(answerOf(facts)).toBe('unchanged');
  });
  test('a pod without a port is told once, past the limit', () => {
    const story = onTerminal();
    const without = (seconds: number) => story.see(poll(seconds, 'running', onPod({ port: false })));
    without(3300);
    expect(typesOf(without(4200))).toEqual(['ObservationJudged']);
    expect(without(4201).at(-1)).toMatchObject({
      data: { alert: 'terminal_pod_unreachable', subject: 'P1' },
    });
    expect(typesOf(without(9000))).toEqual(['ObservationJudged']);
  });
  test('an unknown port neither starts nor ends the time without one; a known one ends it', () => {
    const ports = (...list: readonly (boolean | null)[]) => {
      const story = onTerminal();
      story.see(...list.map((port, index) => poll(3300 + index * 600, 'running', onPod({ port }))));
      return typesOf(story.facts).includes('AlertRaised');
    };
    expect(ports(null, null, null, null)).toBe(false);
    expect(ports(false, null, false)).toBe(true);
    expect(ports(false, true, false)).toBe(false);
  });
});
