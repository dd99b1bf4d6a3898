import { describe, expect, test } from 'vitest';
import { prompted } from '#support/allocation-events';
import { at, DAY_S, idOf } from '#support/builders';
import { gone, poll, questionAt, Story, typesOf, works } from '#support/watch-builders';
import { evolve, UNKNOWN_ALLOCATION } from '../allocation.ts';
import { escalate } from '../intent/escalate.ts';
import { NOT_PLACED } from '../placement.ts';
import { renewPrompt } from '../prompt/renewal.ts';
import type { AnswerToDecide } from './consent.ts';
import { type AnswerOutcome, decideAnswer, decideFailoverAnswer } from './failover-answer.ts';

const answer = (seconds: number, change: Partial<AnswerToDecide> = {}): AnswerToDecide => ({
  accept: true,
  question: null,
  tokenMatches: true,
  answeredBy: 'local',
  decisionId: idOf('answer'),
  at: at(seconds),
  ...change,
});

const decide = (story: Story, one: AnswerToDecide): AnswerOutcome =>
  decideFailoverAnswer(story.placement, story.record, one);

/** What followed in one line, recorded. */
function record(story: Story, one: AnswerToDecide): string {
  const outcome = decide(story, one);
  if (outcome.kind === 'refused') return outcome.why;
  const at0 = Date.parse(at(0));
  story.add((Date.parse(one.at) - at0) / 1000, ...outcome.facts);
  expect(story.record).toEqual(outcome.record);
  return typesOf(outcome.facts).join(', ');
}

const vanished = () => {
  const story = new Story().launch('ask').placed(0);
  story.see(poll(60, 'queued'), gone(300));
  return story;
};
const timedOut = () => {
  const story = new Story().launch('ask').placed(0);
  story.see(poll(10, 'queued'), poll(700, 'queued'));
  return story;
};
const hung = () => {
  const story = new Story().launch('ask').placed(0, 'od_a');
  const cut = (seconds: number) => works(seconds, { alarm: 'transport' });
  story.see(works(1000), cut(20000), cut(20540));
  return story;
};

describe('accept', () => {
  test('decides the move, with the question that it rests on', () => {
    const story = vanished();
    const question = story.record.scalars.openQuestion;
    const outcome = decide(story, answer(400, { answeredBy: idOf('ann') }));
    expect(outcome).toMatchObject({
      kind: 'decided',
      questionId: question?.eventId,
      facts: [
        {
          type: 'FailoverAccepted',
          data: {
            questionId: question?.eventId,
            actionDigest: question?.actionDigest,
            key: 'X1',
            answeredBy: idOf('ann'),
            expiresAt: at(300 + DAY_S),
            after: { openQuestion: null },
          },
        },
        {
          type: 'FailoverDecided',
          data: {
            consent: question?.eventId,
            escalation: story.placement.move?.escalation,
            verdict: { outcome: 'waiting', reason: 'gcp_queue_vanish_failover_runpod' },
          },
        },
      ],
    });
  });
  test('keeps the loss of the rung', () => {
    const story = vanished();
    expect(record(story, answer(400))).toBe('FailoverAccepted, FailoverDecided');
    expect(story.placement).toMatchObject({ outcome: 'waiting', queueLosses: { flex_a: '2026-11-29' } });
  });
  test('is not spent twice', () => {
    const story = vanished();
    record(story, answer(400));
    expect(record(story, answer(410))).toBe('no_question_open');
  });
});

describe('accept looks once more', () => {
  test.each([
    ['it has begun to run', timedOut, [poll(750, 'running')], 'running'],
    ['it is learnt late that it had begun to run', timedOut, [poll(650, 'running')], 'running'],
    ['a hung machine is reachable again', hung, [works(20600)], 'reachable'],
    [
      'it was reachable again for a while',
      hung,
      [works(20600), works(20700, { alarm: 'transport' })],
      'reachable',
    ],
    [
      'an instance that ran before it queued again is up',
      () => {
        const story = new Story().launch('ask').placed(0);
        story.see(poll(5, 'running'), poll(10, 'queued'), poll(700, 'queued'));
        return story;
      },
      [poll(750, 'running')],
      'reachable',
    ],
  ] as const)('%s: the move is off and the instance stays', (_reason, begin, polls, why) => {
    const story = begin();
    story.see(...polls);
    const hadLoss = Object.keys(story.placement.queueLosses).length > 0;
    expect(record(story, answer(30000))).toBe('FailoverAccepted, FailoverVoided');
    expect(story.facts.at(-1)).toMatchObject({
      data: { why, key: 'X1', dropsRungLoss: true, verdict: { outcome: 'placed_primary' } },
    });
    expect(story.placement).toMatchObject({
      outcome: 'placed_primary',
      move: null,
      queueLosses: {},
      acceptance: null,
    });
    expect(story.record.scalars.openQuestion).toBeNull();
    expect(hadLoss).toBe(begin !== hung);
  });
  test.each([
    ['nothing new was seen', timedOut, []],
    ['it still queues', timedOut, [poll(760, 'queued')]],
    ['it is still unreachable', hung, [works(20600, { alarm: 'transport' })]],
    ['the provider’s interface fails', hung, [works(20600, { alarm: 'control_plane' })]],
    ['the read failed', hung, [poll(20600, 'probe_error')]],
    ['it was reachable before the question only', hung, [works(20300)]],
    [
      'it ran before, and queues again',
      () => {
        const story = new Story().launch('ask').placed(0);
        story.see(poll(5, 'running'), poll(10, 'queued'), poll(700, 'queued'));
        return story;
      },
      [poll(760, 'queued')],
    ],
  ] as const)('%s: the move is made', (_reason, begin, polls) => {
    const story = begin();
    story.see(...polls);
    expect(record(story, answer(30000))).toBe('FailoverAccepted, FailoverDecided');
  });
  test('an exhausted ladder has no instance to look at', () => {
    const story = new Story().launch('ask');
    const exhausted = {
      trigger: 'ladder_exhausted',
      reason: 'auto_fallback_runpod',
      rule: '5.6 ladder_exhausted',
      evidence: {},
      key: 'launch:1',
      failedInstance: null,
      rung: null,
      cancel: 'nothing',
    } as const;
    const context = { question: questionAt(10), eventIdAt: story.ids() };
    story.add(10, ...escalate(story.placement, story.record, exhausted, context));
    expect(record(story, answer(20))).toBe('FailoverAccepted, FailoverDecided');
  });
});

