import { describe, expect, test } from 'vitest';
import { at } from '#support/builders';
import { gone, guest, poll, Story, works } from '#support/watch-builders';
import { changesNothing } from './changes-nothing.ts';

const placed = () => new Story().launch({ budgetS: 1800 }).placed(0, 'od_a');
const ask = (story: Story, observation: Parameters<typeof changesNothing>[1], mark: string | null = null) =>
  changesNothing(story.placement, observation, mark);

describe('only the mark moves', () => {
  test.each([
    ['the same again, later', works(160)],
    ['a failed read', poll(160, 'probe_error')],
    ['a clean poll with a known log', works(160, { logAgeS: 3 })],
    ['an alarm of the provider’s own interface, while no row stands', works(160, { alarm: 'control_plane' })],
  ])('%s', (_reason, next) => {
    const story = placed();
    story.see(works(100));
    expect(ask(story, next)).toMatchObject({ verdict: { outcome: 'unchanged' }, movesMark: true });
  });
  test('the answer says which rules did not fire', () => {
    const story = placed();
    story.see(works(100));
    expect(ask(story, works(160))?.verdict).toMatchObject({
      rule: '4.1 no_rule',
      notFired: expect.arrayContaining(['infra_wedge:no_alarm', 'queue_vanish:not_missing']),
    });
  });
});

describe('not even the mark moves', () => {
  test.each([
    ['an older poll that adds nothing', works(90)],
    ['a poll of another instance', works(160, { instance: 'X9' })],
  ])('%s', (_reason, next) => {
    const story = placed();
    story.see(works(100));
    expect(ask(story, next)).toMatchObject({ movesMark: false });
  });
  test('a poll that the mark has passed', () => {
    const story = placed();
    story.see(works(100));
    expect(ask(story, works(160), at(200))).toMatchObject({
      verdict: { rule: '3.6 late' },
      movesMark: false,
    });
  });
});

describe('must be recorded', () => {
  test.each([
    ['another phase', works(160, guest('finalizing', true))],
    ['an alarm', works(160, { alarm: 'transport' })],
    ['a silent machine', works(160000, { logAgeS: 9000 })],
    ['a state that a rule decides on', poll(160, 'terminated')],
    ['an absence', gone(160)],
    ['a queued poll', poll(160, 'queued')],
    ['an older poll with a fact that was not known', poll(90, 'queued')],
  ])('%s', (_reason, next) => {
    const story = placed();
    story.see(works(100));
    expect(ask(story, next)).toBeNull();
  });
  test('the first poll of an instance', () => {
    expect(ask(placed(), poll(60, 'probe_error'))).toBeNull();
  });
  test('a failed read that breaks a row of alarms', () => {
    const story = placed();
    story.see(works(100), works(160, { alarm: 'transport' }));
    expect(ask(story, poll(220, 'probe_error'))).toBeNull();
  });
  test('a queued poll past the limit, and none before it', () => {
    const story = new Story().launch().placed(0);
    story.see(poll(60, 'queued'));
    expect(ask(story, poll(660, 'queued'))).toMatchObject({ movesMark: true });
    expect(ask(story, poll(661, 'queued'))).toBeNull();
  });
  test('a poll that raises an alert, and no other after it', () => {
    const failedUp = (seconds: number) => poll(seconds, 'running', guest('failed', true));
    const story = placed();
    story.see(failedUp(100));
    expect(ask(story, failedUp(999))).toMatchObject({ movesMark: true });
    expect(ask(story, failedUp(1000))).toBeNull();
    story.see(failedUp(1000));
    expect(ask(story, failedUp(1060))).toMatchObject({ movesMark: true });
  });
  test('the first clean poll after a question was asked', () => {
    const story = new Story().launch('ask').placed(0, 'od_a');
    const cut = (seconds: number) => works(seconds, { alarm: 'transport' });
    story.see(works(1000), cut(20000), cut(20540));
    expect(ask(story, works(20600))).toBeNull();
    story.see(works(20600));
    expect(ask(story, works(20660))).toMatchObject({ movesMark: true });
  });
});
