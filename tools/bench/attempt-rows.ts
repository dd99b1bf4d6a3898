import type pg from 'pg';
import { Agent } from 'undici';
import { migrate } from '#event-log/migrate';
import type { PostgresLog } from '#event-log/postgres-log';
import { LogTail } from '#messaging/log-tail';
import { appendOne, appendRound, type BenchRounds } from './append-bench.ts';
import { type AttemptTarget, attemptRound, refusedRound } from './attempt-bench.ts';
import { benchPool, newDatabase, openBenchLog } from './connections.ts';
import { median, percentile, perSecond, type Round } from './measure.ts';

/** The two figures of design 12 for an attempt, medians of the rounds; ratios are of one round each. */
export interface AttemptRows {
  readonly many: {
    readonly callers: number;
    readonly attemptsPerSecond: number;
    readonly appendsPerSecond: number;
    readonly ratio: number;
  };
  readonly one: {
    readonly p50Ms: number;
    /** Of the parts, each measured alone: a refused call, an append, and from an append to its row in a tail. */
    readonly refusedMs: number;
    readonly appendMs: number;
    readonly hopMs: number;
    /** Refused call + two appends + one hop. */
    readonly partsMs: number;
    readonly ratio: number;
  };
}

const MANY_CALLERS = 128;
const DATABASE = 'spillway_bench';

/**
 * Attempts over HTTP with everything on, beside what they are made of, in turns within one run. The appends go to
 * a log of their own on the same server: the apps read every row of theirs.
 */
export async function benchAttemptRows(
  ingestUrl: string,
  databaseUrl: string,
  { rounds, secondsPerRound, say }: BenchRounds,
): Promise<AttemptRows> {
  const agent = new Agent({ connections: MANY_CALLERS });
  const pool = benchPool(databaseUrl);
  const alone = await openAlone(databaseUrl);
  const target = { agent, pool, ingestUrl };
  const many: Awaited<ReturnType<typeof manyCallers>>[] = [];
  const one: Awaited<ReturnType<typeof oneCaller>>[] = [];
  try {
    // Compiled code only: the first calls of a process cost several times as much.
    await attemptRound(target, MANY_CALLERS, 2 * secondsPerRound);
    await appendRound(alone.log, alone.pool, MANY_CALLERS, secondsPerRound);
    for (let round = 1; round <= rounds; round += 1) {
      const figures = await manyCallers(target, alone, secondsPerRound);
      many.push(figures);
      say(
        `${MANY_CALLERS} callers, round ${round}/${rounds}: attempts ${Math.round(figures.attempts)}/s, ` +
          `appends ${Math.round(figures.appends)}/s`,
      );
    }
    for (let round = 1; round <= rounds; round += 1) {
      const figures = await oneCaller(target, alone, secondsPerRound);
      one.push(figures);
      say(
        `1 caller, round ${round}/${rounds}: attempt ${figures.p50.toFixed(2)} ms; refused call ` +
          `${figures.refused.toFixed(2)} ms, append ${figures.append.toFixed(2)} ms, hop ${figures.hop.toFixed(2)} ms`,
      );
    }
  } finally {
    await agent.destroy();
    await alone.stop();
    await pool.end();
  }
  return {
    many: {
      callers: MANY_CALLERS,
      attemptsPerSecond: median(many.map(({ attempts }) => attempts)),
      appendsPerSecond: median(many.map(({ appends }) => appends)),
      ratio: median(many.map(({ attempts, appends }) => attempts / appends)),
    },
    one: {
      p50Ms: median(one.map(({ p50 }) => p50)),
      refusedMs: median(one.map(({ refused }) => refused)),
      appendMs: median(one.map(({ append }) => append)),
      hopMs: median(one.map(({ hop }) => hop)),
      partsMs: median(one.map(({ parts }) => parts)),
      ratio: median(one.map(({ p50, parts }) => p50 / parts)),
    },
  };
}

/** The rows as the table of the run shows them, each with what design 12 asks for. */
export function attemptLines({ many, one }: AttemptRows): string {
  return [
    `| attempts, ${many.callers} callers (asked for: 0.35) | ${Math.round(many.attemptsPerSecond)}/s | ` +
      `appends alone ${Math.round(many.appendsPerSecond)}/s | ${many.ratio.toFixed(2)} |`,
    `| attempt, 1 caller (asked for: at most 1.5) | p50 ${one.p50Ms.toFixed(2)} ms | ` +
      `its parts ${one.partsMs.toFixed(2)} ms | ${one.ratio.toFixed(2)} |`,
    '',
  ].join('\n');
}

interface Alone {
  readonly log: PostgresLog;
  /** The same log as another process would see it. */
  readonly followed: PostgresLog;
  readonly pool: pg.Pool;
  stop(): Promise<void>;
}

async function manyCallers(target: AttemptTarget, alone: Alone, seconds: number) {
  const attempts = await attemptRound(target, MANY_CALLERS, seconds);
  const appends = await appendRound(alone.log, alone.pool, MANY_CALLERS, seconds);
  return { attempts: perSecond(attempts), appends: perSecond(appends) };
}

async function oneCaller(target: AttemptTarget, alone: Alone, seconds: number) {
  const attempts = await attemptRound(target, 1, seconds);
  const refused = await refusedRound(target, seconds / 4);
  const appends = await appendRound(alone.log, alone.pool, 1, seconds / 2);
  const hops = await hopTimes(alone, seconds / 2);
  const parts = { refused: p50(refused), append: p50(appends), hop: percentile(hops, 50) };
  return { p50: p50(attempts), ...parts, parts: parts.refused + 2 * parts.append + parts.hop };
}

function p50(round: Round): number {
  return percentile(round.latenciesMs, 50);
}

/** From the answer to an append until a tail has told its row, in ms, ascending; 0 where the tail was first. */
async function hopTimes({ log, followed }: Alone, seconds: number): Promise<readonly number[]> {
  const fault = (error: unknown) => {
    throw error;
  };
  const onWentBack = () => fault(new Error('the log went back'));
  const tail = new LogTail({ log: followed, onReadFailed: fault, onWentBack });
  const toldAtMs = new Map<number, number>();
  let told = (): void => undefined;
  tail.subscribe(({ pos }) => {
    toldAtMs.set(pos, performance.now());
    told();
  });
  await tail.start();
  const times: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  try {
    while (performance.now() < endMs) {
      const pos = await appendOne(log);
      const beganMs = performance.now();
      while (!toldAtMs.has(pos)) {
        await new Promise<void>((resolve) => {
          told = resolve;
        });
      }
      times.push(Math.max(0, (toldAtMs.get(pos) ?? beganMs) - beganMs));
      toldAtMs.clear();
    }
  } finally {
    await tail.stop();
  }
  return times.sort((left, right) => left - right);
}

/** A log that no app reads, on the same server. */
async function openAlone(databaseUrl: string): Promise<Alone> {
  const url = await newDatabase(databaseUrl, DATABASE);
  await migrate(url);
  const pool = benchPool(url);
  const log = await openBenchLog(url);
  const followed = await openBenchLog(url);
  return {
    log,
    followed,
    pool,
    stop: async () => {
      await followed.close();
      await log.close();
      await pool.end();
    },
  };
}
