import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Command } from '#domain/log';
import type { PostgresLog } from '#event-log/postgres-log';
import { contentDigest } from '#events/canonical-json';
import type { NewEvent } from '#events/define-event';
import { benchPool, openBenchLog } from './connections.ts';
import { callersRound, median, perSecond, type Round } from './measure.ts';

export interface AppendFigure {
  readonly callers: number;
  readonly logPerSecond: number;
  readonly rawPerSecond: number;
  /** Median over the rounds of log / raw in the same round. */
  readonly ratio: number;
}

export interface BenchRounds {
  readonly rounds: number;
  readonly secondsPerRound: number;
  readonly say: (line: string) => void;
}

/** Connections of the raw inserts: more than this is slower on two cores. */
const RAW_CONNECTIONS_MAX = 16;
/** About 350 bytes of JSON, as a decision has. */
const BODY = { ok: true, note: 'x'.repeat(320) };

/**
 * The log's API (real envelope, chain and group commit, without sealed rows) beside one-row INSERTs by `pg` into
 * a plain table of the same columns, in turns within one run. After each round: acknowledged = stored = dense.
 */
export async function benchAppend(
  databaseUrl: string,
  callers: number,
  { rounds, secondsPerRound, say }: BenchRounds,
): Promise<AppendFigure> {
  const log = await openBenchLog(databaseUrl);
  const raw = benchPool(databaseUrl, Math.min(callers, RAW_CONNECTIONS_MAX));
  try {
    await raw.query(RAW_TABLE);
    const figures: { readonly log: number; readonly raw: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const logRound = await appendRound(log, raw, callers, secondsPerRound);
      const rawRound = await callersRound(callers, secondsPerRound, () => insertRaw(raw));
      figures.push({ log: perSecond(logRound), raw: perSecond(rawRound) });
      say(`append, ${callers} callers, round ${round + 1}/${rounds}: ${describe(figures.at(-1))}`);
    }
    return {
      callers,
      logPerSecond: median(figures.map((figure) => figure.log)),
      rawPerSecond: median(figures.map((figure) => figure.raw)),
      ratio: median(figures.map((figure) => figure.log / figure.raw)),
    };
  } finally {
    await log.close();
    await raw.end();
  }
}

/** Callers that append for `seconds`, one event each time. Rejects unless acknowledged = stored = dense. */
export async function appendRound(
  log: Pick<PostgresLog, 'head' | 'append'>,
  pool: pg.Pool,
  callers: number,
  seconds: number,
): Promise<Round> {
  const before = await log.head();
  const round = await callersRound(callers, seconds, () => appendOne(log));
  await checkDense(pool, before.pos, round.done);
  return round;
}

/** Position of the one event that is appended, on a stream of its own unless one is given. */
export async function appendOne(log: Pick<PostgresLog, 'append'>, stream?: string): Promise<number> {
  const [result] = await log.append([command(stream)]);
  if (result?.outcome !== 'appended') throw new Error(`an append was answered ${result?.outcome}`);
  return result.firstPos;
}

function describe(figure: { readonly log: number; readonly raw: number } | undefined): string {
  return figure === undefined ? '' : `log ${Math.round(figure.log)}/s, raw ${Math.round(figure.raw)}/s`;
}

function command(stream?: string): Command {
  const id = randomUUID();
  const event: NewEvent = { type: 'AttemptReported', version: 1, role: 'input', data: BODY };
  return {
    commandId: id,
    digest: contentDigest([event]),
    stream: stream ?? `bench-${id}`,
    expected: 'any',
    occurredAt: new Date().toISOString(),
    events: [{ event, meta: { causedBy: null, saw: null } }],
  };
}

const RAW_TABLE = `
  create table if not exists bench_raw (
    pos bigint generated always as identity primary key, stream text not null, stream_version bigint not null,
    decision_version bigint not null, event_id text not null, command_id text not null,
    command_index int not null, type text not null, schema_version int not null, slot int not null,
    occurred_at timestamptz not null, recorded_at timestamptz not null default clock_timestamp(),
    body text not null, meta text not null, prev_hash bytea not null, hash bytea not null
  )`;

const INSERT = {
  name: 'bench-raw',
  text: `insert into bench_raw (stream, stream_version, decision_version, event_id, command_id, command_index,
    type, schema_version, slot, occurred_at, body, meta, prev_hash, hash)
    values ($1, 1, 0, $2, $3, 0, 'AttemptReported', 1, 0, $4, $5, '{"causedBy":null,"saw":null}', $6, $6)`,
};

async function insertRaw(pool: pg.Pool): Promise<void> {
  const id = randomUUID();
  const hash = Buffer.alloc(32);
  const values = [`bench-${id}`, id, id, new Date().toISOString(), JSON.stringify(BODY), hash];
  await pool.query({ ...INSERT, values });
}

/** A number with a lost or doubled event is no number. */
async function checkDense(pool: pg.Pool, afterPos: number, acknowledged: number): Promise<void> {
  const { rows } = await pool.query<{ stored: string; span: string }>(
    `select count(*) as stored, coalesce(max(pos) - $1, 0) as span from spillway.event where pos > $1`,
    [afterPos],
  );
  const stored = Number(rows[0]?.stored);
  const span = Number(rows[0]?.span);
  if (stored !== acknowledged || span !== acknowledged) {
    throw new Error(`acknowledged ${acknowledged}, stored ${stored}, positions ${span}: the figure is void`);
  }
}
