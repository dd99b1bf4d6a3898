import { expect, test } from 'vitest';
import { pauseEnd, unknownPauseEnd } from './backoff.ts';

const FROM = '2026-11-29T10:00:00.000Z';
const secondsTo = (end: string) => (Date.parse(end) - Date.parse(FROM)) / 1000;

test.each([
  { tries: 1, retryAfterS: null, pauseS: 30 },
  { tries: 2, retryAfterS: null, pauseS: 60 },
  { tries: 40, retryAfterS: null, pauseS: 900 },
  { tries: 1, retryAfterS: 0, pauseS: 0 },
  { tries: 1, retryAfterS: 3_600, pauseS: 3_600 },
  { tries: 1, retryAfterS: 3_601, pauseS: 3_600 },
  { tries: 1, retryAfterS: 999_999_999, pauseS: 3_600 },
  { tries: 1, retryAfterS: Number.MAX_SAFE_INTEGER, pauseS: 3_600 },
])(
  'after try $tries with Retry-After $retryAfterS the pause is $pauseS s',
  ({ tries, retryAfterS, pauseS }) => {
    expect(secondsTo(pauseEnd(FROM, tries, retryAfterS))).toBe(pauseS);
  },
);

test.each([
  { unknown: 3, pauseS: 60 },
  { unknown: 4, pauseS: 120 },
  { unknown: 100, pauseS: 900 },
])('after $unknown unknown creates the pause is $pauseS s', ({ unknown, pauseS }) => {
  expect(secondsTo(unknownPauseEnd(FROM, unknown))).toBe(pauseS);
});
