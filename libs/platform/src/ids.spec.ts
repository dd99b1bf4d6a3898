import { expect, test } from 'vitest';
import { EventId } from '#events/define-event';
import { randomBytes, randomId } from './ids.ts';

test('an id has the form of an event id and does not come twice', () => {
  const ids = Array.from({ length: 1_000 }, randomId);
  expect(new Set(ids).size).toBe(1_000);
  for (const id of ids) expect(EventId.safeParse(id).success).toBe(true);
});

test('every character of an id varies', () => {
  const ids = Array.from({ length: 500 }, randomId);
  for (let place = 0; place < 26; place++) {
    expect(new Set(ids.map((id) => id[place])).size).toBeGreaterThan(16);
  }
});

test('random bytes have the length asked for', () => {
  expect(randomBytes(12)).toHaveLength(12);
  expect(randomBytes(12)).not.toEqual(randomBytes(12));
});
