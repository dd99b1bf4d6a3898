import { Client, DatabaseError } from 'pg';
import { ALLOCATION_EVENTS, allocationRowOf } from '#domain/allocation';
import { foldRow, NOT_FOLDED, type StreamFold } from '#domain/audit/compare';
import type { Command, LogHead } from '#domain/log';
import { placementRowOf } from '#domain/placement-row';
import { type RecordedEvent, slotOf } from '#events/envelope';
import { clientConfig, withRole } from './connect.ts';
import { besideOf } from './encode-command.ts';
import { logReader } from './read.ts';
import { safeInt } from './rows.ts';

/** The database, or a row, was refused; nothing was imported. The message is one sentence and quotes no content. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused';
}

export interface ImportSource {
  readonly logId: string;
  /** Position of the last row, for progress. */
  readonly to: number;
  /** Rows from position 1 on, in order. */
  pages(): AsyncIterable<readonly RecordedEvent[]>;
  /** Under which ring key each stream was begun. */
  streamKeys(): AsyncIterable<{ readonly stream: string; readonly ringKeyId: string }>;
}

export interface ImportOptions {
  readonly onProgress?: (pos: number) => void;
  /** Folds kept at once: more streams than this take several passes. */
  readonly streamsInMemory?: number;
}

const BATCH_ROWS = 1_000;
// The same folds as in a replay.
const STREAMS_IN_MEMORY = 25_000;

/**
 * Fills an empty log with the rows of another one (design 5): same identity, positions and hashes, in one
 * transaction. What is derived from the rows is made anew from them. Sealed texts and marks stay behind. Rejects
 * with ImportRefused when an app has used the database, or a row does not follow on the row before.
 */
export async function importLog(
  url: string,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<LogHead> {
  const client = new Client(
    clientConfig({
      url: withRole(url, 'spillway_admin'),
      applicationName: 'spillway-import',
      statementTimeoutMs: 600_000,
      idleInTransactionTimeoutMs: 60_000,
    }),
  );
  client.on('error', () => {});
  await client.connect();
  try {
    return await new Import(client, source, options).run();
  } catch (error) {
    throw refusalOf(error) ?? error;
  } finally {
    // Ending the connection rolls back what was not committed.
    await client.end();
  }
}

/** A number of a row that Postgres cannot hold is the row's fault as well. */
function refusalOf(error: unknown): ImportRefused | null {
  if (!(error instanceof DatabaseError)) return null;
  if (error.code === '55000') return new ImportRefused('the log is not empty');
  if (error.code?.startsWith('22') || error.code?.startsWith('23')) {
    return new ImportRefused('a row does not follow on the row before: nothing was imported');
  }
  return null;
}

class Import {
  readonly #client: Client;
  readonly #source: ImportSource;
  readonly #onProgress: (pos: number) => void;
  readonly #streamsInMemory: number;

  constructor(client: Client, source: ImportSource, options: ImportOptions) {
    this.#client = client;
    this.#source = source;
    this.#onProgress = options.onProgress ?? (() => {});
    this.#streamsInMemory = options.streamsInMemory ?? STREAMS_IN_MEMORY;
  }

  async run(): Promise<LogHead> {
    await this.#client.query('begin');
    const { rows } = await this.#client.query<{ ready: boolean }>({
      text: 'select spillway.import_begin($1) as ready',
      values: [this.#source.logId],
    });
    if (rows[0]?.ready !== true || (await this.#hasReceivers())) {
      throw new ImportRefused('the database is not a fresh one: it has events, or an app has run on it');
    }
    for await (const page of this.#source.pages()) {
      await this.#call('import_rows', page);
      this.#onProgress(page.at(-1)?.pos ?? 0);
    }
    await this.#addStreamKeys();
    await this.#foldStreams();
    const head = await logReader(this.#client).head();
    await this.#client.query({ text: `select pg_notify('spillway_log', $1)`, values: [String(head.pos)] });
    await this.#client.query('commit');
    return head;
  }

  /** Receivers that `consent` has entered stand at position 0: they would be told the whole history anew. */
  async #hasReceivers(): Promise<boolean> {
    const { rows } = await this.#client.query('select from spillway.notice_receiver limit 1');
    return rows.length > 0;
  }

  async #addStreamKeys(): Promise<void> {
    let batch: object[] = [];
    for await (const { stream, ringKeyId } of this.#source.streamKeys()) {
      batch.push({ stream, slot: 0, dv: 0, pos: 0, beside: besideOf({ ringKeyId }) });
      if (batch.length < BATCH_ROWS) continue;
      await this.#call('import_beside', batch);
      batch = [];
    }
    if (batch.length > 0) await this.#call('import_beside', batch);
  }

  /** Folds by shares of the streams, as replay does, so that memory is bounded. */
  async #foldStreams(): Promise<void> {
    const { rows } = await this.#client.query<{ count: string }>(
      'select count(*) as count from spillway.event where stream_version = 1',
    );
    const count = Math.max(1, Math.ceil(safeInt(rows[0]?.count ?? '0') / this.#streamsInMemory));
    for (let index = 0; index < count; index += 1) await this.#foldShare({ index, count });
  }

  async #foldShare(share: { readonly index: number; readonly count: number }): Promise<void> {
    const reader = logReader(this.#client);
    const folded = new Map<string, Folded>();
    for (let after = 0; ; ) {
      const rows = await reader.readAfter(after, BATCH_ROWS, share.count === 1 ? undefined : share);
      for (const row of rows) folded.set(row.stream, foldedOn(folded.get(row.stream) ?? UNFOLDED, row));
      const last = rows.at(-1);
      if (last === undefined) break;
      after = last.pos;
    }
    let batch: object[] = [];
    for (const [stream, each] of folded) {
      batch.push(besideRow(stream, each));
      if (batch.length < BATCH_ROWS) continue;
      await this.#call('import_beside', batch);
      batch = [];
    }
    if (batch.length > 0) await this.#call('import_beside', batch);
  }

  async #call(name: 'import_rows' | 'import_beside', rows: readonly object[]): Promise<void> {
    await this.#client.query({ text: `select spillway.${name}($1)`, values: [JSON.stringify(rows)] });
  }
}

