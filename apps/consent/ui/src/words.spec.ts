import { describe, expect, test } from 'vitest';
import { ago, bytes, countdown, counted, instant, minute, plain, short, stretch, usd } from './words.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('a stretch of time is told in its two largest units', () => {
  test.each([
    [-1, '0 s'],
    [0, '0 s'],
    [999, '0 s'],
    [MINUTE - 1, '59 s'],
    [MINUTE, '1 min'],
    [HOUR - 1, '59 min'],
    [HOUR, '1 h'],
    [HOUR + 5 * MINUTE, '1 h 5 min'],
    [DAY - 1, '23 h 59 min'],
    [DAY, '1 d'],
    [3 * DAY + 4 * HOUR, '3 d 4 h'],
  ])('%d ms is %s', (ms, told) => {
    expect(stretch(ms)).toBe(told);
  });
});

describe('below an hour a countdown goes by seconds', () => {
  test.each([
    [-1, '0 s'],
    [59 * SECOND, '59 s'],
    [MINUTE, '1 min 00 s'],
    [9 * MINUTE + 4 * SECOND, '9 min 04 s'],
    [HOUR - 1, '59 min 59 s'],
    [HOUR, '1 h'],
  ])('%d ms is %s', (ms, told) => {
    expect(countdown(ms)).toBe(told);
  });
});

test.each([
  [-5_000, 'just now'],
  [4_999, 'just now'],
  [5_000, '5 s ago'],
])('%d ms before is %s: a moment ahead of the clock is no riddle', (ms, told) => {
  expect(ago(ms)).toBe(told);
});

test('a moment is told in UTC, whatever the zone of the machine', () => {
  expect(instant('2026-11-09T02:04:09.876Z')).toBe('9 Nov 2026, 02:04:09 UTC');
  expect(instant('2026-11-09T02:04:09+02:00')).toBe('9 Nov 2026, 00:04:09 UTC');
});

test.each([
  [0, '$0.00'],
  [2.4949, '$2.49'],
  [0.1, '$0.10'],
  [0.0312, '$0.0312'],
])('%d dollars are %s', (amount, told) => {
  expect(usd(amount)).toBe(told);
});

test.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [214_748_364_800, '200 GiB'],
  [1_610_612_736, '1.5 GiB'],
])('%d bytes are %s', (count, told) => {
  expect(bytes(count)).toBe(told);
});

test('words of the log are written as people write them', () => {
  expect([plain('awaiting-consent'), plain('placed_primary')]).toEqual([
    'awaiting consent',
    'placed primary',
  ]);
  expect([counted(1, 'try', 'tries'), counted(2, 'try', 'tries'), counted(0, 'event')]).toEqual([
    '1 try',
    '2 tries',
    '0 events',
  ]);
  expect([short('0123456789'), short('0123456789a')]).toEqual(['0123456789', '0123456789…']);
});

test('a moment beside how long ago it was has day and minute', () => {
  expect(minute('2026-11-29T22:04:11.123Z')).toBe('29 Nov, 22:04 UTC');
});
