import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#events/canonical-json';
import { readEvent } from '#events/upcast';
import type { Observation } from '#events/watch.events';
import { at, digestOf, idOf } from '#support/builders';
import {
  createEnded,
  createSending,
  instanceCreated,
  intentId,
  vanished as moved,
  withOpenIntent,
} from '#support/provision-builders';
import { recordedRow } from '#support/recorded';
import { gone, guest, poll, Story, verdictOf, works } from '#support/watch-builders';
import { afterFacts, eventOfFact, type Fact } from './fact.ts';
import { notWatched } from './intent/failover-once.ts';
import { bootStreak, createsToday, NOT_PLACED, ownLeftovers, retriesToday, rungOf } from './placement.ts';
import { evolveRecordedPlacement } from './placement-fold.ts';
import { placementRowOf, retryDueAt } from './placement-row.ts';

const placed = () => new Story().launch().placed(0);
const vanished = () => {
  const story = placed();
  story.see(poll(60, 'queued'), gone(300));
  return story;
};
const blockedFact = (reason: 'no_compute_available' | 'setup_failure'): Fact => ({
  type: 'AllocationBlocked',
  data: { reason, verdict: verdictOf('blocked', { reason }) },
});

describe('a launch', () => {
  test('waits, and leaves what came before to a person', () => {
    const story = placed();
    story.see(poll(330, 'terminated', guest('failed', false)));
    const { placement } = story.launch('standing', 500);
    expect(placement).toMatchObject({
      outcome: 'waiting',
      verdict: null,
      current: null,
      walk: { kind: 'launch' },
    });
    expect(Object.keys(placement.instances)).toEqual(['X1']);
  });
  test('keeps counts, streaks, stamps and losses', () => {
    const story = vanished().completed(400);
    story.see({ ...gone(500), instance: 'P1', lane: 'runpod' });
    const before = story.placement;
    const { stamps, queueLosses, bootDeaths, creates, alerts } = story.launch('standing', 600).placement;
    expect({ stamps, queueLosses, bootDeaths, creates, alerts }).toEqual({
      stamps: ['X1'],
      queueLosses: { flex_a: '2026-11-29' },
      bootDeaths: before.bootDeaths,
      creates: before.creates,
      alerts: before.alerts,
    });
  });
});

test('a completion stamps the failed instance and makes the pod the current one', () => {
  const { placement } = vanished().completed(400);
  expect(placement).toMatchObject({
    stamps: ['X1'],
    current: 'P1',
    move: null,
    outcome: 'running_on_terminal',
  });
  expect(placement.instances.P1).toMatchObject({ kind: 'terminal', lane: 'runpod', rung: null, facts: null });
  expect(notWatched(placement, 'X1')).toBe('not_current');
  expect(notWatched(placement, 'P1')).toBeNull();
});

test('an instance that is placed anew begins without facts', () => {
  const story = placed();
  story.see(poll(60, 'queued'));
  expect(story.placed(100, 'flex_a', 'X2').instance('X2').facts).toBeNull();
  expect(story.instance('X1').facts).toMatchObject({ seenQueued: true });
});

test('facts of an instance that nobody placed are kept nowhere', () => {
  const fact: Fact = {
    type: 'ObservationJudged',
    data: { instance: 'X9', observedAt: at(1), mark: null, verdict: verdictOf('unchanged'), facts: null },
  };
  expect(placed().add(1, fact).placement.instances).not.toHaveProperty('X9');
});

test('an unchanged verdict is no latest decision', () => {
  const story = placed();
  const before = story.placement;
  story.see(works(60));
  expect(story.placement).toMatchObject({
    outcome: before.outcome,
    verdict: before.verdict,
    version: before.version + 1,
  });
});

