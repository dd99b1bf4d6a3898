import { expect, test } from 'vitest';
import { readinessOf } from './health.ts';

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
