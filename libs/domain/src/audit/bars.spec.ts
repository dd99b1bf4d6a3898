import { describe, expect, test } from 'vitest';
import { accepted, counted, prompted } from '#support/allocation-events';
import { AuditedStory, launched } from '#support/audited-story';
import { at } from '#support/builders';
import { intentId, intentRecorded } from '#support/provision-builders';
import { poll, works } from '#support/watch-builders';
import { BARS_MAX, barsOf, type Chart, drawn, EMPTY_CHART } from './bars.ts';

/** Bars as one text each: seconds from the story's begin. */
function bars(story: AuditedStory): readonly string[] {
  const second = (instant: string | null) =>
    instant === null ? '' : String((Date.parse(instant) - Date.parse(at(0))) / 1_000);
  return barsOf(story.states.reduce<Chart>(drawn, EMPTY_CHART)).map(
    ({ track, label, tone, from, to }) => `${track} | ${label} | ${tone} ${second(from)}-${second(to)}`,
  );
}

describe('the bars of a chart', () => {
  test('of nothing are none', () => {
    expect(bars(new AuditedStory())).toEqual([]);
  });

  test('show the record and its question, and end when it is answered', () => {
    const story = new AuditedStory()
      .add(10, counted(1))
      .add(20, counted(2))
      .add(30, prompted(3))
      .add(90, accepted());
    expect(bars(story)).toEqual([
      'record | tracking, on-demand | calm 10-30',
      'questions | asked about the pool | asked 30-90',
      'record | awaiting-consent, on-demand | asked 30-90',
      'record | consented, preemptible | good 90-',
    ]);
  });

  test('show a machine on its lane by what the provider said last, beside our own state', () => {
    const story = launched()
      .polled(poll(70, 'provisioning'))
      .polled(works(80))
      .polled(works(100))
      .polled(poll(200, 'not_found'));
    expect(bars(story)).toEqual([
      'placement | waiting | moving 0-60',
      'lane gcp | X1: placed | moving 60-70',
      'placement | placed_primary | good 60-',
      'lane gcp | X1: provisioning | moving 70-80',
      'lane gcp | X1: running | good 80-200',
      'lane gcp | X1: not_found | bad 200-',
    ]);
  });

  test('are the same when events that change none of them are passed over', () => {
    const story = launched()
      .polled(poll(70, 'provisioning'))
      .add(80, counted(1))
      .polled(works(90))
      .add(95, counted(2))
      .add(100, prompted(3))
      .add(110, accepted());
    let anew = EMPTY_CHART;
    for (const state of story.states) anew = drawn({ ...anew, drawnOf: null }, state);
    expect(barsOf(story.states.reduce<Chart>(drawn, EMPTY_CHART))).toEqual(barsOf(anew));
  });

  test('show an intent while it is open', () => {
    const intent = intentId('a');
    const story = launched()
      .add(100, intentRecorded(intent))
      .add(150, { type: 'IntentClosed', data: { intent, why: 'missed' } });
    expect(bars(story)).toContain('intents | intent on runpod | moving 100-150');
  });

  test('leave out what held for no time at all', () => {
    const story = new AuditedStory().add(10, counted(1), counted(2), prompted(3), accepted());
    expect(bars(story)).toEqual(['record | consented, preemptible | good 10-']);
  });

  test('are the newest ones of a long life', () => {
    const story = launched();
    for (let turn = 0; turn < BARS_MAX + 10; turn += 1) {
      story.polled(poll(100 + turn, turn % 2 === 0 ? 'running' : 'probe_error'));
    }
    const shown = bars(story);
    // Two still hold: the outcome and the machine.
    expect(shown).toHaveLength(BARS_MAX + 2);
    expect(shown.at(-1)).toBe(`lane gcp | X1: probe_error | bad ${100 + BARS_MAX + 9}-`);
  });
});