interface Folded {
  readonly fold: StreamFold;
  /** Position of the newest decision. */
  readonly pos: number;
  readonly fence: number | null;
  /** A fact beside the record was recorded: its command wrote the placement's half of the row. */
  readonly isPlaced: boolean;
}

const UNFOLDED: Folded = { fold: NOT_FOLDED, pos: 0, fence: null, isPlaced: false };

function foldedOn({ fold, pos, fence, isPlaced }: Folded, row: RecordedEvent): Folded {
  const isFact = row.role === 'decision' && !ALLOCATION_EVENTS.some((type) => type === row.type);
  return {
    isPlaced: isPlaced || isFact,
    fold: foldRow(fold, row).fold,
    pos: row.role === 'decision' ? row.pos : pos,
    fence: Math.max(fence ?? 0, fenceOf(row) ?? 0) || null,
  };
}

/** The fence that an event recorded: the next taking must be above it (failover 11). */
function fenceOf({ body }: RecordedEvent): number | null {
  if (!body.includes('"fence"')) return null;
  const data: unknown = JSON.parse(body);
  if (typeof data !== 'object' || data === null || !('fence' in data)) return null;
  return typeof data.fence === 'number' ? data.fence : null;
}

/** The row of the candidate list as the last append of the stream left it. A stream that cannot be read has none. */
function besideRow(stream: string, { fold, pos, fence, isPlaced }: Folded): object {
  const beside = besideOf(fold.stopped ? {} : halvesOf(fold, isPlaced));
  return {
    stream,
    slot: slotOf(stream),
    dv: isPlaced ? fold.decisionVersion : fold.decidedVersion,
    pos: isPlaced ? pos : fold.decidedPos,
    beside: beside ?? {},
    fence,
  };
}

function halvesOf(fold: StreamFold, isPlaced: boolean): Pick<Command, 'allocation' | 'placement'> {
  return {
    ...(fold.decidedPos > 0 ? { allocation: allocationRowOf(fold.scalars) } : {}),
    ...(isPlaced ? { placement: placementRowOf(fold.placement) } : {}),
  };
}
