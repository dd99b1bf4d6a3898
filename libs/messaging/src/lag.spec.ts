import { expect, test } from 'vitest';
import { Lag } from './lag.ts';

test('is the age of the oldest thing that was not dealt with', () => {
  const lag = new Lag();
  lag.grew(10, 1_000);
  lag.grew(20, 2_000);
  expect(lag.ms(2_500)).toBe(1_500);
  lag.dealtWith(10);
  expect(lag.ms(2_500)).toBe(500);
  lag.dealtWith(20);
  expect(lag.ms(9_999)).toBe(0);
});

test('stays small under steady load that is kept up with, although something new has always come', () => {
  const lag = new Lag();
  for (let pos = 1; pos <= 10_000; pos += 1) {
    lag.grew(pos, pos * 5);
    lag.dealtWith(pos - 10);
    expect(lag.ms(pos * 5)).toBeLessThan(200);
  }
});

test('grows while nothing is dealt with, in bounded memory', () => {
  const lag = new Lag();
  for (let pos = 1; pos <= 100_000; pos += 1) lag.grew(pos, pos);
  expect(lag.ms(100_000)).toBe(99_999);
  lag.dealtWith(99_999);
  expect(lag.ms(100_000)).toBeGreaterThan(0);
  lag.dealtWith(100_000);
  expect(lag.ms(100_000)).toBe(0);
});

test('hearing of the same head again changes nothing', () => {
  const lag = new Lag();
  lag.grew(5, 0);
  lag.dealtWith(5);
  lag.grew(5, 1_000);
  expect(lag.ms(2_000)).toBe(0);
});
