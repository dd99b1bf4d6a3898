import { describe, expect, test } from 'vitest';
import { answerOf, gone, guest, poll, Story, typesOf, verdictIn, works } from '#support/watch-builders';

const CRASH = 'waiting gcp_workload_failover_runpod_async';
const placed = () => new Story().launch().placed(0, 'od_a');
const failed = (seconds: number, started: boolean | null) =>
  poll(seconds, 'terminated', guest('failed', started));

describe('fires', () => {
  test('terminated, failed, and the workload had begun', () => {
    const story = placed();
    const facts = story.see(works(100), failed(3000, true));
    expect(answerOf(facts)).toBe(CRASH);
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'FailoverDecided']);
    expect(verdictIn(facts)).toMatchObject({
      rule: '4.5 workload_crash',
      evidence: { instance: 'X1', phase: 'failed', workloadStarted: true },
    });
    expect(story.placement.move?.escalation.cancel).toBe('nothing');
    expect(story.placement.queueLosses).toEqual({});
  });
  test.each([
    ['a flag that cannot be read now does not undo what was known', [works(100), failed(3000, null)]],
    [
      'the guest failed while the machine was up, and cannot be read after its end',
      [works(100), poll(2000, 'running', guest('failed', true)), poll(3000, 'terminated')],
    ],
    ['a first poll that shows it all', [failed(3000, true)]],
  ])('%s', (_reason, polls) => {
    expect(answerOf(placed().see(...polls))).toBe(CRASH);
  });
  test('ends the row of boot deaths on its rung', () => {
    const story = placed();
    story.see(poll(300, 'terminated', guest('failed', false)));
    story.placed(500, 'od_a', 'X2');
    const crash = poll(3000, 'terminated', { instance: 'X2', ...guest('failed', true) });
    expect(typesOf(story.see(crash))).toEqual(['ObservationJudged', 'BootStreakReset', 'FailoverDecided']);
  });
});

describe('stays quiet', () => {
  test.each([
    [
      'while the machine is up',
      [works(100), poll(3000, 'running', guest('failed', true))],
      '4.2 failed_machine_up',
    ],
    [
      'while it cannot be read whether the workload began',
      [poll(100, 'running'), failed(4000, null)],
      '4.2 workload_started_unknown',
    ],
    [
      'also when an earlier phase said that it had not',
      [poll(100, 'running', guest('boot', false)), failed(4000, null)],
      '4.2 workload_started_unknown',
    ],
  ])('%s', (_reason, polls, rule) => {
    const facts = placed().see(...polls);
    expect(verdictIn(facts)).toMatchObject({ outcome: 'unchanged', rule });
    expect(typesOf(facts)).toEqual(['ObservationJudged']);
  });
  test('a failure that is seen late, once the machine works again', () => {
    expect(answerOf(placed().see(works(5000), failed(3000, true)))).toBe('unchanged');
  });
});

describe('is no crash', () => {
  test.each([
    [
      'stopped from outside in the middle of the work',
      [works(100), poll(9000, 'terminated', guest('workload', true))],
    ],
    ['gone instead of terminated', [works(100), poll(2000, 'running', guest('failed', true)), gone(3000)]],
  ])('%s', (_reason, polls) => {
    const story = placed();
    expect(answerOf(story.see(...polls))).toBe('blocked instance_lost_after_start');
    expect(story.placement.countedDeaths).toEqual([]);
  });
  test('a bad exit with every output verified', () => {
    expect(answerOf(placed().see(works(100), poll(900, 'terminated', guest('done_unclean', true))))).toBe(
      'done',
    );
  });
});

test('a guest that fails on a machine that stays up is told once, after 900 s', () => {
  const story = placed();
  const up = (seconds: number) => story.see(poll(seconds, 'running', guest('failed', true)));
  expect(typesOf(up(1000))).toEqual(['ObservationJudged']);
  expect(typesOf(up(1899))).toEqual(['ObservationJudged']);
  expect(up(1900)).toMatchObject([
    { type: 'ObservationJudged' },
    { type: 'AlertRaised', data: { alert: 'failed_machine_up', subject: 'X1' } },
  ]);
  expect(typesOf(up(2900))).toEqual(['ObservationJudged']);
});
