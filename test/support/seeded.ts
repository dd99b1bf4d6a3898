import { randomInt } from 'node:crypto';

const given = process.env.SPILLWAY_TEST_SEED;
const seed = given === undefined ? randomInt(2 ** 31) : Number(given);

/**
 * Parameters of a random run. The seed is printed at the start of a file, so that a run that hangs or is
 * killed can be repeated too: `SPILLWAY_TEST_SEED=<seed>`.
 */
export function seeded(numRuns: number): { readonly seed: number; readonly numRuns: number } {
  return { seed, numRuns };
}

console.info(`seed ${seed}`);
