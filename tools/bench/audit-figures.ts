import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type FilledLog, fillLog } from '#support/filled-log';
import { prepareDatabase } from '../up/database.ts';
import { startPostgres } from '../up/infra/postgres.ts';
import { benchPass, benchReads } from './audit-bench.ts';

export interface AuditBenchOptions {
  readonly events: number;
  readonly folder: string;
  readonly say: (line: string) => void;
  readonly json: boolean;
}

const LONG_EVENTS = 10_000;
const SAID_EVERY = 100_000;

/** Fills a log, asks an auditor's questions of it, then verifies and replays it. Everything is removed afterwards. */
export async function benchAudit({ events, folder, say, json }: AuditBenchOptions): Promise<void> {
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
    if (json) process.stdout.write(`${JSON.stringify({ filled, reads, passes }, null, 2)}\n`);
    else process.stdout.write(table(filled, reads, passes));
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
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
