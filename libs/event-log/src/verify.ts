import type { LogHead, LogReader } from '#domain/log';
import { type RecordedEvent, ZERO_HASH } from '#events/envelope';
import { hashOf } from './chain.ts';

/** What does not hold at the first bad position. */
export type BrokenKind =
  /** No row at this position. */
  | 'gap'
  /** The row's hash is not that of its content. */
  | 'hash'
  /** The row does not follow on the row before. */
  | 'prev_hash'
  /** Not the next version of its stream. */
  | 'stream_version'
  /** Not the number of decisions in its stream. */
  | 'decision_version'
  /** Recorded before the row before. */
  | 'time';

export type Verified =
  | { readonly ok: true; readonly head: LogHead }
  | { readonly ok: false; readonly pos: number; readonly kind: BrokenKind };

/** What is verified of a row. */
export interface VerifiedRow {
  readonly pos: number;
  readonly stream: string;
  readonly streamVersion: number;
  readonly decisionVersion: number;
  readonly isDecision: boolean;
  readonly recordedMs: number;
  readonly prevHash: string;
  readonly hash: string;
  readonly recomputedHash: string;
}

export interface VerifySource extends Pick<LogReader, 'logId' | 'head' | 'at' | 'readAfter' | 'readStream'> {
  /** Pages of rows from `from` to `to`, where a source has a faster way than whole events. */
  verifiedPages?(from: number, to: number): AsyncIterable<Iterable<VerifiedRow>>;
}

export interface VerifyOptions {
  /** First position to verify; the row before it is taken on trust. Default 1. */
  readonly from?: number;
  /** Last position; a log that ends before it has a gap. Default the head. */
  readonly to?: number;
  readonly onProgress?: (pos: number) => void;
  /** Streams whose last version is kept in memory; those beyond are looked up again. */
  readonly streamsInMemory?: number;
  /** Events in memory at once, where whole events are read. */
  readonly pageSize?: number;
}

/**
 * Verifies the log (or an export of it) in bounded memory: dense positions, the hash chain from recomputed
 * hashes, dense stream versions, decision versions, recorded times that never go back. Answers the first bad
 * position. A tail that was cut leaves a whole log: that takes a signed checkpoint (design 5).
 */
export async function verifyLog(source: VerifySource, options: VerifyOptions = {}): Promise<Verified> {
  const { from = 1, onProgress = () => {}, streamsInMemory = 200_000, pageSize = 1000 } = options;
  const to = options.to ?? (await source.head()).pos;
  const before = from > 1 ? await source.at(from - 1) : null;
  if (from > 1 && before === null) return { ok: false, pos: from - 1, kind: 'gap' };

  const tails = new RecentTails(source, streamsInMemory);
  let last: Last = before
    ? { pos: before.pos, hash: before.hash, recordedMs: Date.parse(before.recordedAt) }
    : { pos: 0, hash: ZERO_HASH, recordedMs: Number.NEGATIVE_INFINITY };
  const pages = source.verifiedPages?.(from, to) ?? pagesOfEvents(source, from, to, pageSize);
  for await (const rows of pages) {
    for (const row of rows) {
      if (row.pos !== last.pos + 1) return { ok: false, pos: last.pos + 1, kind: 'gap' };
      const tail = tails.known(row) ?? (await tails.stored(row));
      const kind = brokenChain(row, last) ?? brokenStream(row, tail);
      if (kind !== null) return { ok: false, pos: row.pos, kind };
      tail.streamVersion = row.streamVersion;
      tail.decisionVersion = row.decisionVersion;
      last = row;
    }
    onProgress(last.pos);
  }
  if (last.pos < to) return { ok: false, pos: last.pos + 1, kind: 'gap' };
  return { ok: true, head: { pos: last.pos, hash: last.hash } };
}

/** Pages by way of whole events, which every source has. The next page is on its way while one is hashed. */
async function* pagesOfEvents(
  source: VerifySource,
  from: number,
  to: number,
  pageSize: number,
): AsyncGenerator<readonly VerifiedRow[]> {
  const logId = await source.logId();
  const read = (after: number) => source.readAfter(after, Math.min(pageSize, Math.max(0, to - after)));
  let coming = read(from - 1);
  for (;;) {
    const events = (await coming).filter((event) => event.pos <= to);
    const reached = events.at(-1)?.pos;
    if (reached === undefined) return;
    coming = read(reached);
    // Its fault is met when it is awaited, or never if the log is broken before.
    coming.catch(() => {});
    yield events.map((event) => verifiedRowOf(logId, event));
  }
}

function verifiedRowOf(logId: string, event: RecordedEvent): VerifiedRow {
  return {
    pos: event.pos,
    stream: event.stream,
    streamVersion: event.streamVersion,
    decisionVersion: event.decisionVersion,
    isDecision: event.role === 'decision',
    recordedMs: Date.parse(event.recordedAt),
    prevHash: event.prevHash,
    hash: event.hash,
    recomputedHash: hashOf(logId, event),
  };
}

interface Last extends LogHead {
  readonly recordedMs: number;
}

function brokenChain(row: VerifiedRow, last: Last): BrokenKind | null {
  if (row.hash !== row.recomputedHash) return 'hash';
  if (row.prevHash !== last.hash) return 'prev_hash';
  return row.recordedMs >= last.recordedMs ? null : 'time';
}

function brokenStream(row: VerifiedRow, tail: StreamTail): BrokenKind | null {
  if (row.streamVersion !== tail.streamVersion + 1) return 'stream_version';
  const decisionVersion = tail.decisionVersion + (row.isDecision ? 1 : 0);
  return row.decisionVersion === decisionVersion ? null : 'decision_version';
}

/** What the rows of a stream have come to. Changed in place: one look-up a row. */
interface StreamTail {
  streamVersion: number;
  decisionVersion: number;
}

/** The last versions of the streams seen lately. Two generations, so that memory is bounded at little cost. */
class RecentTails {
  readonly #source: VerifySource;
  readonly #limit: number;
  #young = new Map<string, StreamTail>();
  #old = new Map<string, StreamTail>();

  constructor(source: VerifySource, limit: number) {
    this.#source = source;
    this.#limit = Math.max(1, Math.floor(limit / 2));
  }

  known({ stream, streamVersion }: VerifiedRow): StreamTail | null {
    const young = this.#young.get(stream);
    if (young) return young;
    const old = this.#old.get(stream);
    if (old) return this.#keep(stream, old);
    // A first version of a stream that is not known needs no question to the source.
    return streamVersion === 1 ? this.#keep(stream, { streamVersion: 0, decisionVersion: 0 }) : null;
  }

  /** The row before in the stream, for one that was forgotten or stands before `from`. */
  async stored({ stream, streamVersion, pos }: VerifiedRow): Promise<StreamTail> {
    const [row] = await this.#source.readStream(stream, streamVersion - 2, 1);
    const isBefore = row !== undefined && row.streamVersion === streamVersion - 1 && row.pos < pos;
    return this.#keep(stream, {
      streamVersion: isBefore ? row.streamVersion : 0,
      decisionVersion: isBefore ? row.decisionVersion : 0,
    });
  }

  #keep(stream: string, tail: StreamTail): StreamTail {
    if (this.#young.size >= this.#limit) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(stream, tail);
    return tail;
  }
}
