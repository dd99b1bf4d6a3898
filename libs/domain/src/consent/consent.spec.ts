import { describe, expect, test } from 'vitest';
import {
  accepted,
  counted,
  declined,
  evolveChecked,
  openQuestion,
  prompted,
  succeeded,
  type WholeDecision,
} from '#support/allocation-events';
import { at, DAY_S, digestOf, HOUR_S, idOf, QUESTION, record } from '#support/builders';
import { specify } from '#support/specify';
import { type Allocation, UNKNOWN_ALLOCATION } from '../allocation.ts';
import { type AnswerToDecide, type ConsentRefusal, decideConsent } from './consent.ts';

interface Refused {
  readonly type: 'refused';
  readonly why: ConsentRefusal;
}
const refused = (why: ConsentRefusal): Refused => ({ type: 'refused', why });

const rule = (initial: Allocation = UNKNOWN_ALLOCATION) =>
  specify<Allocation, AnswerToDecide, WholeDecision | Refused>({
    initial,
    decide(state, answer) {
      const outcome = decideConsent(state, answer);
      if (outcome.kind === 'refused') return [refused(outcome.why)];
      return [{ type: outcome.type, eventId: answer.decisionId, data: outcome.data }];
    },
    evolve: (state, event) => (event.type === 'refused' ? state : evolveChecked(state, event)),
  });
const given = rule();

const accept = (change: Partial<AnswerToDecide> = {}): AnswerToDecide => ({
  accept: true,
  question: null,
  tokenMatches: true,
  answeredBy: 'local',
  decisionId: idOf('answer'),
  at: at(HOUR_S),
  ...change,
});
const decline = (change: Partial<AnswerToDecide> = {}) =>
  accept({ accept: false, tokenMatches: false, ...change });

const asked = [counted(1), counted(2), prompted(3)] as const;
const renewedQuestion = {
  ...openQuestion(),
  eventId: idOf('renewal'),
  expiresAt: at(2 * DAY_S),
};
const renewed: WholeDecision = {
  type: 'PromptRenewed',
  eventId: idOf('renewal'),
  data: {
    renews: idOf(QUESTION),
    expiresAt: at(2 * DAY_S),
    after: { ...prompted(3).data.after, openQuestion: renewedQuestion },
  },
};

describe('accept', () => {
  test('with the right token switches the pool and closes the question', () => {
    given(...asked)
      .when(accept())
      .then(accepted());
  });
  test('names who answered', () => {
    const answeredBy = digestOf('ann');
    given(...asked)
      .when(accept({ answeredBy }))
      .then(accepted({ answeredBy }));
  });
  test('without the right token is refused', () => {
    given(...asked)
      .when(accept({ tokenMatches: false }))
      .then(refused('token_missing_or_wrong'));
  });
  test.each([
    { reason: 'the last millisecond still counts', when: '2026-11-30T09:59:59.999Z', follows: accepted() },
    { reason: 'an expired token is refused', when: at(DAY_S), follows: refused('token_expired') },
  ])('$reason', ({ when, follows }) => {
    given(...asked)
      .when(accept({ at: when }))
      .then(follows);
  });
  test('a wrong token is told from an expired one first', () => {
    given(...asked)
      .when(accept({ at: at(DAY_S), tokenMatches: false }))
      .then(refused('token_missing_or_wrong'));
  });
  test('the same token succeeds exactly once', () => {
    given(...asked, accepted())
      .when(accept())
      .then(refused('no_question_open'));
  });
  test('a renewed question takes its new life time', () => {
    given(...asked, renewed)
      .when(accept({ at: at(DAY_S + HOUR_S) }))
      .then(accepted({ question: 'renewal' }));
  });
});

describe('decline', () => {
  test('needs no token, keeps on-demand and remembers the evidence', () => {
    given(...asked)
      .when(decline())
      .then(declined());
    expect(decideConsent([...asked].reduce(evolveChecked, UNKNOWN_ALLOCATION), decline())).toMatchObject({
      state: { declined: [openQuestion().evidenceDigest] },
    });
  });
  test('an expired question can still be declined', () => {
    given(...asked)
      .when(decline({ at: at(7 * DAY_S) }))
      .then(declined());
  });
  test('an acceptance cannot be declined afterwards', () => {
    given(...asked, accepted())
      .when(decline())
      .then(refused('no_question_open'));
  });
  test('twice is refused', () => {
    given(...asked, declined())
      .when(decline())
      .then(refused('no_question_open'));
  });
});

describe.each([
  { answer: 'accept', say: accept },
  { answer: 'decline', say: decline },
])('$answer is refused', ({ say }) => {
  test('for an allocation nobody reported', () => {
    given().when(say()).then(refused('never_reported'));
  });
  test('before a question was asked', () => {
    given(counted(1)).when(say()).then(refused('no_question_open'));
  });
  test('after a success withdrew the question', () => {
    given(...asked, succeeded({ evidenceSince: 4, questionTimes: [at(0)] }))
      .when(say())
      .then(refused('no_question_open'));
  });
  test('when it names another question', () => {
    given(...asked)
      .when(say({ question: idOf('an older question') }))
      .then(refused('other_question_open'));
  });
  test('when none is open, whatever it names', () => {
    given(counted(1))
      .when(say({ question: idOf(QUESTION) }))
      .then(refused('no_question_open'));
  });
});

describe('the named question', () => {
  test('is the open one', () => {
    given(...asked)
      .when(decline({ question: idOf(QUESTION) }))
      .then(declined());
  });
  test.each([QUESTION, 'renewal'])('after a renewal it may be named by either id: %s', (name) => {
    given(...asked, renewed)
      .when(decline({ question: idOf(name) }))
      .then(declined({ question: 'renewal' }));
  });
  test('another one is refused before the token is looked at', () => {
    given(...asked)
      .when(accept({ question: idOf('another'), tokenMatches: false, at: at(7 * DAY_S) }))
      .then(refused('other_question_open'));
  });
});

test('an answer to a failover question is none of this rule: it may never switch the pool', () => {
  const scalars = record({ openQuestion: { ...openQuestion(), kind: 'failover' } });
  const state: Allocation = { version: 1, scalars, declined: [], provenance: [] };
  expect(() => decideConsent(state, accept())).toThrow(/pool question/);
});
