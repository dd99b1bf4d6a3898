import { expect, test } from 'vitest';
import { ManualClock } from './clock.ts';
import { consumerCheck, readinessOf } from './health.ts';

const never = new Promise<boolean>(() => undefined);

test('ready when all checks pass', async () => {
  const readiness = await readinessOf([
    { name: 'log', passes: () => true },
    { name: 'schema', passes: async () => true },
  ]);
  expect(readiness).toEqual({ ready: true, failing: [] });
});

test('names each check that answers false, throws, rejects or hangs', async () => {
  const readiness = await readinessOf(
    [
      { name: 'fine', passes: () => true },
      { name: 'false', passes: () => false },
      {
        name: 'throws',
        passes: () => {
          throw new Error('down');
        },
      },
      { name: 'rejects', passes: () => Promise.reject(new Error('down')) },
      { name: 'hangs', passes: () => never },
    ],
    20,
  );
  expect(readiness).toEqual({ ready: false, failing: ['false', 'throws', 'rejects', 'hangs'] });
});

test.each([
  { lagMs: 0, agoMs: 0, passes: true, reason: 'nothing to do, just read' },
  { lagMs: 5_000, agoMs: 2_000, passes: true, reason: 'both bounds are allowed' },
  { lagMs: 5_001, agoMs: 0, passes: false, reason: 'lags' },
  { lagMs: 0, agoMs: 2_001, passes: false, reason: 'a consumer that does not read looks caught up for ever' },
  { lagMs: 0, agoMs: null, passes: false, reason: 'never read' },
])('a consumer: $reason', async ({ lagMs, agoMs, passes }) => {
  const clock = new ManualClock('2026-11-29T00:00:00.000Z');
  const readAt = clock.monotonicMs();
  clock.advance(agoMs ?? 0);
  const progress = { lagMs: () => lagMs, lastLogReadMs: () => (agoMs === null ? null : readAt) };
  expect(await consumerCheck('classifier', progress, clock).passes()).toBe(passes);
});
