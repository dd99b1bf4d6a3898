import { describe, expect, test } from 'vitest';
import { counted, prompted } from '#support/allocation-events';
import { AuditedStory, launched } from '#support/audited-story';
import { at, attempt, idOf, QUESTION } from '#support/builders';
import { createSending, instanceCreated, intentId, intentRecorded } from '#support/provision-builders';
import { gone, poll, verdictOf, works } from '#support/watch-builders';
import { placementRowOf } from '../placement-row.ts';
import { nothingSeen } from '../watch/instance-facts.ts';
import { openAlertsOf } from './audited-state.ts';
import { billsOf } from './bills.ts';
import { stateView } from './state-view.ts';

const HOUR_LATER = 3_660;
const judgedGone = (story: AuditedStory, seconds: number) =>
  story.polled(gone(seconds)).add(seconds, {
    type: 'ObservationJudged',
    data: {
      instance: 'X1',
      observedAt: at(seconds),
      mark: null,
      verdict: verdictOf('unchanged'),
      facts: { ...FACTS, newest: at(seconds), gone: true },
    },
  });
const FACTS = { ...nothingSeen(at(0)), reachedRunning: true, workloadStarted: true };

describe('the state that an auditor is shown', () => {
  test('before any decision has no record and no placement', () => {
    expect(stateView(new AuditedStory().state, at(0))).toEqual({
      pos: 0,
      at: '',
      unreadable: null,
      record: null,
      placement: null,
    });
  });

  test('holds the record that the newest decision carries, and names the open question', () => {
    const story = new AuditedStory().add(1, counted(1)).add(2, counted(2)).add(3, prompted(3));
    expect(stateView(story.state, at(9))).toEqual({
      pos: 3,
      at: at(3),
      unreadable: null,
      record: {
        count: 3,
        status: 'awaiting-consent',
        consent: 'pending',
        pool: 'on-demand',
        openQuestion: idOf(QUESTION),
      },
      placement: null,
    });
  });

  test('holds the placement with its machine, beside what the provider said last', () => {
    const story = launched().polled(works(120)).polled(poll(90, 'queued'));
    expect(stateView(story.state, at(HOUR_LATER))).toMatchObject({
      pos: 4,
      record: null,
      placement: {
        outcome: 'placed_primary',
        rule: 'test',
        instance: { id: 'X1', lane: 'gcp', pool: 'on-demand', rung: 'od_a' },
        // The poll that came late was seen earlier.
        provider: { status: 'running', observedAt: at(120) },
        openIntent: null,
      },
    });
  });

  test('shows no instance that a caller made up', () => {
    const story = launched().polled(poll(120, 'running', { instance: 'made up' }));
    expect(story.state.providers).toEqual({});
    expect(JSON.stringify(stateView(story.state, at(120)))).not.toContain('made up');
  });

  test('names the intent that is open', () => {
    const story = launched().add(100, intentRecorded(intentId('a')));
    expect(stateView(story.state, at(100)).placement?.openIntent).toBe(intentId('a'));
  });
});

describe('what bills', () => {
  test('is the placed machine, from its creation on, at its price', () => {
    expect(billsOf(launched().state, at(HOUR_LATER))).toEqual([
      { instance: 'X1', lane: 'gcp', sinceAt: at(60), costPerHourUsd: 2, costSoFarUsd: 2 },
    ]);
  });

  test.each([
    ['without a price nobody knows what it cost', null, HOUR_LATER, null],
    ['half an hour costs half', 2, 1_860, 1],
    ['before its creation, by a clock that runs ahead, it costs nothing', 2, 0, 0],
  ])('%s', (_why, price, seconds, cost) => {
    expect(billsOf(launched(price).state, at(seconds))).toMatchObject([{ costSoFarUsd: cost }]);
  });

  test('is also a pod that an intent left behind, since the log learnt of it', () => {
    const intent = intentId('a');
    const story = launched()
      .add(100, intentRecorded(intent), createSending(intent, 100))
      .add(130, instanceCreated(intent, 'P1'));
    expect(
      billsOf(story.state, at(130)).map(({ instance, lane, sinceAt }) => [instance, lane, sinceAt]),
    ).toEqual([
      ['X1', 'gcp', at(60)],
      ['P1', 'runpod', at(130)],
    ]);
  });

  test('ends when the machine is seen gone', () => {
    expect(billsOf(judgedGone(launched(), 300).state, at(300))).toEqual([]);
  });

  test('is something exactly when the row of the candidate list says so', () => {
    const intent = intentId('a');
    const story = launched().add(100, intentRecorded(intent)).add(130, instanceCreated(intent, 'P1'));
    judgedGone(story, 300).add(310, {
      type: 'ResidueReaped',
      data: { intent, instance: 'P1', chain: 'terminal:X1' },
    });
    const billing = story.states.map((state) => billsOf(state, at(400)).length > 0);
    expect(billing).toEqual(story.states.map(({ placement }) => placementRowOf(placement).bills));
    expect(new Set(billing)).toEqual(new Set([true, false]));
  });
});

describe('open alerts', () => {
  const raise = (subject: string) =>
    ({
      type: 'AlertRaised',
      data: { alert: 'failed_machine_up', subject, evidence: { instance: subject } },
    }) as const;

  test('name where the log says that they were raised', () => {
    const story = launched().add(1_000, raise('X1'));
    expect(openAlertsOf(story.state)).toEqual([
      { alert: 'failed_machine_up', subject: 'X1', at: at(1_000), pos: 3 },
    ]);
  });

  test('are gone when their subject has changed', () => {
    const story = launched().add(1_000, raise('X1'));
    expect(openAlertsOf(judgedGone(story, 1_100).state)).toEqual([]);
  });
});

test('an erased allocation counts as erased until it is reported again', () => {
  const story = new AuditedStory().add(1, counted(1));
  const { record } = story.state;
  if (record === null) throw new Error('nothing was decided');
  story.add(2, { type: 'AllocationErased', data: { withdrew: null, after: record } });
  expect(story.state.erased).toBe(true);
  story.add(3, { type: 'AttemptReported', data: attempt().input });
  expect(story.state.erased).toBe(false);
});
