import { expect, test } from 'vitest';
import type { RecordedEvent } from '#events/envelope';
import { recordedRow } from '#support/recorded';
import { DecisionWaiters } from './decision-waiters.ts';

/** Far beyond the bound of a test. */
const LONG_MS = 3_600_000;
const DECISION = recordedRow();

function waiters() {
  const subscribers: ((row: RecordedEvent) => void)[] = [];
  const given = new DecisionWaiters({
    subscribe: (onEvent) => {
      subscribers.push(onEvent);
      return () => undefined;
    },
  });
  return { given, decide: () => subscribers.forEach((tell) => void tell(DECISION)) };
}

test('a call that waits is given its decision', async () => {
  const { given, decide } = waiters();
  const waiter = given.waitFor(DECISION.eventId);
  const waiting = waiter.decided(LONG_MS);
  decide();
  expect(await waiting).toEqual(DECISION);
});

test('when the process ends a waiting call is answered at once without it, and so is who comes later', async () => {
  const { given } = waiters();
  const waiting = given.waitFor(DECISION.eventId).decided(LONG_MS);
  given.hurry();
  expect(await waiting).toBeNull();
  expect(await given.waitFor(DECISION.eventId).decided(LONG_MS)).toBeNull();
});

test('a decision that is there by then is given all the same', async () => {
  const { given, decide } = waiters();
  const waiting = given.waitFor(DECISION.eventId).decided(LONG_MS);
  decide();
  given.hurry();
  expect(await waiting).toEqual(DECISION);
});
