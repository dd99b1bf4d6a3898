import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type FilledLog, fillLog } from '#support/filled-log';
import { prepareDatabase } from '../up/database.ts';
import { startPostgres } from '../up/infra/postgres.ts';
import type { BenchRounds } from './append-bench.ts';
import { benchPass, benchReads } from './audit-bench.ts';
import { newDatabase } from './connections.ts';
import { benchCopy } from './copy-bench.ts';
import { benchGrown, type Filled } from './grown-bench.ts';
import { type Ratio, ratioRow } from './ratio.ts';

export interface AuditBenchOptions {
  readonly events: number;
  readonly folder: string;
  readonly rounds: BenchRounds;
  readonly say: (line: string) => void;
  readonly json: boolean;
}

const LONG_EVENTS = 10_000;
const SMALL_DATABASE = 'bench_small';
const SMALL_EVENTS = 10_000;
const SAID_EVERY = 100_000;

/**
 * Fills a log, asks an auditor's questions of it, verifies and replays it, and measures what must not grow with it.
 * Everything is removed afterwards.
 */
export async function benchAudit({ events, folder, rounds, say, json }: AuditBenchOptions): Promise<void> {
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), throwaway: true, log: say });
  try {
    const { adminUrl } = await prepareDatabase(postgres.url);
    const beganMs = performance.now();
    const filled = await fillLog(adminUrl, {
      events,
      longEvents: LONG_EVENTS,
      onProgress: saidNowAndThen(say),
    });
    say(`filled in ${Math.round((performance.now() - beganMs) / 1_000)} s`);
    const reads = await benchReads(adminUrl, filled);
    const passes = [await benchPass(adminUrl, ['verify']), await benchPass(adminUrl, ['replay'])];
    const ratios = [
      ...(await benchCopy(adminUrl, rounds)),
      ...(await benchGrown({ url: adminUrl, filled }, await smallLog(adminUrl), rounds)),
    ];
    if (json) process.stdout.write(`${JSON.stringify({ filled, reads, passes, ratios }, null, 2)}\n`);
    else process.stdout.write(table(filled, reads, passes) + ratioTable(ratios));
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A log of another database of the same server. */
async function smallLog(adminUrl: string): Promise<Filled> {
  const url = await newDatabase(adminUrl, SMALL_DATABASE);
  return { url, filled: await fillLog(url, { events: SMALL_EVENTS, longEvents: 100 }) };
}

function ratioTable(ratios: readonly Ratio[]): string {
  const head = '\n| what | Spillway | beside | ratio (target) |\n|---|---|---|---|\n';
  return head + ratios.map(ratioRow).join('');
}

function saidNowAndThen(say: (line: string) => void) {
  let next = SAID_EVERY;
  return (events: number) => {
    if (events < next) return;
    say(`${events} events`);
    next += SAID_EVERY;
  };
}

function table(
  { events, allocations }: FilledLog,
  reads: Awaited<ReturnType<typeof benchReads>>,
  passes: readonly Awaited<ReturnType<typeof benchPass>>[],
): string {
  const lines = [
    `${events} events of ${allocations} allocations; one story of ${LONG_EVENTS}`,
    '',
    '| what | first | median |',
    '|---|---|---|',
    ...reads.map(
      ({ what, firstMs, medianMs }) => `| ${what} | ${firstMs.toFixed(0)} ms | ${medianMs.toFixed(0)} ms |`,
    ),
    '',
    '| what | took | memory at most | code |',
    '|---|---|---|---|',
    ...passes.map(
      ({ what, seconds, maxRssMb, code }) =>
        `| ${what} | ${seconds.toFixed(0)} s | ${maxRssMb.toFixed(0)} MB | ${code} |`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
