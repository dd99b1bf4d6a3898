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

export type VerifySource = Pick<LogReader, 'logId' | 'head' | 'at' | 'readAfter' | 'readStream'>;

export interface VerifyOptions {
  /** First position to verify; the row before it is taken on trust. Default 1. */
  readonly from?: number;
  /** Last position; a log that ends before it has a gap. Default the head. */
  readonly to?: number;
  readonly onProgress?: (pos: number) => void;
  /** Streams whose last version is kept in memory; those beyond are looked up again. */
  readonly streamsInMemory?: number;
  readonly pageSize?: number;
}

interface StreamTail {
  readonly streamVersion: number;
  readonly decisionVersion: number;
}

/**
 * Verifies the log (or an export of it) in bounded memory: dense positions, the hash chain from recomputed
 * hashes, dense stream versions, decision versions, recorded times that never go back. Answers the first bad
 * position. A tail that was cut leaves a whole log: that takes a signed checkpoint (design 5).
 */
export async function verifyLog(source: VerifySource, options: VerifyOptions = {}): Promise<Verified> {
  const { from = 1, onProgress = () => {}, streamsInMemory = 200_000, pageSize = 1000 } = options;
  const logId = await source.logId();
  const to = options.to ?? (await source.head()).pos;
  const before = from > 1 ? await source.at(from - 1) : null;
  if (from > 1 && before === null) return { ok: false, pos: from - 1, kind: 'gap' };

  const tails = new RecentTails(source, streamsInMemory);
  let last: LogHead & { readonly recordedAt: string } = before ?? { pos: 0, hash: ZERO_HASH, recordedAt: '' };
  let coming = source.readAfter(last.pos, pageSize);
  while (last.pos < to) {
    const page = await coming;
    // The next page is on its way while this one is hashed.
    coming = source.readAfter(page.at(-1)?.pos ?? to, pageSize);
    coming.catch(() => {});
    if (page.length === 0) return { ok: false, pos: last.pos + 1, kind: 'gap' };

    for (const event of page) {
      if (event.pos > to && last.pos === to) break;
      if (event.pos !== last.pos + 1) return { ok: false, pos: last.pos + 1, kind: 'gap' };
      const kind =
        brokenChain(logId, event, last) ??
        brokenStream(event, tails.known(event) ?? (await tails.stored(event)));
      if (kind !== null) return { ok: false, pos: event.pos, kind };
      tails.keep(event);
      last = event;
    }
    onProgress(last.pos);
  }
  return { ok: true, head: { pos: last.pos, hash: last.hash } };
}

function brokenChain(
  logId: string,
  event: RecordedEvent,
  last: { readonly hash: string; readonly recordedAt: string },
): BrokenKind | null {
  if (event.hash !== hashOf(logId, event)) return 'hash';
  if (event.prevHash !== last.hash) return 'prev_hash';
  return event.recordedAt < last.recordedAt ? 'time' : null;
}

function brokenStream(event: RecordedEvent, tail: StreamTail): BrokenKind | null {
  if (event.streamVersion !== tail.streamVersion + 1) return 'stream_version';
  const decisionVersion = tail.decisionVersion + (event.role === 'decision' ? 1 : 0);
  return event.decisionVersion === decisionVersion ? null : 'decision_version';
}

const NO_EVENT: StreamTail = { streamVersion: 0, decisionVersion: 0 };

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

  known({ stream, streamVersion }: RecordedEvent): StreamTail | null {
    const tail = this.#young.get(stream) ?? this.#old.get(stream);
    // A first version of a stream that is not known needs no question to the source.
    return tail ?? (streamVersion === 1 ? NO_EVENT : null);
  }

  /** The row before in the stream, for one that was forgotten or stands before `from`. */
  async stored({ stream, streamVersion, pos }: RecordedEvent): Promise<StreamTail> {
    const [row] = await this.#source.readStream(stream, streamVersion - 2, 1);
    return row && row.streamVersion === streamVersion - 1 && row.pos < pos ? row : NO_EVENT;
  }

  keep({ stream, streamVersion, decisionVersion }: RecordedEvent): void {
    if (this.#young.size >= this.#limit) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(stream, { streamVersion, decisionVersion });
  }
}
