import pg from 'pg';
import { clientConfig, withRole } from '#event-log/connect';
import { COPIED_COLUMNS } from '#event-log/copied-fields';
import { copyOut } from '#event-log/copy-out';
import type { PostgresLog } from '#event-log/postgres-log';
import { readEvent } from '#events/upcast';
import { replay } from '../../apps/audit/src/replay.ts';
import { verify } from '../../apps/audit/src/verify.ts';
import type { BenchRounds } from './append-bench.ts';
import { openBenchLog } from './connections.ts';
import { measuredInTurns, type Ratio } from './ratio.ts';

const COPY_TIMEOUT_MS = 600_000;

/**
 * The passes over the whole log beside what they cannot do without: verifying beside COPY of the same rows, and
 * the fold beside reading and parsing them. Rejects when a pass finds anything or leaves a row out.
 */
export async function benchCopy(
  databaseUrl: string,
  { rounds, say }: Pick<BenchRounds, 'rounds' | 'say'>,
): Promise<readonly Ratio[]> {
  const log = await openBenchLog(databaseUrl, 'spillway_audit');
  try {
    const { pos } = await log.head();
    const rows = async (what: string, pass: () => Promise<number>) => {
      const beganMs = performance.now();
      const seen = await pass();
      if (seen !== pos) throw new Error(`${what}: ${seen} rows of ${pos}: the figure is void`);
      return (pos * 1_000) / (performance.now() - beganMs);
    };
    const common = { unit: '/s', rounds, say } as const;
    return [
      await measuredInTurns({
        ...common,
        what: 'verify',
        besideWhat: 'COPY of the same rows',
        target: '≥ 0.9',
        ours: () => rows('verify', () => verified(log)),
        beside: () => rows('COPY', () => copied(databaseUrl)),
      }),
      await measuredInTurns({
        ...common,
        what: 'replay',
        besideWhat: 'reading and parsing',
        target: '≥ 0.8',
        ours: () => rows('replay', () => replayed(log)),
        beside: () => rows('reading', () => parsed(log, pos)),
      }),
    ];
  } finally {
    await log.close();
  }
}

async function verified(log: PostgresLog): Promise<number> {
  const report = await verify(log);
  if (!report.ok) throw new Error(`verify found ${report.kind} at ${report.pos}`);
  return report.head.pos;
}

async function replayed(log: PostgresLog): Promise<number> {
  const report = await replay(log);
  if (!report.ok) throw new Error(`replay found ${report.found} differences`);
  return report.events;
}

async function parsed(log: PostgresLog, head: number): Promise<number> {
  let rows = 0;
  for await (const page of log.eventPages(1, head, { index: 0, count: 1 })) {
    for (const row of page) rows += readEvent(row).row === row ? 1 : 0;
  }
  return rows;
}

/** In the form and the order in which they are verified, and thrown away as they come. */
async function copied(databaseUrl: string): Promise<number> {
  const client = new pg.Client(
    clientConfig({
      url: withRole(databaseUrl, 'spillway_audit'),
      applicationName: 'spillway-bench',
      statementTimeoutMs: COPY_TIMEOUT_MS,
    }),
  );
  await client.connect();
  const statement = `copy (select ${COPIED_COLUMNS} from spillway.event order by pos) to stdout (format binary)`;
  let rows = 0;
  try {
    for await (const page of copyOut(client, statement, () => null)) rows += page.length;
  } finally {
    await client.end();
  }
  return rows;
}
