import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AlertRaised } from '#events/watch.events';
import type { WholeDecision } from '#support/allocation-events';
import { accepted, counted, declined, openQuestion, prompted, succeeded } from '#support/allocation-events';
import { at, DAY_S, digestOf, HOUR_S, idOf } from '#support/builders';
import { type Chapter, play, stepsWithFailover, rules as storyRules } from '#support/random-story';
import { recorded, recordedRow } from '#support/recorded';
import { seeded } from '#support/seeded';
import { type NoticeRules, noticesOf, type Told, withoutEnded } from './notice.ts';
import { closedView } from './prompt-end.ts';

const RULES: NoticeRules = { publicUrl: 'https://spillway.test', beforeExpiryS: HOUR_S };
const REF = digestOf('ref');
const OPEN = openQuestion();

const Body = z.strictObject({
  type: z.string(),
  timestamp: z.string(),
  data: z.record(z.string(), z.string()),
});

const told = (decision: WholeDecision, before = null as typeof OPEN | null, rules = RULES) =>
  noticesOf(recorded(decision, 7), before, rules);
const bodies = ({ notices }: Pick<Told, 'notices'>) =>
  notices.map(({ body }) => Body.parse(JSON.parse(body)));
const typesOf = ({ notices }: Pick<Told, 'notices'>) => notices.map(({ type }) => type);
const questionMembers = {
  ref: REF,
  question_id: OPEN.eventId,
  origin_id: OPEN.originId,
  kind: 'pool',
  expires_at: OPEN.expiresAt,
  url: `https://spillway.test/prompts/${OPEN.eventId}`,
};

describe('a question that opens', () => {
  test('is told of at once, and again before its end', () => {
    const { notices, closes } = told(prompted(3));
    expect(closes).toBeNull();
    expect(bodies({ notices })).toEqual([
      {
        type: 'question.opened',
        timestamp: at(0),
        data: { ...questionMembers, reason: 'failed_attempt_threshold' },
      },
      {
        type: 'question.expiring',
        timestamp: at(DAY_S - HOUR_S),
        data: { ...questionMembers, reason: 'failed_attempt_threshold' },
      },
    ]);
    expect(notices).toMatchObject([
      { pos: 7, seq: 1, question: OPEN.eventId, notBefore: at(0) },
      { pos: 7, seq: 2, question: OPEN.eventId, notBefore: at(DAY_S - HOUR_S) },
    ]);
  });

  test.each([
    { reason: 'the warning as it is configured', beforeExpiryS: 60, warnedAt: at(DAY_S - 60) },
    { reason: 'exactly half of the life is allowed', beforeExpiryS: DAY_S / 2, warnedAt: at(DAY_S / 2) },
    { reason: 'more than that is cut to half', beforeExpiryS: DAY_S, warnedAt: at(DAY_S / 2) },
    { reason: 'none is at the very end', beforeExpiryS: 0, warnedAt: at(DAY_S) },
  ])('is warned of in time: $reason', ({ beforeExpiryS, warnedAt }) => {
    const { notices } = told(prompted(3), null, { ...RULES, beforeExpiryS });
    expect(notices.map(({ notBefore }) => notBefore)).toEqual([at(0), warnedAt]);
  });

  test('in place of an older one ends that one first', () => {
    const next = prompted(4, { decision: 'second', evidence: 'other' });
    const both = told(next, OPEN);
    expect(typesOf(both)).toEqual(['question.closed', 'question.opened', 'question.expiring']);
    expect(both.closes).toBe(OPEN.eventId);
    expect(bodies(both)[0]?.data).toEqual({ ...questionMembers, reason: 'superseded' });
  });
});

describe('a question that ends', () => {
  test.each([
    { decision: accepted(), reason: 'accepted' },
    { decision: declined(), reason: 'declined' },
    { decision: succeeded({ evidenceSince: 4 }), reason: 'withdrawn' },
    { decision: counted(1, { request: 'another', record: 'opened' }), reason: 'withdrawn' },
  ])('is told of with how: $reason ($decision.type)', ({ decision, reason }) => {
    const end = told(decision, OPEN);
    expect(end.closes).toBe(OPEN.eventId);
    expect(bodies(end)).toEqual([
      { type: 'question.closed', timestamp: at(0), data: { ...questionMembers, reason } },
    ]);
  });

  test('is not warned of any more, where both are told at once', () => {
    const all = [told(prompted(3)), told(accepted(), OPEN)];
    const kept = withoutEnded(all);
    expect(kept.ended).toEqual([OPEN.eventId]);
    expect(typesOf(kept)).toEqual(['question.opened', 'question.closed']);
  });
});

