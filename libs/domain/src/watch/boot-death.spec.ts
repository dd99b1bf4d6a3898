import { describe, expect, test } from 'vitest';
import type { Observation } from '#events/watch.events';
import {
  answerOf,
  gone,
  guest,
  LIMITS,
  poll,
  Story,
  typesOf,
  verdictIn,
  works,
} from '#support/watch-builders';

const LOOP = 'waiting gcp_boot_loop_failover_runpod';
const SETUP = 'blocked setup_failure';
const LOST = 'blocked instance_lost_after_start';
const placed = (rung = 'flex_a') => new Story().launch().placed(0, rung);
const setupFailed = (seconds: number, change: Partial<Observation> = {}) =>
  poll(seconds, 'terminated', { ...guest('failed', false), ...change });

describe('one death', () => {
  test.each([
    ['setup failed', [setupFailed(330)], SETUP],
    ['setup failed, at any age', [setupFailed(5000)], SETUP],
    ['setup failed on a machine that is gone by now', [gone(5000, guest('failed', false))], SETUP],
    [
      'setup failed, read while the machine was up',
      [poll(300, 'running', guest('failed', false)), poll(330, 'terminated')],
      SETUP,
    ],
    ['ended before its time without any word', [poll(60, 'running'), poll(1499, 'terminated')], LOST],
    ['gone before its time after it ran', [poll(60, 'running'), gone(1499)], LOST],
  ])('%s', (_reason, polls, answer) => {
    const facts = placed().see(...polls);
    expect(answerOf(facts)).toBe(answer);
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'BootDeathRecorded', 'AllocationBlocked']);
    expect(verdictIn(facts)).toMatchObject({
      failureClass: answer === SETUP ? 'code' : 'infra',
      redrivable: false,
      evidence: { streak: 1, bootDeaths: 2, rung: 'flex_a' },
    });
  });
  test('in a pool that does not queue, gone before it was seen', () => {
    expect(typesOf(placed('od_a').see(gone(300)))).toContain('BootDeathRecorded');
  });
});

describe('is no boot death', () => {
  test.each([
    [
      'ended exactly at the age limit',
      'flex_a',
      [poll(100, 'running', guest('boot', false)), poll(1500, 'terminated')],
    ],
    ['the workload had begun', 'flex_a', [works(100), poll(900, 'terminated')]],
    [
      'the guest was in its workload, and the flag was never read',
      'flex_a',
      [poll(100, 'running', guest('workload', null)), poll(900, 'terminated')],
    ],
    [
      'the guest was finalizing, and the flag was never read',
      'flex_a',
      [poll(100, 'running', guest('finalizing', null)), poll(900, 'terminated')],
    ],
    ['gone from the queue too late to be a queue loss', 'flex_a', [gone(1500)]],
  ])('%s', (_reason, rung, polls) => {
    const facts = placed(rung).see(...polls);
    expect(answerOf(facts)).toBe(LOST);
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'AllocationBlocked']);
  });
  test('the creation time is unknown', () => {
    const story = new Story().launch().placed(0, 'od_a', 'X1', { createdAt: null });
    expect(typesOf(story.see(poll(60, 'running'), poll(330, 'terminated')))).toEqual([
      'ObservationJudged',
      'AllocationBlocked',
    ]);
  });
});

describe('boot loop', () => {
  const second = (story: Story, seconds: number, rung = 'flex_a') => {
    story.placed(seconds, rung, 'X2');
    return story.see(setupFailed(seconds + 330, { instance: 'X2' }));
  };
  test('two in a row on one rung: moved, nothing to cancel', () => {
    const story = placed();
    story.see(setupFailed(330));
    const facts = second(story, 500);
    expect(answerOf(facts)).toBe(LOOP);
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'BootDeathRecorded', 'FailoverDecided']);
    expect(verdictIn(facts)).toMatchObject({
      rule: '4.7 boot_loop',
      evidence: { streak: 2, rung: 'flex_a' },
    });
    expect(story.placement.move?.escalation).toMatchObject({ cancel: 'nothing', failedInstance: 'X2' });
    expect(story.placement.bootDeaths).toEqual({ flex_a: { '2026-11-29': 2 } });
  });
  test('two quick deaths without any word', () => {
    const story = placed();
    story.see(poll(60, 'running'), poll(330, 'terminated'));
    story.placed(500, 'flex_a', 'X2');
    const next = story.see(
      poll(560, 'running', { instance: 'X2' }),
      poll(830, 'terminated', { instance: 'X2' }),
    );
    expect(answerOf(next)).toBe(LOOP);
  });
  test('the same dead instance polled again is still one death', () => {
    const story = placed();
    story.see(setupFailed(330));
    const facts = story.see(setupFailed(900));
    expect(typesOf(facts)).toEqual(['ObservationJudged']);
    expect(answerOf(facts)).toBe('unchanged');
  });
  test('deaths on two rungs are two rows', () => {
    const story = placed();
    story.see(setupFailed(330));
    expect(answerOf(second(story, 500, 'od_a'))).toBe(SETUP);
  });
  test('yesterday’s death does not count today', () => {
    const story = placed();
    story.see(setupFailed(330));
    expect(answerOf(second(story, 14 * 3600))).toBe(SETUP);
  });
  test('a workload that really ran wipes the row', () => {
    const story = placed();
    story.see(setupFailed(330));
    story.placed(500, 'flex_a', 'X2');
    const ran = story.see(
      poll(560, 'running', { instance: 'X2', ...guest('boot', false) }),
      works(700, { instance: 'X2' }),
    );
    expect(typesOf(ran)).toEqual(['ObservationJudged', 'BootStreakReset']);
    expect(typesOf(story.see(works(800, { instance: 'X2' })))).toEqual(['ObservationJudged']);
    story.placed(2000, 'flex_a', 'X3');
    expect(answerOf(story.see(setupFailed(2300, { instance: 'X3' })))).toBe(SETUP);
  });
  test('a done workload wipes the row', () => {
    const story = placed();
    story.see(setupFailed(330));
    story.placed(500, 'flex_a', 'X2');
    const done = story.see(poll(900, 'terminated', { instance: 'X2', ...guest('done', true) }));
    expect(typesOf(done)).toEqual(['ObservationJudged', 'BootStreakReset', 'AllocationDone']);
  });
  test('a queue loss in between neither counts nor wipes it', () => {
    const story = new Story().launch('never').placed(0);
    story.see(setupFailed(330));
    story
      .placed(500, 'flex_a', 'X2')
      .see(poll(560, 'queued', { instance: 'X2' }), gone(600, { instance: 'X2' }));
    story.launch('standing', 650).placed(700, 'flex_a', 'X3');
    expect(answerOf(story.see(setupFailed(900, { instance: 'X3' })))).toBe(LOOP);
  });
  test('the limit decides how many in a row are a loop', () => {
    const withLimit = (bootDeaths: number) =>
      new Story().launch({ limits: { ...LIMITS, bootDeaths } }).placed(0);
    expect(answerOf(withLimit(1).see(setupFailed(330)))).toBe(LOOP);
    const three = withLimit(3);
    three.see(setupFailed(330));
    expect(answerOf(second(three, 500))).toBe(SETUP);
  });
  test('under never it ends as code and buys nothing', () => {
    const story = new Story().launch('never').placed(0);
    story.see(setupFailed(330));
    expect(answerOf(second(story, 500))).toBe(SETUP);
  });
});
