import { expect, test } from 'vitest';
import { canonicalJson } from '#events/canonical-json';
import { CATALOGUE, type KnownEvent } from '#events/catalogue';
import { readEvent } from '#events/upcast';
import { digestOf, idOf } from '#support/builders';
import { recordedRow } from '#support/recorded';
import { evolveKept, type KeptObservations, NOTHING_KEPT } from './kept-observations.ts';

const AT_0 = '2026-01-05T00:00:00.000Z';
const AT_1 = '2026-01-05T00:01:00.000Z';

function reported(name: string, instance: string, observedAt: string): KnownEvent {
  const { data } = CATALOGUE.ObservationReported.create({
    messageIdDigest: null,
    bodyDigest: digestOf('body'),
    reportedBy: 'local',
    observation: {
      instance,
      lane: 'gcp',
      observedAt,
      provider: 'running',
      guest: null,
      alarm: 'none',
      logAgeS: null,
      createOperation: 'unknown',
      createError: null,
      deleteOperation: 'unknown',
      port: null,
    },
  });
  const row = { type: 'ObservationReported', role: 'input', eventId: idOf(name) } as const;
  return readEvent(recordedRow({ ...row, body: canonicalJson(data) }));
}

function judged(instance: string): KnownEvent {
  const { data } = CATALOGUE.ObservationJudged.create({
    instance,
    observedAt: AT_0,
    mark: null,
    facts: null,
    verdict: {
      outcome: 'unchanged',
      reason: null,
      failureClass: null,
      redrivable: false,
      rule: '4.1 no_rule',
      evidence: {},
      notFired: [],
    },
  });
  return readEvent(recordedRow({ type: 'ObservationJudged', body: canonicalJson(data) }));
}

const shown = ({ newest, unjudged }: KeptObservations) => ({ newest: [...newest], unjudged: [...unjudged] });

test('a poll is the newest of its instance, and waits for its judgement', () => {
  const kept = evolveKept(NOTHING_KEPT, reported('one', 'X1', AT_0), null);
  expect(shown(kept)).toEqual({ newest: [['X1', AT_0]], unjudged: [idOf('one')] });
  expect(shown(NOTHING_KEPT)).toEqual({ newest: [], unjudged: [] });
});

test('an older poll does not become the newest, and another instance has its own', () => {
  const story = [
    reported('one', 'X1', AT_1),
    reported('two', 'X1', AT_0),
    reported('three', 'constructor', AT_0),
  ];
  const kept = story.reduce((before, event) => evolveKept(before, event, null), NOTHING_KEPT);
  expect(shown(kept).newest).toEqual([
    ['X1', AT_1],
    ['constructor', AT_0],
  ]);
});

test('a judgement settles the poll that caused it, and no other', () => {
  const story = [reported('one', 'X1', AT_0), reported('two', 'X1', AT_1)];
  const kept = story.reduce((before, event) => evolveKept(before, event, null), NOTHING_KEPT);
  expect([...evolveKept(kept, judged('X1'), idOf('one')).unjudged]).toEqual([idOf('two')]);
  expect(evolveKept(kept, judged('X1'), idOf('other'))).toBe(kept);
  expect(evolveKept(kept, judged('X1'), null)).toBe(kept);
});

test('what is no poll changes nothing', () => {
  const data = { rung: 'r', day: '2026-01-05', count: 1, fence: 1 };
  const event = readEvent(recordedRow({ type: 'RungCounted', body: canonicalJson(data) }));
  expect(evolveKept(NOTHING_KEPT, event, idOf('one'))).toBe(NOTHING_KEPT);
});
