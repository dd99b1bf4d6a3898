import { expect, test } from 'vitest';
import { UndecidedAnswerBody } from '#domain/attempt/answer-schema';
import { AttemptBody } from '#domain/attempt/attempt-body';
import { ConsentBody } from '#domain/consent/consent-body';
import { launchBody } from '#domain/provision/launch-body';
import { observationBody } from '#domain/watch/observation-body';
import { AnsweringAllocation } from '#support/example-answers';
import { LANES } from '#support/launch-bodies';
import {
  ACCEPT,
  ACCEPTED,
  ACCEPTED_NAME,
  ASKED,
  BELOW_THRESHOLD,
  DECLINE,
  DECLINED,
  DECLINED_NAME,
  exampleAttempt,
  SUPPRESSED,
  UNDECIDED,
} from './examples.ts';
import { EXAMPLE_LAUNCH, EXAMPLE_OBSERVATION } from './placement-examples.ts';

test('the first way of the worked example is answered as its examples say', () => {
  const allocation = new AnsweringAllocation();
  const attempt = (id: string) => allocation.attempt(exampleAttempt(ACCEPTED_NAME, id, 'f1'));
  expect(attempt('a1')).toEqual(BELOW_THRESHOLD);
  attempt('a2');
  expect(attempt('a3')).toEqual(ASKED);
  expect(allocation.consent(true)).toEqual(ACCEPTED);
});

test('the other way of the worked example is answered as its examples say', () => {
  const allocation = new AnsweringAllocation();
  const attempt = (id: string) => allocation.attempt(exampleAttempt(DECLINED_NAME, id, 'f1'));
  for (const id of ['b1', 'b2', 'b3']) attempt(id);
  expect(allocation.consent(false)).toEqual(DECLINED);
  expect(attempt('b4')).toEqual(SUPPRESSED);
});

test('what the examples send is taken', () => {
  expect(AttemptBody.safeParse(exampleAttempt(ACCEPTED_NAME, 'a1', 'f1')).success).toBe(true);
  expect([ACCEPT, DECLINE].map((body) => ConsentBody.safeParse(body).success)).toEqual([true, true]);
  expect(UndecidedAnswerBody.safeParse(UNDECIDED).success).toBe(true);
  expect(launchBody({ lanes: LANES }).safeParse(EXAMPLE_LAUNCH).success).toBe(true);
  expect(observationBody('2026-11-29T12:00:00.000Z').safeParse(EXAMPLE_OBSERVATION).success).toBe(true);
});