describe('counts of the UTC day', () => {
  test('are those of the day, and none of another', () => {
    const { placement } = placed()
      .add(1, { type: 'RungCounted', data: { rung: 'flex_a', day: '2026-11-29', count: 3, fence: 1 } })
      .add(2, { type: 'WalkStarted', data: { walk: 'retry', rungs: [], retry: 2, day: '2026-11-29' } })
      .add(3, {
        type: 'BootDeathRecorded',
        data: { instance: 'X1', rung: 'flex_a', day: '2026-11-29', streak: 1 },
      });
    expect([createsToday(placement, '2026-11-29'), createsToday(placement, '2026-11-30')]).toEqual([3, 0]);
    expect([retriesToday(placement, '2026-11-29'), retriesToday(placement, '2026-11-30')]).toEqual([2, 0]);
    expect([
      bootStreak(placement, 'flex_a', '2026-11-29'),
      bootStreak(placement, 'flex_a', '2026-11-30'),
    ]).toEqual([1, 0]);
    expect(bootStreak(placement, 'od_a', '2026-11-29')).toBe(0);
  });
});

describe('a fact of one UTC day leaves the counts of another alone, in whatever order they come', () => {
  const counted = (day: string, count: number): Fact => ({
    type: 'RungCounted',
    data: { rung: 'flex_a', day, count, fence: 1 },
  });
  const retried = (day: string, retry: number): Fact => ({
    type: 'WalkStarted',
    data: { walk: 'retry', rungs: [], retry, day },
  });
  const died = (day: string, streak: number): Fact => ({
    type: 'BootDeathRecorded',
    data: { instance: `X-${day}-${streak}`, rung: 'flex_a', day, streak },
  });
  const lost = (day: string): Fact => ({
    type: 'QueueLossRecorded',
    data: { instance: 'X1', rung: 'flex_a', day },
  });
  const [OLD, NEW] = ['2026-11-29', '2026-11-30'];

  test.each([
    ['creates', [counted(NEW, 3), counted(OLD, 7)], createsToday, [7, 3]],
    [
      'creates of the older day first',
      [counted(OLD, 7), counted(NEW, 1), counted(OLD, 8)],
      createsToday,
      [8, 1],
    ],
    ['retries', [retried(NEW, 2), retried(OLD, 4)], retriesToday, [4, 2]],
  ])('%s', (_what, facts, today, expected) => {
    const { placement } = placed().add(1, ...facts);
    expect([today(placement, OLD), today(placement, NEW)]).toEqual(expected);
  });
  test('boot deaths of a rung; a workload that ran ends them all', () => {
    const story = placed().add(1, died(NEW, 1), died(OLD, 2));
    const streaks = () => [OLD, NEW].map((day) => bootStreak(story.placement, 'flex_a', day));
    expect(streaks()).toEqual([2, 1]);
    story.add(2, { type: 'BootStreakReset', data: { instance: 'X9', rung: 'flex_a' } });
    expect(streaks()).toEqual([0, 0]);
  });
  test('queue losses: the newest day stays', () => {
    expect(placed().add(1, lost(NEW), lost(OLD)).placement.queueLosses).toEqual({ flex_a: NEW });
    expect(placed().add(1, lost(OLD), lost(NEW)).placement.queueLosses).toEqual({ flex_a: NEW });
  });
  test('no more than the newest three days are kept', () => {
    const days = ['2026-11-27', '2026-11-28', OLD, NEW];
    const { creates } = placed().add(1, ...days.map((day) => counted(day, 1))).placement;
    expect(Object.keys(creates)).toEqual(days.slice(1));
  });
});