describe('nothing is told', () => {
  test.each([
    { reason: 'of an attempt while nothing is open', decision: counted(1), before: null },
    { reason: 'of an attempt while a question is open', decision: counted(4), before: OPEN },
    { reason: 'of a success without a question', decision: succeeded({ evidenceSince: 4 }), before: null },
  ])('$reason', ({ decision, before }) => {
    const after = {
      ...decision,
      data: { ...decision.data, after: { ...decision.data.after, openQuestion: before } },
    };
    expect(told(after as WholeDecision, before)).toEqual({ notices: [], closes: null });
  });
});

test('a question that was open before, unknown as it is, is not told of as if it opened', () => {
  const kept = counted(1, { record: 'opened', after: { openQuestion: { ...OPEN, kind: 'failover' } } });
  expect(told(kept, null)).toEqual({ notices: [], closes: null });
});

describe('an alert', () => {
  test('names itself and its allocation, and nothing of its evidence', () => {
    const data = {
      alert: 'lane_unavailable',
      subject: 'secret-subject',
      evidence: { text: 'secret text' },
    } as const;
    const row = recordedRow({ type: 'AlertRaised', body: JSON.stringify(data) });
    const raised = { type: 'AlertRaised', data: AlertRaised.data.parse(data) } as const;
    const alert = noticesOf({ ...raised, row, eventId: row.eventId, at: row.occurredAt }, null, RULES);
    expect(bodies(alert)).toEqual([
      {
        type: 'alert.raised',
        timestamp: at(0),
        data: { ref: REF, alert: 'lane_unavailable', url: `https://spillway.test/allocations/${REF}` },
      },
    ]);
    expect(alert.notices).toMatchObject([{ question: null, seq: 0, notBefore: at(0) }]);
  });
});

describe('over a whole story', () => {
  const chaptersOf = (chapters: readonly Chapter[]) =>
    chapters.map(({ decision, before }, index) =>
      noticesOf(recorded(decision, index + 1), before.scalars.openQuestion, RULES),
    );

  test('every question opens once and ends at most once, in this order; ids are never used twice', () => {
    fc.assert(
      fc.property(stepsWithFailover, storyRules, (story, promptRules) => {
        const chapters = play(story, promptRules);
        const notices = chaptersOf(chapters).flatMap((each) => each.notices);
        expect(new Set(notices.map(({ id }) => id)).size).toBe(notices.length);
        const questions = new Set(notices.map(({ question }) => question));
        for (const question of questions) {
          const types = notices.filter((each) => each.question === question).map(({ type }) => type);
          const open = ['question.opened', 'question.expiring'];
          expect([open, [...open, 'question.closed']]).toContainEqual(types);
        }
        const stillOpen = chapters.at(-1)?.after.scalars.openQuestion?.eventId;
        const ended = notices.filter(({ type }) => type === 'question.closed');
        expect(questions.size).toBe(ended.length + (stillOpen === undefined ? 0 : 1));
      }),
      seeded(100),
    );
  });

  test('an end is told in the word that the page has for it', () => {
    fc.assert(
      fc.property(stepsWithFailover, storyRules, (story, promptRules) => {
        for (const [index, { decision, before }] of play(story, promptRules).entries()) {
          const event = recorded(decision, index + 1);
          const [closed] = bodies(noticesOf(event, before.scalars.openQuestion, RULES));
          if (closed?.type !== 'question.closed') continue;
          const word =
            event.type === 'PromptRenewed' ? 'renewed' : closedView({ by: event, behind: [] }, '').how;
          expect(closed.data.reason).toBe(word);
        }
      }),
      seeded(100),
    );
  });

  test('nothing but ids, digests, times, closed words and the link is told', () => {
    const values = new Set<string>();
    fc.assert(
      fc.property(stepsWithFailover, storyRules, (story, promptRules) => {
        for (const { notices } of chaptersOf(play(story, promptRules))) {
          for (const { body } of notices) {
            for (const value of Object.values(Body.parse(JSON.parse(body)).data)) values.add(value);
          }
        }
      }),
      seeded(100),
    );
    const plain =
      /^([0-9a-f]{64}|[a-z2-7]{26}|\d{4}-\d\d-\d\dT[\d:.]+Z|https:\/\/spillway\.test\/prompts\/[a-z2-7]{26})$/;
    expect([...values].filter((value) => !plain.test(value)).sort()).toEqual(
      [
        'accepted',
        'declined',
        'deterministic_preflight',
        'failed_attempt_threshold',
        'failover',
        'pool',
        'queue_vanish',
        'renewed',
        'superseded',
        'withdrawn',
      ].sort(),
    );
  });

  test('the id is the same whenever it is made, and another for each thing that is told', () => {
    const ids = () => told(prompted(3)).notices.map(({ id }) => id);
    expect(ids()).toEqual(ids());
    expect(new Set(ids()).size).toBe(2);
    for (const id of ids()) expect(id).toMatch(/^msg_[a-z2-7]{26}$/);
    expect(told(prompted(3, { decision: 'second' })).notices[0]?.id).not.toBe(ids()[0]);
    expect(idOf('question')).toBe(OPEN.eventId);
  });
});
