/** What one round of callers did. */
export interface Round {
  readonly done: number;
  readonly seconds: number;
  /** Milliseconds of each call, ascending. */
  readonly latenciesMs: readonly number[];
}

/** Runs `callers` loops of `call` for `seconds`; a call that was begun in time is waited for. Rejects when one does. */
export async function callersRound(
  callers: number,
  seconds: number,
  call: (caller: number, turn: number) => Promise<unknown>,
): Promise<Round> {
  const latenciesMs: number[] = [];
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let turn = 0; performance.now() < endMs; turn += 1) {
        const beganMs = performance.now();
        await call(caller, turn);
        latenciesMs.push(performance.now() - beganMs);
      }
    }),
  );
  const took = (performance.now() - startMs) / 1000;
  return { done: latenciesMs.length, seconds: took, latenciesMs: latenciesMs.sort((one, two) => one - two) };
}

export function perSecond(round: Round): number {
  return round.done / round.seconds;
}

/** Middle value; of an even number the lower one. Throws on none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, two) => one - two);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) throw new Error('no value to take the median of');
  return middle;
}

/** The value that `percent` of the ascending values do not exceed. */
export function percentile(ascending: readonly number[], percent: number): number {
  const value = ascending[Math.min(ascending.length - 1, Math.floor((ascending.length * percent) / 100))];
  if (value === undefined) throw new Error('no value to take a percentile of');
  return value;
}
