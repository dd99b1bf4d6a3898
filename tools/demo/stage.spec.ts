import pc from 'picocolors';
import { expect, test } from 'vitest';
import { ACCEPTED, BELOW_THRESHOLD, exampleAttempt } from '#platform/openapi/examples';
import { ProblemBodySchema } from '#platform/openapi/schemas';
import { problem } from '#platform/problem';
import type { AttemptAnswer, ConsentAnswer, Reply } from './calls.ts';
import { Stage, StoryBroken } from './stage.ts';

const REFUSED = {
  kind: 'refused' as const,
  status: 409,
  body: ProblemBodySchema.parse(problem('no_question_open').body),
};

/** A stage before which Spillway gives these answers, whatever it is told. */
function stageWith(answers: {
  readonly attempt?: Reply<AttemptAnswer>;
  readonly consent?: Reply<ConsentAnswer>;
}) {
  const shown: string[] = [];
  const stage = new Stage({
    calls: {
      attempt: async () => answers.attempt ?? REFUSED,
      consent: async () => answers.consent ?? REFUSED,
    },
    colours: pc.createColors(false),
    say: (line) => shown.push(line),
    pause: async () => undefined,
  });
  return { stage, shown };
}

test('counts what holds and what does not', () => {
  const { stage, shown } = stageWith({});
  stage.claim('equal', ['accepted', 3], ['accepted', 3]);
  stage.claim('other', ['accepted', 2], ['accepted', 3]);
  expect(stage.claims).toEqual({ held: 1, broken: 1 });
  expect(shown).toEqual(['  ✓ equal', '  ✗ other; seen: ["accepted",2]']);
});

test('a refused attempt breaks the story', async () => {
  const { stage } = stageWith({});
  await expect(stage.attempt(exampleAttempt('a', 'a1', 'f1'), 'attempt a1')).rejects.toBeInstanceOf(
    StoryBroken,
  );
});

test('a refused answer is part of the story', async () => {
  const { stage, shown } = stageWith({});
  expect(await stage.consent('a', true, 'token')).toEqual(REFUSED);
  expect(shown.at(-1)).toContain('Nothing has changed.');
});

test('what is answered is shown below what was sent', async () => {
  const { stage, shown } = stageWith({
    attempt: { kind: 'answered', status: 200, body: BELOW_THRESHOLD },
    consent: { kind: 'answered', status: 200, body: ACCEPTED },
  });
  expect(await stage.attempt(exampleAttempt('a', 'a1', 'f1'), 'attempt a1')).toBe(BELOW_THRESHOLD);
  await stage.consent('a', false);
  expect(shown.map((line) => line.slice(0, 3))).toEqual(['', '  →', '  ←', '   ', '   ', '', '  →', '  ←']);
});
