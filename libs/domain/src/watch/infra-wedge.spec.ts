import { describe, expect, test } from 'vitest';
import type { Observation } from '#events/watch.events';
import { at } from '#support/builders';
import { answerOf, guest, poll, Story, typesOf, verdictIn, works } from '#support/watch-builders';

const WEDGE = 'waiting gcp_infra_wedge_failover_runpod';
const placed = (budgetS: number | null = null) => new Story().launch({ budgetS }).placed(0, 'od_a');
const cut = (seconds: number, change: Partial<Observation> = {}) =>
  works(seconds, { alarm: 'transport', ...change });
const silent = (seconds: number, logAgeS: number | null = 1801) => works(seconds, { logAgeS });

describe('transport', () => {
  test('unreachable twice in a row, far enough apart, on a frozen phase: cancelled, then moved', () => {
    const story = placed();
    const facts = story.see(works(1000), cut(20000), cut(20540));
    expect(answerOf(facts)).toBe(WEDGE);
    expect(typesOf(facts)).toEqual(['ObservationJudged', 'WedgeAlarmRecorded', 'FailoverDecided']);
    expect(verdictIn(facts)).toMatchObject({
      rule: '4.6 infra_wedge transport',
      evidence: {
        arm: 'transport',
        phaseSince: at(1000),
        frozenS: 19540,
        wedgeStaleS: 900,
        alarms: 2,
        alarmsSince: at(20000),
        spanS: 540,
        wedgeSpanS: 480,
      },
    });
    expect(story.placement.move?.escalation.cancel).toBe('running');
  });
  test.each([
    ['exactly 480 s apart', [works(1000), cut(20000), cut(20480)], WEDGE],
    ['one second less apart', [works(1000), cut(20000), cut(20479)], 'unchanged'],
    ['the phase frozen for one second more than 900', [works(1000), cut(1400), cut(1901)], WEDGE],
    ['the phase frozen for exactly 900 s', [works(1000), cut(1400), cut(1900)], 'unchanged'],
    ['frozen at the last alarm only', [works(1000), cut(1100), cut(2000)], WEDGE],
    ['one alarm', [works(1000), cut(20000)], 'unchanged'],
    [
      'the guest never read: the provider’s word is the phase',
      [
        poll(1000, 'running'),
        poll(2000, 'running', { alarm: 'transport' }),
        poll(2480, 'running', { alarm: 'transport' }),
      ],
      WEDGE,
    ],
    [
      'the guest unreadable now: the phase that was read last stands still',
      [works(1000), cut(20000, { guest: null }), cut(20540, { guest: null })],
      WEDGE,
    ],
    ['a third alarm after two that were too close', [works(1000), cut(20000), cut(20100), cut(20480)], WEDGE],
  ])('%s', (_reason, polls, answer) => {
    expect(answerOf(placed().see(...polls))).toBe(answer);
  });
  test.each([
    ['a clean poll', works(20300)],
    ['an alarm of the provider’s own interface', works(20300, { alarm: 'control_plane' })],
    ['a failed read', poll(20300, 'probe_error')],
    ['a phase change', cut(20300, guest('finalizing', true))],
    ['a machine that is no longer running', poll(20300, 'provisioning')],
  ])('%s in between breaks the row', (_reason, between) => {
    expect(answerOf(placed().see(works(1000), cut(20000), between, cut(20540)))).toBe('unchanged');
  });
  test('alarms of an earlier instance do not count', () => {
    const story = placed();
    story.see(works(1000), cut(20000));
    story.placed(20100, 'od_a', 'X2').see(works(20200, { instance: 'X2' }));
    expect(answerOf(story.see(cut(30000, { instance: 'X2' })))).toBe('unchanged');
  });
  test('a repeat of the alarm is one alarm', () => {
    expect(answerOf(placed().see(works(1000), cut(20000), cut(20000)))).toBe('unchanged');
  });
  test('a guest that failed waits for the end of its machine', () => {
    const failed = (seconds: number) => cut(seconds, guest('failed', true));
    expect(answerOf(placed().see(failed(1000), failed(2000), failed(3000)))).toBe('unchanged');
  });
});

