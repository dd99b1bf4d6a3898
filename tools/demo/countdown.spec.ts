import { expect, test } from 'vitest';
import { barText, countdown } from './countdown.ts';

/** A wait whose clock moves at every look. */
function waiting(over: number, options: { readonly boundS?: number } = {}) {
  const drawn: string[] = [];
  let looks = 0;
  const wait = countdown({
    what: 'the lease runs out',
    expectedS: 60,
    boundS: options.boundS ?? 10,
    isOver: async () => {
      looks += 1;
      return looks > over;
    },
    draw: (text) => drawn.push(text),
    nowMs: () => looks * 20_000,
  });
  return { wait, drawn };
}

test('the bar is full when the time is up, and never more', () => {
  expect(barText('x', 0, 60)).toBe(`    [${'.'.repeat(30)}] 0 s of about 60 s: x`);
  expect(barText('x', 30.9, 60)).toBe(`    [${'#'.repeat(15)}${'.'.repeat(15)}] 30 s of about 60 s: x`);
  expect(barText('x', 75, 60)).toBe(`    [${'#'.repeat(30)}] 75 s of about 60 s: x`);
});

test('draws over its own line, and leaves it empty', async () => {
  const { wait, drawn } = waiting(2);
  await wait;
  expect(drawn.slice(0, 2).every((text) => text.startsWith('\r    ['))).toBe(true);
  expect(drawn.at(-1)).toMatch(/^\r +\r$/);
  expect(drawn).toHaveLength(3);
});

test('draws nothing when it is over at once', async () => {
  const { wait, drawn } = waiting(0);
  await wait;
  expect(drawn).toEqual([]);
});

test('says what was waited for in vain', async () => {
  await expect(waiting(100, { boundS: 0.01 }).wait).rejects.toThrow('in vain: the lease runs out');
});
