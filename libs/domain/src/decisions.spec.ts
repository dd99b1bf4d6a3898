import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AUTH, at, digestOf, idOf, OTHER } from '#support/builders';
import { type Chapter, play, rules, type Step, steps, stepsWithFailover } from '#support/random-story';
import { recorded } from '#support/recorded';
import { seeded } from '#support/seeded';
import { type Allocation, evolveRecorded, isConsentRow, UNKNOWN_ALLOCATION } from './allocation.ts';
import { decideConsent } from './consent/consent.ts';
import { explanations } from './explanation.ts';

/** Far above what a run takes: a loaded machine is no failure of a rule. */
const TIMEOUT_MS = 60_000;

/** Holds of every story, however its attempts, answers, renewals and erasures mix. */
function always(promise: (chapters: readonly Chapter[]) => void): void {
  fc.assert(
    fc.property(steps, rules, (story, promptRules) => promise(play(story, promptRules))),
    seeded(60),
  );
}

/** Whether a decision forgets what was prompted and declined: success, or a fresh record. */
const forgets = ({ decision: { type, data } }: Chapter) =>
  type === 'AllocationSucceeded' || ('record' in data && data.record === 'opened');

describe('decisions of any story', { timeout: TIMEOUT_MS }, () => {
  test('fold from scratch to the record that each of them carries', () => {
    always((chapters) => {
      let state: Allocation = UNKNOWN_ALLOCATION;
      for (const [index, { decision, after }] of chapters.entries()) {
        state = evolveRecorded(state, recorded(decision, index + 1));
        expect(state).toEqual(after);
        expect(state.scalars).toEqual(decision.data.after);
        expect(state.version).toBe(index + 1);
      }
    });
  });

  test('never leave two questions open', () => {
    always((chapters) => {
      const asked: string[] = [];
      for (const { decision, after } of chapters) {
        if (decision.type === 'FallbackPrompted') asked.push(decision.eventId);
        const answerable = asked.filter((question) => isAnswerable(after, question));
        const open = after.scalars.openQuestion;
        expect(answerable).toEqual(open === null ? [] : [open.originId]);
        expect(open === null).toBe(after.scalars.status !== 'awaiting-consent');
      }
    });
  });

  test('never ask a pool question while a failover question is open, and lose that one to nothing else', () => {
    fc.assert(
      fc.property(stepsWithFailover, rules, (story, promptRules) => {
        for (const { decision, before, after } of play(story, promptRules)) {
          if (before.scalars.openQuestion?.kind !== 'failover') continue;
          expect(decision.type).not.toBe('FallbackPrompted');
          const ends = [
            'FailoverAccepted',
            'FailoverDeclined',
            'FailoverVoided',
            'AllocationErased',
          ].includes(decision.type);
          expect(after.scalars.openQuestion?.kind).toBe(ends ? undefined : 'failover');
        }
      }),
      seeded(60),
    );
  });

  test('never ask again about declined evidence before a success or another request', () => {
    always((chapters) => {
      const declined = new Set<string>();
      for (const chapter of chapters) {
        const { decision } = chapter;
        if (forgets(chapter)) declined.clear();
        if (decision.type === 'FallbackPrompted')
          expect(declined).not.toContain(decision.data.evidenceDigest);
        if (decision.type === 'ConsentDeclined') declined.add(decision.data.evidenceDigest);
      }
    });
  });

  test('never ask twice in a row about the same evidence, unless the question was withdrawn', () => {
    always((chapters) => {
      let latest: string | null = null;
      for (const chapter of chapters) {
        const { decision } = chapter;
        const withdrawn = decision.type === 'AllocationErased' && decision.data.withdrew !== null;
        if (forgets(chapter) || withdrawn) latest = null;
        if (decision.type !== 'FallbackPrompted') continue;
        expect(decision.data.evidenceDigest).not.toBe(latest);
        latest = decision.data.evidenceDigest;
      }
    });
  });

  test('never lower the count, but for a success or a fresh record', () => {
    always((chapters) => {
      for (const chapter of chapters.filter((one) => !forgets(one))) {
        const { decision, before, after } = chapter;
        const counts = 'qualifying' in decision.data && decision.data.qualifying;
        expect(after.scalars.count).toBe(before.scalars.count + (counts ? 1 : 0));
      }
    });
  });

  test('never select preemptible but by an acceptance, nor give it back but for another request', () => {
    always((chapters) => {
      for (const { decision, before, after } of chapters) {
        if (before.scalars.pool === after.scalars.pool) continue;
        const opened = 'record' in decision.data && decision.data.record === 'opened';
        expect(after.scalars.pool).toBe(opened ? 'on-demand' : 'preemptible');
        expect(opened || decision.type === 'ConsentAccepted').toBe(true);
      }
    });
  });

  test('never show more than 32 rows, consent rows first', () => {
    always((chapters) => {
      let consents = 0;
      for (const chapter of chapters) {
        const { decision, after } = chapter;
        if ('record' in decision.data && decision.data.record === 'opened') consents = 0;
        if (decision.type === 'ConsentAccepted' || decision.type === 'ConsentDeclined') consents += 1;
        expect(after.provenance.length).toBeLessThanOrEqual(32);
        expect(after.provenance.filter(isConsentRow)).toHaveLength(Math.min(consents, 32));
      }
    });
  });

  test('never ask more than the budget allows in 24 h', () => {
    fc.assert(
      fc.property(steps, rules, (story, promptRules) => {
        for (const { after } of play(story, promptRules)) {
          expect(after.scalars.questionTimes.length).toBeLessThanOrEqual(promptRules.questionsPerDay);
        }
      }),
      seeded(60),
    );
  });

  test('explain themselves by codes that have a sentence', () => {
    always((chapters) => {
      for (const { decision } of chapters) {
        const codes = 'explanation' in decision.data ? decision.data.explanation : [];
        expect(explanations(codes).map(({ text }) => text)).not.toContain('See the code.');
        expect(new Set(codes).size).toBe(codes.length);
      }
    });
  });
});

test('failures that do not count may come in any order: only their rows differ', {
  timeout: TIMEOUT_MS,
}, () => {
  const failure: fc.Arbitrary<Step> = fc.record({
    kind: fc.constant('attempt'),
    laterS: fc.constant(0),
    change: fc.record({
      evidence: fc.constantFrom('a', 'b', 'c'),
      classification: fc.constantFrom(AUTH, OTHER),
      blockers: fc.constantFrom<readonly string[]>([], ['candidate_missing']),
    }),
  });
  const run = fc
    .array(failure, { maxLength: 6 })
    .chain((failures) =>
      fc.tuple(
        fc.constant(failures),
        fc.shuffledSubarray(failures, { minLength: failures.length, maxLength: failures.length }),
      ),
    );
  fc.assert(
    fc.property(steps, run, steps, rules, (earlier, [failures, shuffled], later, promptRules) => {
      const one = play([...earlier, ...failures, ...later], promptRules).at(-1)?.after;
      const other = play([...earlier, ...shuffled, ...later], promptRules).at(-1)?.after;
      expect({ ...other, provenance: [] }).toEqual({ ...one, provenance: [] });
    }),
    seeded(40),
  );
});

/** Whether a question can be answered now: declining needs no token. */
function isAnswerable(state: Allocation, question: string): boolean {
  const answer = { accept: false, tokenMatches: false, answeredBy: 'local', at: at(0), question };
  return decideConsent(state, { ...answer, decisionId: idOf(digestOf(question)) }).kind === 'decided';
}