describe('why nothing looks at an instance', () => {
  test.each<[string, (story: Story) => unknown, string]>([
    [
      'a move is asked',
      (story) => story.launch('ask').placed(0).see(poll(60, 'queued'), gone(300)),
      'move_asked',
    ],
    [
      'a move is decided',
      (story) => story.launch().placed(0).see(poll(60, 'queued'), gone(300)),
      'move_decided',
    ],
    [
      'it is done',
      (story) =>
        story
          .launch()
          .placed(0)
          .see(poll(9, 'running', guest('done', true))),
      'allocation_done',
    ],
    [
      'the allocation is blocked',
      (story) => story.launch().placed(0).add(9, blockedFact('setup_failure')),
      'allocation_blocked',
    ],
    [
      'the ladder is walked',
      (story) =>
        story
          .launch()
          .placed(0)
          .add(9, {
            type: 'WalkStarted',
            data: { walk: 'retry', rungs: ['od_a'], retry: 1, day: '2026-11-29' },
          }),
      'ladder_walked',
    ],
    [
      'we cancelled it',
      (story) =>
        story
          .launch()
          .placed(0)
          .add(9, { type: 'CancelConfirmed', data: { instance: 'X1' } }),
      'cancelled_by_us',
    ],
    ['nothing is placed', (story) => story.launch(), 'not_current'],
  ])('%s', (_reason, tell, why) => {
    const story = new Story();
    tell(story);
    expect(notWatched(story.placement, 'X1')).toBe(why);
  });
});

describe('row of the candidate list', () => {
  test('bills until it is seen gone, whatever was decided about it', () => {
    const story = new Story().launch('ask').placed(0, 'od_a');
    const bills = () => placementRowOf(story.placement).bills;
    expect(bills()).toBe(true);
    const cut = (seconds: number) => works(seconds, { alarm: 'transport' });
    story.see(works(1000), cut(20000), cut(20540));
    expect([story.placement.outcome, bills()]).toEqual(['awaiting_consent', true]);
    story.see(poll(20600, 'terminated'));
    expect(bills()).toBe(false);
  });
  test.each<[string, Story, boolean]>([
    ['placed', placed(), false],
    ['a decided move', vanished(), true],
    ['a queued instance to cancel under never', cancelling(), true],
    ['a question', asked(), false],
    [
      'a cancel that is owed',
      placed().add(9, { type: 'CancelUnconfirmed', data: { instance: 'X0', lane: 'gcp', kind: null } }),
      true,
    ],
    ['a launch', new Story().launch(), true],
    ['a block', placed().add(9, blockedFact('setup_failure')), false],
  ])('needs a worker: %s', (_reason, story, needs) => {
    expect(placementRowOf(story.placement).needsWorker).toBe(needs);
  });
  test('a retry is due after the back-off, for missing compute only', () => {
    expect(retryDueAt(placed().add(100, blockedFact('setup_failure')).placement)).toBeNull();
    const story = placed().add(100, blockedFact('no_compute_available'));
    expect(retryDueAt(story.placement)).toBe(at(3700));
    story.add(4000, { type: 'WalkStarted', data: { walk: 'retry', rungs: [], retry: 1, day: '2026-11-29' } });
    expect(retryDueAt(story.placement)).toBeNull();
    story.add(4000, blockedFact('no_compute_available'));
    expect(retryDueAt(story.placement)).toBe(at(7600));
  });
});

test('what is left of ours is named once', () => {
  const story = placed();
  for (const instance of ['X0', 'X0']) {
    story.add(9, { type: 'CancelUnconfirmed', data: { instance, lane: 'gcp', kind: null } });
  }
  expect(ownLeftovers(story.placement)).toEqual(['X0']);
  story.add(10, { type: 'CancelConfirmed', data: { instance: 'X0' } });
  expect(ownLeftovers(story.placement)).toEqual([]);
});

test('a machine of an earlier launch is left of ours until it is seen gone', () => {
  const a = intentId('a');
  const verdict = verdictOf('running_on_terminal');
  const pod = { instance: 'P1', lane: 'runpod' };
  const left = (...last: readonly Observation[]) => {
    const story = withOpenIntent(a)
      .add(301, instanceCreated(a))
      .add(302, { type: 'FailoverCompleted', data: { ...pod, intent: a, key: 'X1', verdict } });
    story.see(poll(400, 'running', pod), ...last);
    return ownLeftovers(story.launch('standing', 500).placement);
  };
  expect(left()).toEqual(['P1']);
  expect(left(gone(450, pod))).toEqual([]);
});

test('a rung is found by its id, and no other', () => {
  expect(rungOf(placed().placement, 'od_a')).toMatchObject({ pool: 'on-demand' });
  expect(rungOf(placed().placement, 'constructor')).toBeNull();
});

