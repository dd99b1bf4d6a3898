import { randomUUID } from 'node:crypto';
import { loadAllocation } from '#event-log/load-allocation';
import type { PostgresLog } from '#event-log/postgres-log';
import { allocationStream } from '#events/streams';
import { decidedAttempts, type FilledLog, refsOfAttempts } from '#support/filled-log';
import { appendOne, type BenchRounds } from './append-bench.ts';
import { openBenchLog } from './connections.ts';
import { callersRound, median } from './measure.ts';
import { measuredInTurns, type Ratio } from './ratio.ts';

/** A log that was filled, and where it is. */
export interface Filled {
  readonly url: string;
  readonly filled: FilledLog;
}

const LONG_EVENTS = 10_000;
const SHORT_EVENTS = 10;

/**
 * What must not grow with the log: an append beside one to a small log, and a decision on a long story beside one
 * on a short one, each made cold (loaded, decided, appended). After each round positions are dense.
 */
export async function benchGrown(
  grown: Filled,
  small: Filled,
  rounds: BenchRounds,
): Promise<readonly Ratio[]> {
  const [log, smallLog] = await Promise.all([openBenchLog(grown.url), openBenchLog(small.url)]);
  try {
    const [rows, smallRows] = [(await log.head()).pos, (await smallLog.head()).pos];
    return [
      await measuredInTurns({
        ...rounds,
        what: `append, ${rows} rows in the log`,
        besideWhat: `${smallRows} rows`,
        target: '≤ 1.2',
        unit: 'ms',
        ours: () => appendMs(log, rounds.secondsPerRound),
        beside: () => appendMs(smallLog, rounds.secondsPerRound),
      }),
      await decisions(log, grown.filled, rounds),
    ];
  } finally {
    await Promise.all([log.close(), smallLog.close()]);
  }
}

function decisions(log: PostgresLog, { long, allocations }: FilledLog, rounds: BenchRounds): Promise<Ratio> {
  // Each is decided on once in a log that is large enough, so that a short story stays one.
  const short = refsOfAttempts(Math.max(1, Math.floor(allocations / 2)));
  let turn = 0;
  const nextShort = () => {
    turn += 1;
    return short[turn % short.length] ?? long.ref;
  };
  return measuredInTurns({
    ...rounds,
    what: `decision, ${LONG_EVENTS} events of the allocation`,
    besideWhat: `${SHORT_EVENTS} events`,
    target: '≤ 2',
    unit: 'ms',
    ours: () => decisionMs(log, () => long.ref, LONG_EVENTS, rounds.secondsPerRound),
    beside: () => decisionMs(log, nextShort, SHORT_EVENTS, rounds.secondsPerRound),
  });
}

/** Median milliseconds of an append by one caller. */
async function appendMs(log: PostgresLog, seconds: number): Promise<number> {
  return measuredMs(log, seconds, 1, () => appendOne(log));
}

/** Median milliseconds of a decision by one caller that knew nothing of the allocation before. */
async function decisionMs(
  log: PostgresLog,
  nextRef: () => string,
  events: number,
  seconds: number,
): Promise<number> {
  return measuredMs(log, seconds, 2, async () => {
    const ref = nextRef();
    const before = await loadAllocation(log, allocationStream(ref));
    if (before === null || before.version < events / 2) {
      throw new Error('the story is not as long as it should be');
    }
    const attempts = { commandId: randomUUID(), first: before.version, count: 1 };
    const { command } = decidedAttempts(ref, before, attempts);
    const [result] = await log.append([{ ...command, expected: { decisionVersion: before.version } }]);
    if (result?.outcome !== 'appended') throw new Error(`a decision was answered ${result?.outcome}`);
  });
}

async function measuredMs(
  log: PostgresLog,
  seconds: number,
  rowsOfCall: number,
  call: () => Promise<unknown>,
): Promise<number> {
  const before = (await log.head()).pos;
  const round = await callersRound(1, seconds, call);
  const added = (await log.head()).pos - before;
  if (added !== round.done * rowsOfCall) {
    throw new Error(`${round.done} calls were acknowledged, ${added} rows added: the figure is void`);
  }
  return median(round.latenciesMs);
}
