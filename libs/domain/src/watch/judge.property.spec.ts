import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FailoverConsent } from '#events/plan';
import { GUEST_PHASES, type Observation, PROVIDER_STATES } from '#events/watch.events';
import { seeded } from '#support/seeded';
import { poll, Story, typesOf, verdictIn } from '#support/watch-builders';
import type { Fact } from '../fact.ts';
import { newestOf } from './assess.ts';
import { changesNothing } from './changes-nothing.ts';

/** Far above what a run takes: a loaded machine is no failure of a rule. */
const TIMEOUT_MS = 60_000;

const guests = fc.option(
  fc.record({
    phase: fc.constantFrom(...GUEST_PHASES),
    workloadStarted: fc.constantFrom(true, false, null),
  }),
);
const observations: fc.Arbitrary<Observation> = fc
  .record({
    seconds: fc.oneof(
      fc.integer({ min: 1, max: 40 }).map((step) => step * 100),
      fc.nat({ max: 200_000 }),
    ),
    provider: fc.constantFrom(...PROVIDER_STATES),
    guest: guests,
    alarm: fc.constantFrom('none', 'none', 'transport', 'control_plane'),
    logAgeS: fc.constantFrom(null, 5, 1800, 1801, 9000),
    createOperation: fc.constantFrom('done', 'done', 'unknown', 'running', 'failed'),
    deleteOperation: fc.constantFrom('none', 'none', 'unknown', 'present'),
  })
  .map(({ seconds, provider, ...change }) => poll(seconds, provider, change));
const rungs = fc.constantFrom('flex_a', 'od_a');
const consents = fc.constantFrom<FailoverConsent>('standing', 'ask', 'never');
const stories = fc.record({
  polls: fc.array(observations, { minLength: 1, maxLength: 12 }),
  rung: rungs,
  failover: consents,
});

const begun = (rung: string, failover: FailoverConsent): Story =>
  new Story().launch({ failover, budgetS: 1800 }).placed(0, rung);

const count = (story: Story, type: Fact['type']) => typesOf(story.facts).filter((one) => one === type).length;

/** The same polls in another order, some of them more than once. */
const shuffled = fc.array(observations, { minLength: 1, maxLength: 8 }).chain((polls) => {
  const twice = [...polls, ...polls];
  return fc.shuffledSubarray(twice, { minLength: polls.length, maxLength: twice.length });
});

describe('observations in whatever order', { timeout: TIMEOUT_MS }, () => {
  test('never lead to a second move of one instance, nor to one that follows on a decline', () => {
    fc.assert(
      fc.property(shuffled, rungs, consents, (polls, rung, failover) => {
        const story = begun(rung, failover);
        story.see(...polls);
        const moves =
          count(story, 'FailoverDecided') + count(story, 'FailoverPrompted') + count(story, 'CancelDecided');
        expect(moves).toBeLessThanOrEqual(1);
        expect(count(story, 'AllocationBlocked')).toBeLessThanOrEqual(1);
        expect(count(story, 'AllocationDone')).toBeLessThanOrEqual(1);
        expect(count(story, 'BootDeathRecorded')).toBeLessThanOrEqual(1);
      }),
      seeded(300),
    );
  });

  test('fire no rule on an observation that is not the newest', () => {
    fc.assert(
      fc.property(shuffled, rungs, consents, (polls, rung, failover) => {
        const story = begun(rung, failover);
        for (const observation of polls) {
          const newest = newestOf(story.placement.instances.X1?.facts ?? null, null);
          const facts = story.see(observation);
          if (newest === null || observation.observedAt > newest) continue;
          expect(typesOf(facts)).toEqual(['ObservationJudged']);
          expect(verdictIn(facts).outcome).toBe('unchanged');
          expect(story.placement.instances.X1?.facts?.newest).toBe(newest);
        }
      }),
      seeded(300),
    );
  });

  test('are judged into exactly one outcome, which is that of the last decision', () => {
    fc.assert(
      fc.property(stories, ({ polls, rung, failover }) => {
        const story = begun(rung, failover);
        for (const observation of polls) {
          const before = story.placement.outcome;
          const facts = story.see(observation);
          const { outcome, rule } = verdictIn(facts);
          expect(story.placement.outcome).toBe(outcome === 'unchanged' ? before : outcome);
          expect(rule).toMatch(/^\d/);
          expect(story.record.version).toBe(story.placement.version);
          expect(facts.filter(({ type }) => type === 'ObservationJudged')).toHaveLength(1);
        }
      }),
      seeded(200),
    );
  });
});