describe('recorded events', () => {
  test('an input changes nothing, and a decision counts one version at its domain time', () => {
    const story = placed();
    const data = {
      launch: idOf('launch'),
      plan: story.placement.launch?.plan,
      requestDigest: null,
      workloadDigest: null,
    };
    const rows = {
      input: recordedRow({
        type: 'ParkedRequeued',
        role: 'input',
        body: canonicalJson({ consumer: 'c', stream: 's', firstPos: 1 }),
      }),
      launch: recordedRow({
        type: 'LaunchAccepted',
        eventId: idOf('taken'),
        occurredAt: at(7),
        body: canonicalJson(data),
      }),
    };
    expect(evolveRecordedPlacement(NOT_PLACED, readEvent(rows.input))).toBe(NOT_PLACED);
    expect(evolveRecordedPlacement(NOT_PLACED, readEvent(rows.launch))).toMatchObject({
      version: 1,
      launch: { id: idOf('launch'), version: 1, at: at(7) },
      walk: { id: idOf('taken') },
    });
  });
  test('facts about to be recorded fold to the same, in both halves', () => {
    const story = new Story().launch('ask').placed(0);
    const facts = story.see(poll(60, 'queued'), gone(300));
    const before = new Story().launch('ask').placed(0);
    before.see(poll(60, 'queued'));
    const after = afterFacts(before.standing, facts, { at: at(300), eventIdAt: before.ids() });
    expect(after).toEqual(story.standing);
    expect(after.record.version).toBe(after.placement.version);
    expect(after.record.scalars.openQuestion?.kind).toBe('failover');
  });
  test('a fact becomes the event of its type', () => {
    const fact: Fact = { type: 'CancelConfirmed', data: { instance: 'X1' } };
    expect(eventOfFact(fact)).toEqual({ ...fact, version: 1, role: 'decision' });
  });
});

function asked(): Story {
  const story = new Story().launch('ask').placed(0);
  story.see(poll(60, 'queued'), gone(300));
  return story;
}

function cancelling(): Story {
  const story = new Story().launch('never').placed(0);
  story.see(poll(10, 'queued'), poll(700, 'queued'));
  return story;
}

test('an acceptance of another key outlives a completion', () => {
  const story = asked();
  const data = {
    questionId: idOf('q'),
    actionDigest: digestOf('a'),
    key: 'X0',
    answeredBy: 'local',
    expiresAt: at(9000),
    after: story.record.scalars,
  };
  story.add(400, { type: 'FailoverAccepted', data }).completed(500);
  expect(story.placement.acceptance).toEqual({ key: 'X0', questionId: idOf('q'), expiresAt: at(9000) });
});

describe('what the terminal lane refused stays with the move', () => {
  const intent = intentId('a');
  const refusedAs = (ended: ReturnType<typeof createEnded>, why: 'missed' | 'refused') => {
    const story = withOpenIntent(intent).add(301, createSending(intent, 301), ended);
    story.add(400, { type: 'IntentClosed', data: { intent, why } });
    return story.placement.move?.refused?.answer;
  };

  test.each([
    {
      reason: 'the text of a lost answer counts once the look found nothing',
      ended: createEnded(intent, 302, 'outcome_unknown', { speaksOfShortage: true }),
      why: 'missed' as const,
      answer: 'capacity',
    },
    {
      reason: 'a quota stays one',
      ended: createEnded(intent, 302, 'quota'),
      why: 'missed' as const,
      answer: 'quota',
    },
    {
      reason: 'any other refusal is no shortage',
      ended: createEnded(intent, 302, 'balance'),
      why: 'refused' as const,
      answer: 'balance',
    },
  ])('$reason', ({ ended, why, answer }) => {
    expect(refusedAs(ended, why)).toBe(answer);
  });

  test('nothing is refused before the intent is closed', () => {
    expect(moved().placement.move?.refused).toBeNull();
  });
});
