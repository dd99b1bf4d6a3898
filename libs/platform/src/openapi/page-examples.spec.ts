import { expect, test } from 'vitest';
import { PromptBody } from '#domain/audit/prompt-schema';
import { explanations } from '#domain/explanation';
import { poolWords } from '#domain/prompt/prompt-words';
import { goldenEvent } from '#support/golden';
import { ACCEPTED_PROMPT, OPEN_PROMPT } from './page-examples.ts';

test('the example says what a question says', () => {
  const asked = goldenEvent('FallbackPrompted', { explanation: ['rule:code:notenoughresources'] });
  expect(OPEN_PROMPT).toMatchObject(poolWords(asked));
  const [line] = OPEN_PROMPT.attempts;
  expect(line?.because).toEqual(explanations(['below_threshold:2/3']));
});

test.each([OPEN_PROMPT, ACCEPTED_PROMPT])('its form is that of the answers', (prompt) => {
  expect(PromptBody.parse(prompt)).toEqual(prompt);
});
