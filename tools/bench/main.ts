import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { projectRoot } from '../up/infra/environment.ts';
import { startStack } from '../up/stack.ts';
import { benchAppend } from './append-bench.ts';
import { benchAttempts } from './attempt-bench.ts';
import { attemptLines, benchAttemptRows } from './attempt-rows.ts';
import { benchAudit } from './audit-figures.ts';
import { ratioRow } from './ratio.ts';
import { benchRelay } from './relay-bench.ts';
import { benchWriters } from './writers-bench.ts';

/** What counts is at least 1: found wrong before servers are started, not by a figure of nothing. */
function countArgument(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 1 on.');
  return Number(text);
}

const program = new Command('bench')
  .description('Measures ratios in one interleaved run; a round that loses an event voids the run.')
  .option('--rounds <n>', 'rounds of each figure', countArgument, 5)
  .option('--seconds <n>', 'seconds of each round', countArgument, 2)
  .option('--audit <events>', "only the auditor's questions, to a log of so many events", countArgument)
  .option('--json', 'figures as JSON on standard output');

async function main(): Promise<void> {
  const options = program.parse().opts<{ rounds: number; seconds: number; audit?: number; json?: boolean }>();
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const rounds = { rounds: options.rounds, secondsPerRound: options.seconds, say };
  const above = join(projectRoot(), '.spillway');
  mkdirSync(above, { recursive: true });
  const folder = mkdtempSync(join(above, 'bench-'));
  // The database's own account has to reach its folder below.
  chmodSync(folder, 0o755);
  if (options.audit !== undefined) {
    await benchAudit({ events: options.audit, folder, rounds, say, json: options.json === true });
    return;
  }
  const stack = await startStack({ folder, log: say, env: { SPILLWAY_CALLS_PER_SECOND: '1000000' } });
  try {
    const ingest = stack.apps.processes.ingest.url;
    const attempts = [
      await benchAttempts(ingest, stack.adminUrl, 1, rounds),
      await benchAttempts(ingest, stack.adminUrl, 32, rounds),
    ];
    const attemptRows = await benchAttemptRows(ingest, stack.adminUrl, rounds);
    // The apps would read every benchmarked row: the log alone is measured without them.
    await stack.apps.stop();
    const appends = [
      await benchAppend(stack.adminUrl, 1, rounds),
      await benchAppend(stack.adminUrl, 64, rounds),
    ];
    const ratios = [
      await benchWriters(stack.adminUrl, rounds),
      ...(stack.nats === null ? [] : [await benchRelay(stack.adminUrl, stack.nats.url, rounds)]),
    ];
    const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
    if (options.json) {
      process.stdout.write(
        `${JSON.stringify({ machine, appends, attempts, attemptRows, ratios }, null, 2)}\n`,
      );
      return;
    }
    process.stdout.write(`\n${machine}; PostgreSQL by ${stack.postgres.source}\n\n`);
    process.stdout.write('| what | Spillway | beside | ratio |\n|---|---|---|---|\n');
    for (const { callers, logPerSecond, rawPerSecond, ratio } of appends) {
      process.stdout.write(
        `| append, ${callers} callers | ${Math.round(logPerSecond)}/s | raw INSERT ${Math.round(rawPerSecond)}/s | ${ratio.toFixed(2)} |\n`,
      );
    }
    process.stdout.write(ratios.map(ratioRow).join(''));
    for (const { callers, p50Ms, p99Ms, perSecond } of attempts) {
      process.stdout.write(
        `| attempt to answer, ${callers} callers | p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms | ${Math.round(perSecond)}/s | |\n`,
      );
    }
    process.stdout.write(attemptLines(attemptRows));
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