test('repeats and late repeats change nothing', { timeout: TIMEOUT_MS }, () => {
  fc.assert(
    fc.property(stories, ({ polls, rung, failover }) => {
      const story = begun(rung, failover);
      story.see(...polls);
      const { facts } = story.placement.instances.X1 ?? {};
      for (const repeat of polls) {
        const again = story.judge(repeat);
        expect(typesOf(again)).toEqual(['ObservationJudged']);
        expect(again[0]).toMatchObject({ data: { verdict: { outcome: 'unchanged' }, facts } });
        expect(changesNothing(story.placement, repeat, null)).not.toBeNull();
      }
    }),
    seeded(200),
  );
});

test('25 failed reads in a row cause nothing, wherever they come', { timeout: TIMEOUT_MS }, () => {
  fc.assert(
    fc.property(stories, fc.nat({ max: 12 }), ({ polls, rung, failover }, at) => {
      const calm = polls
        .map((observation) => ({ ...observation, alarm: 'none' as const, logAgeS: null }))
        .sort((one, other) => (one.observedAt < other.observedAt ? -1 : 1));
      const plain = begun(rung, failover);
      plain.see(...calm);
      const read = begun(rung, failover);
      read.see(...calm.slice(0, at));
      // Before all others where none has come yet: behind the first one they would make it a late one.
      const last = calm[at - 1]?.observedAt ?? poll(-1, 'probe_error').observedAt;
      const since = (Date.parse(last) - Date.parse(poll(0, 'probe_error').observedAt)) / 1000;
      for (let index = 1; index <= 25; index += 1) {
        const facts = read.see(poll(since + index / 1000, 'probe_error'));
        expect(typesOf(facts)).toEqual(['ObservationJudged']);
        expect(verdictIn(facts).outcome).toBe('unchanged');
      }
      read.see(...calm.slice(at));
      expect(read.placement.outcome).toBe(plain.placement.outcome);
      expect(read.placement.verdict).toEqual(plain.placement.verdict);
    }),
    seeded(200),
  );
});

test('a fact of another instance counts for nothing', { timeout: TIMEOUT_MS }, () => {
  const others = fc.record({
    at: fc.nat({ max: 12 }),
    observation: fc
      .tuple(observations, fc.constantFrom({ instance: 'X0' }, { instance: 'X9' }, { lane: 'runpod' }))
      .map(([observation, change]) => ({ ...observation, ...change })),
  });
  const after = (rung: string, failover: FailoverConsent) => {
    const story = new Story().launch({ failover, budgetS: 1800 }).placed(0, rung, 'X0');
    return story.placed(0, rung, 'X1');
  };
  fc.assert(
    fc.property(
      stories,
      fc.array(others, { minLength: 1, maxLength: 6 }),
      ({ polls, rung, failover }, strange) => {
        const alone = after(rung, failover);
        alone.see(...polls);
        const mixed = after(rung, failover);
        for (const [index, observation] of polls.entries()) {
          for (const other of strange.filter(({ at }) => at === index)) mixed.see(other.observation);
          mixed.see(observation);
        }
        expect(mixed.placement.verdict?.outcome).toBe(alone.placement.verdict?.outcome);
        expect(mixed.placement.verdict?.rule).toBe(alone.placement.verdict?.rule);
        expect(mixed.placement.instances.X1).toEqual(alone.placement.instances.X1);
        expect(mixed.placement.instances.X0).toEqual(alone.placement.instances.X0);
      },
    ),
    seeded(200),
  );
});

test('what changes nothing may move the mark instead of being recorded: no decision differs', {
  timeout: TIMEOUT_MS,
}, () => {
  fc.assert(
    fc.property(stories, ({ polls, rung, failover }) => {
      const all = begun(rung, failover);
      const marked = begun(rung, failover);
      for (const observation of polls) {
        const mark = marked.marks.get('X1') ?? null;
        const nothing = changesNothing(marked.placement, observation, mark);
        const facts = all.see(observation);
        if (nothing === null) {
          const same = marked.see(observation);
          expect(typesOf(same)).toEqual(typesOf(facts));
        } else {
          expect(typesOf(facts)).toEqual(['ObservationJudged']);
          expect(nothing.verdict).toEqual(verdictIn(facts));
          if (nothing.movesMark) marked.marks.set('X1', observation.observedAt);
        }
      }
      expect(marked.placement.outcome).toBe(all.placement.outcome);
      expect(marked.placement.verdict).toEqual(all.placement.verdict);
    }),
    seeded(300),
  );
});
