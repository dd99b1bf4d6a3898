import { describe, expect, test } from 'vitest';
import type { Observation } from '#events/watch.events';
import { at } from '#support/builders';
import { gone, guest, poll, Story, works } from '#support/watch-builders';

const facts = (...polls: readonly Observation[]) => {
  const story = new Story().launch({ budgetS: 1800 }).placed(0);
  story.see(...polls);
  return story.instance().facts;
};

test('nothing is known before the first poll', () => {
  expect(new Story().launch().placed(0).instance().facts).toBeNull();
});

describe('reached running', () => {
  test.each([
    ['the provider says running', [poll(60, 'running')], true],
    ['any phase of a guest', [poll(60, 'queued', guest('boot', false))], true],
    ['an older poll that comes late', [poll(60, 'queued'), poll(30, 'running')], true],
    ['it never goes back', [poll(60, 'running'), poll(90, 'queued'), gone(120)], true],
    ['a failed read says nothing', [poll(60, 'probe_error', guest('workload', true))], false],
    ['queued and provisioning are not running', [poll(60, 'queued'), poll(90, 'provisioning')], false],
  ])('%s', (_reason, polls, reached) => {
    expect(facts(...polls)?.reachedRunning).toBe(reached);
  });
});

describe('workload started', () => {
  test.each([
    ['a positive flag', [works(60)], true],
    [
      'neither false nor unknown takes it back',
      [works(60), works(90, guest('workload', false)), works(120, guest('workload', null))],
      true,
    ],
    ['a failed read of the flag is neither', [works(60, guest('workload', null))], false],
    ['a late poll tells it', [works(90, guest('workload', null)), works(60)], true],
  ])('%s', (_reason, polls, started) => {
    expect(facts(...polls)?.workloadStarted).toBe(started);
  });
});

describe('the phase clock', () => {
  test.each([
    ['starts at the first poll, not at the create', [works(500)], 'workload', 500],
    ['runs on through the same phase', [works(500), works(900)], 'workload', 500],
    ['starts anew at another phase', [works(500), works(900, guest('finalizing', true))], 'finalizing', 900],
    ['runs on while the guest cannot be read', [works(500), poll(900, 'running')], 'workload', 500],
    ['runs on through a failed read', [works(500), poll(900, 'probe_error')], 'workload', 500],
    [
      'is the provider’s word while no guest was ever read',
      [poll(500, 'running'), poll(900, 'running')],
      'running',
      500,
    ],
    ['starts anew with the first guest', [poll(500, 'running'), works(900)], 'workload', 900],
    [
      'is not moved by a late poll',
      [works(900), poll(500, 'running', guest('boot', false))],
      'workload',
      900,
    ],
  ])('%s', (_reason, polls, phase, since) => {
    expect(facts(...polls)).toMatchObject({ phase, phaseSince: at(since) });
  });
});

describe('a failed read', () => {
  test('is the newest observation, breaks the rows of alarms, and changes nothing else', () => {
    const before = facts(works(100, { alarm: 'transport' }));
    const after = facts(works(100, { alarm: 'transport' }), poll(160, 'probe_error', guest('done', true)));
    expect(before?.transportAlarms).toEqual({ count: 1, since: at(100) });
    expect(after).toEqual({ ...before, newest: at(160), transportAlarms: null, silentLogs: null });
  });
  test('that comes late changes nothing at all', () => {
    const alarm = works(100, { alarm: 'transport' });
    expect(facts(alarm, poll(60, 'probe_error'))).toEqual(facts(alarm));
  });
});

describe('gone', () => {
  test.each([
    ['ended', [poll(60, 'terminated')], true],
    ['missing after a create that is done', [gone(60)], true],
    ['missing after a life that was seen', [works(60), poll(90, 'not_found')], true],
    ['missing while the create may still land', [poll(60, 'not_found')], false],
    ['seen again', [gone(60), poll(90, 'running')], false],
    ['a failed read', [poll(60, 'probe_error')], false],
  ])('%s: %s', (_reason, polls, isGone) => {
    expect(facts(...polls)?.gone).toBe(isGone);
  });
});

test('a setup that failed is known only from a flag that was read with that phase', () => {
  expect(
    facts(poll(60, 'running', guest('boot', false)), poll(90, 'running', guest('failed', null)))?.setupFailed,
  ).toBe(false);
  expect(facts(poll(60, 'running', guest('failed', false)), poll(90, 'running'))?.setupFailed).toBe(true);
  expect(facts(works(30), poll(60, 'running', guest('failed', false)))?.setupFailed).toBe(false);
  expect(facts(poll(60, 'running', guest('failed', false)), works(90))?.setupFailed).toBe(false);
});

test('of two polls of one instant the second adds what can never be taken back, and starts nothing', () => {
  expect(facts(poll(60, 'provisioning'), poll(60, 'queued'))).toMatchObject({
    newest: at(60),
    seenQueued: true,
    queuedSince: null,
    phase: 'provisioning',
  });
});
