import { expect, test } from 'vitest';
import { Instant } from '#events/define-event';
import { ManualClock, systemClock } from './clock.ts';

test('tells time in the form that the log keeps', () => {
  expect(Instant.safeParse(systemClock.now()).success).toBe(true);
});

test('monotonic time does not go back', () => {
  const first = systemClock.monotonicMs();
  expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(first);
});

test('a manual clock stands still until it is moved', () => {
  const clock = new ManualClock('2026-11-29T00:00:00.000Z');
  expect(clock.now()).toBe('2026-11-29T00:00:00.000Z');
  clock.advance(1_500);
  expect(clock.now()).toBe('2026-11-29T00:00:01.500Z');
  expect(clock.monotonicMs()).toBe(1_500);
});
