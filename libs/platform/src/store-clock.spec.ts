import { expect, test } from 'vitest';
import { ManualClock } from './clock.ts';
import { StoreClock } from './store-clock.ts';

const STORE = '2026-11-29T23:59:59.000Z';

function clocks() {
  const local = new ManualClock('2031-01-01T00:00:00.000Z');
  const store = new ManualClock(STORE);
  const clock = new StoreClock({ clock: async () => store.now() }, local);
  return { local, store, clock };
}

test('tells the time of the store, whatever the clock of the machine says', async () => {
  const { local, clock } = clocks();
  expect(await clock.read()).toBe(STORE);
  local.advance(1_500);
  expect(clock.now()).toBe('2026-11-30T00:00:00.500Z');
});

test('goes back with the store, since all go by it', async () => {
  const { local, store, clock } = clocks();
  store.advance(60_000);
  await clock.read();
  store.advance(-60_000);
  local.advance(1_000);
  expect(await clock.read()).toBe(STORE);
  expect(clock.now()).toBe(STORE);
});

test('knows no time before the first reading', () => {
  expect(() => clocks().clock.now()).toThrow('never read');
});
