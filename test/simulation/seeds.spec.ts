import { describe, expect, test } from 'vitest';
import { seeded } from '#support/seeded';
import { runSeed } from './random-schedule.ts';

const SEEDS = 320;
const PER_TEST = 20;
/** On a machine that is busy with everything else. */
const TEST_TIMEOUT_MS = 60_000;
const { seed: first } = seeded(SEEDS);

describe('no schedule loses money or an instance', () => {
  const batches = Array.from({ length: SEEDS / PER_TEST }, (_, batch) => first + batch * PER_TEST);
  test.each(batches)(
    'seeds from %i',
    async (from) => {
      for (let seed = from; seed < from + PER_TEST; seed += 1) {
        const { faults, trace } = await runSeed(seed);
        const again = `npm run -s simulate -- --seed ${seed}`;
        expect(faults, `${again}\n${faults.length > 0 ? trace.story.join('\n') : ''}`).toEqual([]);
      }
    },
    TEST_TIMEOUT_MS,
  );
});
