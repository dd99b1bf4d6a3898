import { type CallScript, type CreateScript, createScript } from './answers.ts';
import type { SeededNumbers } from './ids.ts';
import { defaultScripts, type WorldOptions } from './world.ts';

type Weighted<Value> = readonly (readonly [number, Value])[];

const PRIMARY_CREATES: Weighted<string> = [
  [35, 'ok'],
  [20, 'stockout'],
  [5, 'quota'],
  [5, 'probe_error'],
  [3, 'rejected'],
  [6, 'timeout_created'],
  [5, 'timeout_nothing'],
  [5, 'http_500_created'],
  [2, 'http_500_capacity'],
  [2, 'rate_limited'],
  [1, 'auth'],
  [1, 'unavailable'],
];
const WORKLOAD_ERROR: Weighted<string> = [[4, 'workload_error']];

const POD_CREATES: Weighted<string> = [
  [45, 'ok'],
  [12, 'capacity'],
  [3, 'quota'],
  [8, 'http_500_created'],
  [8, 'timeout_created'],
  [6, 'timeout_nothing'],
  [2, 'http_500_capacity'],
  [2, 'rejected'],
  [2, 'balance'],
  [4, 'rate_limited'],
  [3, 'unavailable'],
  [2, 'auth'],
];

const MAKES: readonly string[] = ['ok', 'timeout_created', 'http_500_created'];

/** Lanes that answer in every way there is: unknown outcomes, failing lists, lags, cancels that do not take. */
export function hostileScripts(numbers: SeededNumbers): WorldOptions['scripts'] {
  const creates = (letter: string, answers: Weighted<string>) => {
    let made = 0;
    return (): CreateScript => {
      const answer = numbers.weighted(answers);
      if (!MAKES.includes(answer)) return createScript(answer);
      made += 1;
      return createScript(`${answer}:${letter}${made}`);
    };
  };
  const lists = () =>
    numbers.weighted<'ok' | 'fails'>([
      [4, 'ok'],
      [1, 'fails'],
    ]);
  const gets = () =>
    numbers.weighted<CallScript>([
      [12, 'ok'],
      [2, 'fails'],
      [1, 'rate_limited'],
    ]);
  const primary = (letter: string, answers: Weighted<string>) => ({
    create: creates(letter, answers),
    cancel: () =>
      numbers.weighted<'ok' | 'fails' | 'now_running' | 'requested'>([
        [7, 'ok'],
        [2, 'fails'],
        [1, 'now_running'],
        [1, 'requested'],
      ]),
    list: lists,
    ...lags(numbers, 31),
    get: gets,
  });
  return {
    gcp: primary('X', [...PRIMARY_CREATES, ...WORKLOAD_ERROR]),
    slurm: primary('J', PRIMARY_CREATES),
    runpod: {
      create: creates('P', POD_CREATES),
      bootstrap: () =>
        numbers.weighted<'ok' | 'fails' | 'pending'>([
          [6, 'ok'],
          [2, 'fails'],
          [2, 'pending'],
        ]),
      dispatch: () =>
        numbers.weighted<'ok' | 'fails' | 'no_ack_started' | 'no_ack_not_started'>([
          [11, 'ok'],
          [2, 'fails'],
          [4, 'no_ack_started'],
          [3, 'no_ack_not_started'],
        ]),
      list: lists,
      ...lags(numbers, 120),
      get: gets,
      terminate: () =>
        numbers.weighted<'ok' | 'fails' | 'gone' | 'requested'>([
          [6, 'ok'],
          [2, 'fails'],
          [1, 'gone'],
          [1, 'requested'],
        ]),
      probe: () =>
        numbers.weighted<'ok' | 'fails'>([
          [3, 'ok'],
          [1, 'fails'],
        ]),
    },
  };
}

/** How far listings and reads are behind; reads are never further behind than listings. */
function lags(numbers: SeededNumbers, below: number) {
  const listLagMs = numbers.oneIn(2) ? 0 : numbers.below(below) * 1000;
  return { listLagMs, readLagMs: numbers.oneIn(2) ? 0 : listLagMs };
}

/** From now on everything succeeds. Ids go on where they were; what was lagging still does for its time. */
export function calm(scripts: WorldOptions['scripts']): void {
  const { gcp, slurm, runpod } = defaultScripts();
  const lagOf = ({ listLagMs, readLagMs }: { listLagMs: number; readLagMs: number }) => ({
    listLagMs,
    readLagMs,
  });
  Object.assign(scripts.gcp, gcp, lagOf(scripts.gcp));
  Object.assign(scripts.slurm, slurm, lagOf(scripts.slurm));
  Object.assign(scripts.runpod, runpod, lagOf(scripts.runpod));
}