describe('decline', () => {
  test('is final, needs no token, and keeps the loss of the rung', () => {
    const story = vanished();
    expect(record(story, answer(500, { accept: false, tokenMatches: false }))).toBe(
      'FailoverDeclined, AllocationBlocked',
    );
    expect(story.facts.at(-1)).toMatchObject({
      data: {
        reason: 'failover_declined',
        verdict: { failureClass: 'infra', redrivable: false, rule: '4.8 declined' },
      },
    });
    expect(story.placement).toMatchObject({
      outcome: 'blocked',
      move: null,
      acceptance: null,
      queueLosses: { flex_a: '2026-11-29' },
    });
    expect(story.record.scalars.openQuestion).toBeNull();
  });
  test('of an expired question is taken', () => {
    const late = answer(300 + DAY_S, { accept: false, tokenMatches: false });
    expect(record(vanished(), late)).toBe('FailoverDeclined, AllocationBlocked');
  });
});

describe('refuses, and burns nothing', () => {
  test.each([
    ['another question', answer(400, { question: idOf('other') }), 'other_question_open'],
    [
      'another question, before the token is looked at',
      answer(400, { question: idOf('other'), tokenMatches: false }),
      'other_question_open',
    ],
    ['a wrong token', answer(400, { tokenMatches: false }), 'token_missing_or_wrong'],
    [
      'a wrong token of an expired question',
      answer(300 + DAY_S, { tokenMatches: false }),
      'token_missing_or_wrong',
    ],
    ['the end of its life', answer(300 + DAY_S), 'token_expired'],
  ] as const)('%s', (_reason, one, why) => {
    const story = vanished();
    expect(record(story, one)).toBe(why);
    expect(record(story, answer(300 + DAY_S - 1))).toBe('FailoverAccepted, FailoverDecided');
  });
  test('an answer without an open question', () => {
    expect(record(new Story().launch('ask').placed(0), answer(400))).toBe('no_question_open');
  });
});

test('a renewed question is answered under its old and its new id, and lives on', () => {
  const story = vanished();
  const first = story.record.scalars.openQuestion?.eventId ?? '';
  const renewed = renewPrompt(story.record, {
    at: at(300 + DAY_S),
    decisionId: idOf('renewal'),
    tokenLifeS: DAY_S,
  });
  if (renewed === null) throw new Error('expired');
  story.standing = { ...story.standing, record: renewed.state };
  for (const question of [first, idOf('renewal')]) {
    expect(decide(story, answer(300 + DAY_S + 1, { question }))).toMatchObject({
      kind: 'decided',
      questionId: idOf('renewal'),
      facts: [
        { data: { questionId: idOf('renewal'), expiresAt: at(300 + 2 * DAY_S) } },
        { data: { consent: idOf('renewal') } },
      ],
    });
  }
});

test('a question without a move is a state that cannot be', () => {
  const story = vanished();
  expect(() => decideFailoverAnswer(NOT_PLACED, story.record, answer(400))).toThrow(/no move is asked for/);
});

describe('the one open question is answered, of whichever kind it is', () => {
  test('a failover question', () => {
    const story = vanished();
    const outcome = decideAnswer(story.placement, story.record, answer(400));
    expect(outcome).toEqual(decide(story, answer(400)));
  });
  test('a pool question', () => {
    const { type, eventId, data } = prompted(3, { record: 'opened' });
    const record0 = evolve(UNKNOWN_ALLOCATION, { type, eventId, data });
    const outcome = decideAnswer(NOT_PLACED, record0, answer(400));
    expect(outcome).toMatchObject({
      kind: 'decided',
      facts: [{ type: 'ConsentAccepted' }],
      questionId: eventId,
    });
    expect(outcome).toMatchObject({ record: { scalars: { pool: 'preemptible', openQuestion: null } } });
  });
  test('none, of an allocation that was launched and never failed', () => {
    const story = new Story().launch().placed(0);
    expect(decideAnswer(story.placement, story.record, answer(400))).toEqual({
      kind: 'refused',
      why: 'no_question_open',
    });
  });
  test('none, of a name that nobody reported', () => {
    expect(decideAnswer(NOT_PLACED, UNKNOWN_ALLOCATION, answer(400))).toEqual({
      kind: 'refused',
      why: 'never_reported',
    });
  });
});
