import { describe, expect, test } from 'vitest';
import { askedForMs, pauseMs, RETRY_AFTER_MAX_MS } from './notice-tries.ts';

const RULES = { firstPauseMs: 5_000, longestPauseMs: 900_000 };
const ALMOST_ONE = 1 - 2 ** -32;

describe('the pause after a failed try', () => {
  test.each([
    { tries: 1, least: 2_500, most: 5_000 },
    { tries: 2, least: 5_000, most: 10_000 },
    { tries: 8, least: 320_000, most: 640_000 },
    { tries: 9, least: 450_000, most: 900_000 },
    { tries: 10_000, least: 450_000, most: 900_000 },
  ])(
    'after $tries is from $least to $most ms: it doubles to the longest, and half of it is chance',
    (row) => {
      expect(pauseMs(row.tries, 0, null, RULES)).toBe(row.least);
      expect(pauseMs(row.tries, ALMOST_ONE, null, RULES)).toBe(row.most);
    },
  );

  test.each([
    { reason: 'a longer one that was asked for is kept to', retryAfterS: 60, pause: 60_000 },
    { reason: 'a shorter one is not taken for haste', retryAfterS: 1, pause: 2_500 },
    { reason: 'one of a day is cut to an hour', retryAfterS: 86_400, pause: RETRY_AFTER_MAX_MS },
  ])('$reason', ({ retryAfterS, pause }) => {
    expect(pauseMs(1, 0, retryAfterS, RULES)).toBe(pause);
  });
});

test.each([
  { given: null, ms: 0 },
  { given: 0, ms: 0 },
  { given: -5, ms: 0 },
  { given: 3_600, ms: 3_600_000 },
  { given: 3_601, ms: 3_600_000 },
])('a receiver that asks for $given s is left alone for $ms ms', ({ given, ms }) => {
  expect(askedForMs(given)).toBe(ms);
});
