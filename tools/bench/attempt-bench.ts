import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { Agent, request } from 'undici';
import { exampleAttempt } from '#platform/openapi/examples';
import type { BenchRounds } from './append-bench.ts';
import { benchPool } from './connections.ts';
import { callersRound, median, percentile, perSecond, type Round } from './measure.ts';

export interface AttemptFigure {
  readonly callers: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

/** Attempts of one allocation before the next one is begun. */
const ATTEMPTS_PER_ALLOCATION = 4;
const CHECK_BOUND_MS = 10_000;

/**
 * An attempt over HTTP to its answer, everything on, straight at `ingest`. After each round: every answered
 * attempt is in the log once and decided once.
 */
export async function benchAttempts(
  ingestUrl: string,
  databaseUrl: string,
  callers: number,
  { rounds, secondsPerRound, say }: BenchRounds,
): Promise<AttemptFigure> {
  const agent = new Agent({ connections: callers });
  const pool = benchPool(databaseUrl);
  const figures: { p50: number; p99: number; rate: number }[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const measured = await attemptRound({ agent, pool, ingestUrl }, callers, secondsPerRound);
      figures.push({
        p50: percentile(measured.latenciesMs, 50),
        p99: percentile(measured.latenciesMs, 99),
        rate: perSecond(measured),
      });
      const last = figures.at(-1);
      say(
        `attempt, ${callers} callers, round ${round + 1}/${rounds}: ` +
          `p50 ${last?.p50.toFixed(1)} ms, p99 ${last?.p99.toFixed(1)} ms, ${Math.round(last?.rate ?? 0)}/s`,
      );
    }
  } finally {
    await agent.destroy();
    await pool.end();
  }
  return {
    callers,
    p50Ms: median(figures.map((figure) => figure.p50)),
    p99Ms: median(figures.map((figure) => figure.p99)),
    perSecond: median(figures.map((figure) => figure.rate)),
  };
}

/** How attempts are sent and what is recorded of them is looked at. */
export interface AttemptTarget {
  readonly agent: Agent;
  readonly pool: pg.Pool;
  readonly ingestUrl: string;
}

/** Callers that report for `seconds`. Rejects unless each answered attempt is in the log once and decided once. */
export async function attemptRound(
  { agent, pool, ingestUrl }: AttemptTarget,
  callers: number,
  seconds: number,
): Promise<Round> {
  const runId = randomBytes(6).toString('hex');
  const { rows } = await pool.query<{ head: string }>('select max(pos) as head from spillway.event');
  const headBefore = Number(rows[0]?.head ?? 0);
  const measured = await callersRound(callers, seconds, async (caller, turn) => {
    const allocation = `bench-${runId}-${caller}-${Math.floor(turn / ATTEMPTS_PER_ALLOCATION)}`;
    const attempt = exampleAttempt(allocation, `${allocation}-${turn}`, 'f1');
    const status = await post(agent, attemptUrl(ingestUrl), attempt);
    if (status !== 200) throw new Error(`an attempt was answered ${status}`);
  });
  await checkDecided(pool, headBefore, measured.done);
  return measured;
}

/** A call that is refused for its body's one bad member: what HTTP and reading the body cost. */
export async function refusedRound({ agent, ingestUrl }: AttemptTarget, seconds: number): Promise<Round> {
  return callersRound(1, seconds, async () => {
    const attempt = { ...exampleAttempt('bench-refused', 'bench-refused', 'f1'), success: 'perhaps' };
    const status = await post(agent, attemptUrl(ingestUrl), attempt);
    if (status !== 400) throw new Error(`a bad attempt was answered ${status}`);
  });
}

function attemptUrl(ingestUrl: string): string {
  return `${ingestUrl}/api/agent/gpu-allocation/attempt`;
}

async function checkDecided(pool: pg.Pool, after: number, answered: number): Promise<void> {
  const endMs = performance.now() + CHECK_BOUND_MS;
  for (;;) {
    const { rows } = await pool.query<{ reported: string; decided: string }>(
      `select count(*) filter (where type = 'AttemptReported') as reported,
              count(*) filter (where type <> 'AttemptReported') as decided
       from spillway.event where pos > $1`,
      [after],
    );
    const reported = Number(rows[0]?.reported);
    const decided = Number(rows[0]?.decided);
    if (reported === answered && decided === answered) return;
    if (performance.now() > endMs) {
      throw new Error(`answered ${answered}, reported ${reported}, decided ${decided}: the figure is void`);
    }
  }
}

/** By undici: the client shares the machine, and Node's own costs it as much as the service that is measured. */
async function post(agent: Agent, url: string, body: unknown): Promise<number> {
  const answer = await request(url, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await answer.body.dump();
  return answer.statusCode;
}
