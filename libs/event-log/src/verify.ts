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
  | 'time'
  /** The row's hash is not the one that was signed. */
  | 'checkpoint'
  /** The log ends before a position that was signed. */
  | 'tail';

/** The first bad position. `since` = the first one that no signature proves any more (kind `checkpoint`). */
export interface Broken {
  readonly ok: false;
  readonly pos: number;
  readonly kind: BrokenKind;
  readonly since?: number;
}

export type Verified = { readonly ok: true; readonly head: LogHead } | Broken;

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
  verifiedPages?(from: number, to: number): AsyncIterable<readonly VerifiedRow[]>;
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
  /** Hashes that were signed outside of the log, by position. */
  readonly checkpoints?: ReadonlyMap<number, string>;
  /** Hash that the first row must follow on, where the source does not have the row before `from`. */
  readonly prevHash?: string;
  /**
   * The source cannot look a row up: of a stream that began before `from`, or was forgotten since, the first row
   * that is met is taken on trust in its versions (its hash is not).
   */
  readonly withoutLookUp?: boolean;
}

/**
 * Verifies the log (or an export of it) in bounded memory: dense positions, the hash chain from recomputed
 * hashes, dense stream versions, decision versions, recorded times that never go back, and the hashes that were
 * signed. Answers the first bad position. A tail that was cut, or a chain made anew to the end, leaves a whole
 * log: that takes a signed checkpoint (design 5).
 */
export async function verifyLog(source: VerifySource, options: VerifyOptions = {}): Promise<Verified> {
  const { from = 1, onProgress = () => {}, streamsInMemory = 200_000, pageSize = 1000 } = options;
  const to = options.to ?? (await source.head()).pos;
  const first = await beforeFirst(source, from, options.prevHash);
  if (first === null) return { ok: false, pos: from - 1, kind: 'gap' };

  const tails = new RecentTails(source, streamsInMemory, options.withoutLookUp === true ? from > 1 : null);
  const signed = new SignedHashes(options.checkpoints ?? new Map(), from);
  let last = first;
  const pages = source.verifiedPages?.(from, to) ?? pagesOfEvents(source, from, to, pageSize);
  for await (const rows of pages) {
    for (const row of rows) {
      if (row.pos !== last.pos + 1) return { ok: false, pos: last.pos + 1, kind: 'gap' };
      const tail = tails.known(row) ?? (await tails.stored(row));
      const kind = brokenChain(row, last) ?? brokenStream(row, tail);
      if (kind !== null) return { ok: false, pos: row.pos, kind };
      if (!signed.agree(row))
        return { ok: false, pos: row.pos, kind: 'checkpoint', since: signed.provenTo + 1 };
      tail.streamVersion = row.streamVersion;
      tail.decisionVersion = row.decisionVersion;
      last = row;
    }
    onProgress(last.pos);
  }
  if (last.pos < to) return { ok: false, pos: last.pos + 1, kind: 'gap' };
  if (signed.reach > last.pos) return { ok: false, pos: last.pos + 1, kind: 'tail' };
  return { ok: true, head: { pos: last.pos, hash: last.hash } };
}

/** What the first row must follow on; null = the row before it is missing. */
async function beforeFirst(
  source: VerifySource,
  from: number,
  prevHash: string | undefined,
): Promise<Last | null> {
  const beginning = { pos: from - 1, recordedMs: Number.NEGATIVE_INFINITY };
  if (prevHash !== undefined) return { ...beginning, hash: prevHash };
  if (from === 1) return { ...beginning, hash: ZERO_HASH };
  const before = await source.at(from - 1);
  return before && { pos: before.pos, hash: before.hash, recordedMs: Date.parse(before.recordedAt) };
}

/** Compares rows with what was signed, and remembers how far the signatures prove the log. */
class SignedHashes {
  readonly #hashes: ReadonlyMap<number, string>;
  /** The newest position that was signed. */
  readonly reach: number;
  provenTo: number;

  constructor(hashes: ReadonlyMap<number, string>, from: number) {
    this.#hashes = hashes;
    let reach = 0;
    for (const pos of hashes.keys()) reach = Math.max(reach, pos);
    this.reach = reach;
    this.provenTo = from - 1;
  }

  agree({ pos, hash }: VerifiedRow): boolean {
    const signed = this.#hashes.get(pos);
    if (signed === undefined) return true;
    if (signed === hash) this.provenTo = pos;
    return signed === hash;
  }
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

/** What is verified of a whole event. */
export function verifiedRowOf(logId: string, event: RecordedEvent): VerifiedRow {
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

/** Whether a row is the next one of its stream. */
export function brokenStream(row: VerifiedRow, tail: StreamTail): BrokenKind | null {
  if (row.streamVersion !== tail.streamVersion + 1) return 'stream_version';
  const decisionVersion = tail.decisionVersion + (row.isDecision ? 1 : 0);
  return row.decisionVersion === decisionVersion ? null : 'decision_version';
}

/** What the rows of a stream have come to. Changed in place: one look-up a row. */
export interface StreamTail {
  streamVersion: number;
  decisionVersion: number;
}

/** The last versions of the streams seen lately. Two generations, so that memory is bounded at little cost. */
export class RecentTails {
  readonly #source: Pick<VerifySource, 'readStream'>;
  readonly #limit: number;
  /** Whether a stream may be met in its middle; null = what is not known is looked up. */
  #trusting: boolean | null;
  #young = new Map<string, StreamTail>();
  #old = new Map<string, StreamTail>();

  constructor(source: Pick<VerifySource, 'readStream'>, limit: number, trusting: boolean | null = null) {
    this.#source = source;
    this.#limit = Math.max(1, Math.floor(limit / 2));
    this.#trusting = trusting;
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
  async stored({
    stream,
    streamVersion,
    decisionVersion,
    isDecision,
    pos,
  }: VerifiedRow): Promise<StreamTail> {
    if (this.#trusting !== null) {
      const trusted = {
        streamVersion: streamVersion - 1,
        decisionVersion: decisionVersion - (isDecision ? 1 : 0),
      };
      return this.#keep(stream, this.#trusting ? trusted : { streamVersion: 0, decisionVersion: 0 });
    }
    const [row] = await this.#source.readStream(stream, streamVersion - 2, 1);
    const isBefore = row !== undefined && row.streamVersion === streamVersion - 1 && row.pos < pos;
    return this.#keep(stream, {
      streamVersion: isBefore ? row.streamVersion : 0,
      decisionVersion: isBefore ? row.decisionVersion : 0,
    });
  }

  #keep(stream: string, tail: StreamTail): StreamTail {
    if (this.#young.size >= this.#limit) {
      // From now on a stream that is not known may be one that was forgotten.
      if (this.#trusting === false && this.#old.size > 0) this.#trusting = true;
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(stream, tail);
    return tail;
  }
}
