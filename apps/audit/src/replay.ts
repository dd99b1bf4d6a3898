import { compareRow, foldRow, NOT_FOLDED, type StreamFold } from '#domain/audit/compare';
import type { Difference } from '#domain/audit/differing';
import type { LogHead, LogReader, Partition } from '#domain/log';
import type { AllocationTable, StoredAllocation } from '#domain/log-tables';
import type { RecordedEvent } from '#events/envelope';
import type { Progress } from './progress.ts';
import { endOf, type WalkedLog, walkLog } from './walk-log.ts';

export interface ReplayReport {
  /** No difference up to `upTo`. */
  readonly ok: boolean;
  /** The log as it was when this began. */
  readonly head: LogHead;
  /** Everything up to this position was folded: the head, unless less was asked for. */
  readonly upTo: number;
  /** Where the log stands at the end: what was appended meanwhile was not replayed. */
  readonly grownTo: number;
  readonly events: number;
  readonly decisions: number;
  readonly streams: number;
  /** Rows of the allocation table that were compared. */
  readonly rows: number;
  /** All differences; `differences` holds the first of them. */
  readonly found: number;
  readonly differences: readonly Difference[];
}

export interface ReplayOptions {
  /** The last position that is folded; null = up to the head. */
  readonly until?: number | null;
  readonly onProgress?: Progress;
  /** Folds kept at once: more streams than this take several passes. */
  readonly streamsInMemory?: number;
  readonly pageSize?: number;
  /** Differences that are kept for the report. */
  readonly keepMax?: number;
}

type ReplayLog = Pick<LogReader, 'head' | 'readStream'> &
  WalkedLog & {
    readonly allocations: Pick<AllocationTable, 'list' | 'count'>;
  };

// About 8 KB each where most are placements: 50,000 of them took 504 MB. A share more costs another scan of the log.
const STREAMS_IN_MEMORY = 25_000;
const PAGE_SIZE = 1_000;
const KEEP_MAX = 1_000;

/**
 * Folds the whole log from position 1 with today's rules and compares it with the record that every decision
 * carries and with the allocation table (pitfall 28). Reads only: nothing is decided again, so nothing can be
 * done again (pitfall 25). Memory is bounded: beyond `streamsInMemory` the streams are taken by shares of their
 * slots, a pass each.
 */
export async function replay(log: ReplayLog, options: ReplayOptions = {}): Promise<ReplayReport> {
  const { onProgress = () => {}, streamsInMemory = STREAMS_IN_MEMORY } = options;
  const head = await log.head();
  const upTo = await endOf(log, head.pos, options.until ?? null);
  const passes = Math.max(1, Math.ceil((await log.allocations.count({})) / streamsInMemory));
  const tally = new Tally(options.keepMax ?? KEEP_MAX);
  for (let index = 0; index < passes; index += 1) {
    const pass = new Pass(log, { index, count: passes }, options.pageSize ?? PAGE_SIZE, tally);
    await pass.fold(upTo, (pos) => onProgress(index * upTo + pos, passes * upTo));
    await pass.compareTable(upTo, upTo < head.pos);
  }
  return { ok: tally.found === 0, head, upTo, grownTo: (await log.head()).pos, ...tally.report() };
}

class Tally {
  readonly #keepMax: number;
  readonly #differences: Difference[] = [];
  found = 0;
  events = 0;
  decisions = 0;
  streams = 0;
  rows = 0;

  constructor(keepMax: number) {
    this.#keepMax = keepMax;
  }

  add(differences: readonly Difference[]): void {
    this.found += differences.length;
    for (const difference of differences) {
      if (this.#differences.length < this.#keepMax) this.#differences.push(difference);
    }
  }

  report() {
    const { found, events, decisions, streams, rows } = this;
    const differences = this.#differences.toSorted((one, other) => one.pos - other.pos);
    return { events, decisions, streams, rows, found, differences };
  }
}

/** One share of the streams. */
class Pass {
  readonly #log: ReplayLog;
  readonly #share: Partition;
  readonly #pageSize: number;
  readonly #tally: Tally;
  readonly #folds = new Map<string, StreamFold>();

  constructor(log: ReplayLog, share: Partition, pageSize: number, tally: Tally) {
    this.#log = log;
    this.#share = share;
    this.#pageSize = pageSize;
    this.#tally = tally;
  }

  async fold(upTo: number, onProgress: (pos: number) => void): Promise<void> {
    await walkLog(this.#log, {
      share: this.#share,
      pageSize: this.#pageSize,
      upTo,
      onPage: (rows) => {
        for (const row of rows) this.#take(row);
      },
      onProgress,
    });
    this.#tally.streams += this.#folds.size;
  }

  /**
   * Compares every row of the table with the fold, and every folded stream with its row. Where the fold ends
   * before the head on purpose, rows that have moved on say nothing about it.
   */
  async compareTable(upTo: number, isCut: boolean): Promise<void> {
    const { allocations } = this.#log;
    for (let after = ''; ; ) {
      const rows = await allocations.list(this.#filter(), this.#pageSize, after);
      for (const stored of rows) {
        if (isCut && stored.pos > upTo) this.#folds.delete(stored.stream);
        else await this.#compare(stored, upTo);
        after = stored.stream;
      }
      if (rows.length < this.#pageSize) break;
    }
    for (const [stream, fold] of this.#folds) this.#tally.add(compareRow(stream, fold, null));
    this.#folds.clear();
  }

  async #compare(stored: StoredAllocation, upTo: number): Promise<void> {
    const { stream, pos } = stored;
    const known = this.#folds.get(stream) ?? NOT_FOLDED;
    this.#folds.delete(stream);
    // The row has moved on since the head was read: it is compared with the stream as far as the row has come.
    const fold = pos > upTo ? await this.#foldOn(stream, known, pos) : known;
    this.#tally.rows += 1;
    this.#tally.add(compareRow(stream, fold, stored));
  }

  async #foldOn(stream: string, known: StreamFold, upTo: number): Promise<StreamFold> {
    let fold = known;
    while (!fold.stopped) {
      const page = await this.#log.readStream(stream, fold.streamVersion, this.#pageSize);
      const rows = page.filter((row) => row.pos <= upTo);
      for (const row of rows) {
        const step = foldRow(fold, row);
        this.#tally.add(step.differences);
        fold = step.fold;
      }
      if (rows.length < this.#pageSize) break;
    }
    return fold;
  }

  #take(row: RecordedEvent): void {
    const { fold, differences } = foldRow(this.#folds.get(row.stream) ?? NOT_FOLDED, row);
    this.#folds.set(row.stream, fold);
    this.#tally.events += 1;
    if (row.role === 'decision') this.#tally.decisions += 1;
    this.#tally.add(differences);
  }

  #filter() {
    return this.#share.count === 1 ? {} : { partition: this.#share };
  }
}