describe('reachable', () => {
  test('silent for too long after its time, twice in a row', () => {
    const facts = placed(1800).see(works(1000), silent(73000), silent(73480));
    expect(answerOf(facts)).toBe(WEDGE);
    expect(verdictIn(facts)).toMatchObject({
      rule: '4.6 infra_wedge reachable',
      evidence: {
        arm: 'reachable',
        logAgeS: 1801,
        wedgeLogAgeS: 1800,
        ageS: 73480,
        budgetS: 1800,
        wedgeBudgetFactor: 2,
      },
    });
  });
  test.each([
    ['the budget is unknown', null, [silent(73000), silent(73540)]],
    ['the log’s age is unknown', 1800, [silent(73000, null), silent(73540, null)]],
    ['the log is exactly as old as the limit', 1800, [silent(73000, 1800), silent(73540, 1800)]],
    ['once only', 1800, [silent(73000)]],
    ['one second less than 480 apart', 1800, [silent(73000), silent(73479)]],
    ['the second age is unknown', 1800, [silent(73000), silent(73540, null), silent(74080)]],
    ['an unreachable poll in between has a row of its own', 1800, [silent(73000), cut(73300), silent(73540)]],
  ])('not when %s', (_reason, budgetS, polls) => {
    expect(answerOf(placed(budgetS).see(works(1000), ...polls))).toBe('unchanged');
  });
  test('its time is over only after the whole factor', () => {
    const polls = (last: number) => [works(1000), silent(last - 480), silent(last)];
    expect(answerOf(placed(10000).see(...polls(20480)))).toBe('unchanged');
    expect(answerOf(placed(10000).see(...polls(20481)))).toBe(WEDGE);
  });
  test('not when the creation time is unknown', () => {
    const story = new Story().launch({ budgetS: 1800 }).placed(0, 'od_a', 'X1', { createdAt: null });
    expect(answerOf(story.see(works(1000), silent(73000), silent(73540)))).toBe('unchanged');
  });
});

describe('watchdog', () => {
  test('the guest ended its own machine: nothing to cancel', () => {
    const story = placed();
    const facts = story.see(works(1000), poll(20000, 'terminated', guest('wedged', true)));
    expect(answerOf(facts)).toBe(WEDGE);
    expect(verdictIn(facts).evidence).toMatchObject({ arm: 'watchdog' });
    expect(story.placement.move?.escalation.cancel).toBe('nothing');
  });
  test('says nothing while the machine is up', () => {
    expect(answerOf(placed().see(works(1000), poll(20000, 'running', guest('wedged', true))))).toBe(
      'unchanged',
    );
  });
});

test('every alarm in a row is recorded with its number', () => {
  const story = placed();
  story.see(works(1000), cut(1100), cut(1200), works(1300), cut(1400));
  const alarms = story.facts.flatMap((fact) => (fact.type === 'WedgeAlarmRecorded' ? [fact.data] : []));
  expect(alarms).toEqual([
    { instance: 'X1', arm: 'transport', count: 1, since: at(1100) },
    { instance: 'X1', arm: 'transport', count: 2, since: at(1100) },
    { instance: 'X1', arm: 'transport', count: 1, since: at(1400) },
  ]);
});

test('under never the machine is left as it is, and somebody is told once', () => {
  const story = new Story().launch('never').placed(0, 'od_a');
  const facts = story.see(works(1000), cut(20000), cut(20540));
  expect(answerOf(facts)).toBe('blocked failover_declined');
  expect(facts).toMatchObject([
    { type: 'ObservationJudged' },
    { type: 'WedgeAlarmRecorded' },
    { type: 'AllocationBlocked' },
    { type: 'AlertRaised', data: { alert: 'wedge_without_consent' } },
  ]);
  expect(typesOf(story.see(cut(21080)))).toEqual(['ObservationJudged']);
});
