import type { LogReader } from '#domain/log';
import { type RecordedEvent, ZERO_HASH } from '#events/envelope';
import { hashOf } from './chain.ts';
import { type Broken, brokenStream, RecentTails, verifiedRowOf } from './verify.ts';

/** What somebody may have done. What is found are traces: another deed with the same traces is possible. */
export type TamperingKind =
  | 'edit'
  | 'delete'
  | 'insert'
  | 'swap'
  | 'cut_tail'
  | 'removed_stream'
  | 'rewritten_chain'
  | 'forged_checkpoint'
  | 'edited_export';

/** The kind of tampering that fits what was found, in one sentence that names the positions. */
export interface Tampering {
  readonly fits: TamperingKind;
  /** First and last position that it concerns; of a swap the two that were exchanged. */
  readonly from: number;
  readonly to: number;
  readonly sentence: string;
}

export interface TamperedSource extends Pick<LogReader, 'logId' | 'readStream'> {
  /** All rows from a position on, in order. */
  rowsFrom(pos: number): AsyncIterable<RecordedEvent>;
  /** False: the rows behind a position hold only one stream, or cannot be looked up in (an export). */
  readonly hasWholeStreams: boolean;
}

/** All rows of a log from a position on, by pages. */
export async function* rowsFrom(
  log: Pick<LogReader, 'readAfter'>,
  pos: number,
  pageSize = 1_000,
): AsyncGenerator<RecordedEvent> {
  for (let after = pos - 1; ; ) {
    const rows = await log.readAfter(after, pageSize);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.pos;
  }
}

/**
 * Says what kind of tampering fits the first bad position (design 5). Reads the log once from there on, in bounded
 * memory; a row of which the log has many is never kept.
 */
export async function tamperingOf(source: TamperedSource, broken: Broken): Promise<Tampering> {
  const { pos } = broken;
  switch (broken.kind) {
    case 'hash':
      return fitsHash(source, pos);
    case 'prev_hash':
      return fitsPrevHash(source, pos);
    case 'gap':
      return fitsGap(source, pos);
    case 'checkpoint':
      return fitsCheckpoint(source, pos, broken.since ?? 1);
    case 'tail':
      return told(
        'cut_tail',
        pos,
        pos,
        `everything from ${pos} on was removed: a later position had been signed`,
      );
    case 'stream_version':
    case 'decision_version':
    case 'time':
      return told(
        'rewritten_chain',
        pos,
        pos,
        `the chain was made anew from ${pos} at the latest, over rows that were not appended so`,
      );
  }
}

/** The row's content is not what was hashed: edited in place, or another row's place. */
async function fitsHash(source: TamperedSource, pos: number): Promise<Tampering> {
  const logId = await source.logId();
  const prevHash = (await rowAt(source, pos - 1))?.hash ?? (pos === 1 ? ZERO_HASH : null);
  const at = (row: RecordedEvent, place: number) => hashOf(logId, { ...row, pos: place }) === row.hash;
  let bad: RecordedEvent | null = null;
  /** Where the row that stood here stands now, and where the row that stands here stood. */
  let home: number | null = null;
  let origin: number | null = null;
  let body: number | null = null;
  for await (const row of source.rowsFrom(pos)) {
    if (bad === null) {
      bad = row;
      origin = nearby(pos).find((place) => at(row, place)) ?? null;
      continue;
    }
    if (home === null && row.prevHash === prevHash && at(row, pos)) home = row.pos;
    // The row that the bad one follows on: it may have been carried far.
    if (origin === null && row.hash === bad.prevHash && at(bad, row.pos + 1)) origin = row.pos + 1;
    if (body === null && haveExchanged(logId, bad, row)) body = row.pos;
    if (body !== null || (home !== null && origin !== null)) break;
  }
  if (body !== null) {
    return told('swap', pos, body, `what the rows ${pos} and ${body} say was exchanged`);
  }
  if (origin !== null && origin < pos) {
    return told(
      'insert',
      origin,
      pos - 1,
      `${rows(origin, pos - 1)} put in, and what follows was renumbered`,
    );
  }
  if (origin !== null && home !== null) {
    return told('swap', pos, home, `the rows ${pos} and ${home} were exchanged`);
  }
  if (origin !== null) {
    return told(
      'delete',
      pos,
      origin - 1,
      `${rows(pos, origin - 1)} removed, and what follows was renumbered`,
    );
  }
  if (home !== null) {
    return told('insert', pos, home - 1, `${rows(pos, home - 1)} put in, and what follows was renumbered`);
  }
  return told('edit', pos, pos, `the content of row ${pos} was changed in place`);
}

/** Both ways, since many rows of a log say the same. */
function haveExchanged(logId: string, one: RecordedEvent, other: RecordedEvent): boolean {
  const saying = (row: RecordedEvent, { body, meta }: RecordedEvent) => hashOf(logId, { ...row, body, meta });
  return saying(one, other) === one.hash && saying(other, one) === other.hash && one.body !== other.body;
}

/** Both rows have hashes of their own, and do not follow on each other: one was made anew alone. */
async function fitsPrevHash(source: TamperedSource, pos: number): Promise<Tampering> {
  let bad: RecordedEvent | null = null;
  for await (const row of source.rowsFrom(pos)) {
    if (bad === null) {
      bad = row;
      continue;
    }
    // The row behind vouches for this one: so the one before is not what it was.
    const edited = row.prevHash === bad.hash && pos > 1 ? pos - 1 : pos;
    return told('edit', edited, edited, `row ${edited} was changed and its own hash made anew`);
  }
  // Nothing stands behind it that could vouch for one of the two.
  const either = pos > 1 ? `row ${pos - 1} or ${pos}` : `row ${pos}`;
  return told('edit', Math.max(1, pos - 1), pos, `${either} was changed and its own hash made anew`);
}

/** The row is not the one that was signed: it alone, or everything from a row before it on. */
async function fitsCheckpoint(source: TamperedSource, pos: number, since: number): Promise<Tampering> {
  const logId = await source.logId();
  let signed: RecordedEvent | null = null;
  for await (const row of source.rowsFrom(pos)) {
    if (signed === null) {
      signed = row;
      continue;
    }
    if (hashOf(logId, { ...row, pos }) === row.hash) {
      return told('insert', pos, pos, `${rows(pos, pos)} put in, and what follows was renumbered`);
    }
    if (hashOf(logId, row) === row.hash && row.prevHash !== signed.hash) {
      return told('edit', pos, pos, `row ${pos} was changed and its own hash made anew`);
    }
    break;
  }
  return told(
    'rewritten_chain',
    since,
    pos,
    `a row from ${since} to ${pos} was changed, and every hash from it on was made anew`,
  );
}

/** Rows are missing: single ones, whose streams then have holes, or all of a stream. */
async function fitsGap(source: TamperedSource, pos: number): Promise<Tampering> {
  const logId = await source.logId();
  const tails = new RecentTails(source, 200_000);
  let next: number | null = null;
  let isHole = false;
  for await (const row of source.rowsFrom(pos)) {
    next ??= row.pos;
    if (hashOf(logId, { ...row, pos }) === row.hash) {
      return told('swap', pos, row.pos, `row ${pos} was given the number ${row.pos}`);
    }
    if (isHole || !source.hasWholeStreams) continue;
    const verified = verifiedRowOf(logId, row);
    const tail = tails.known(verified) ?? (await tails.stored(verified));
    isHole = brokenStream(verified, tail) !== null;
    tail.streamVersion = row.streamVersion;
    tail.decisionVersion = row.decisionVersion;
  }
  const last = (next ?? pos + 1) - 1;
  if (isHole || !source.hasWholeStreams) return told('delete', pos, last, `${rows(pos, last)} removed`);
  return told(
    'removed_stream',
    pos,
    last,
    `${rows(pos, last)} removed, and no stream that is left has a hole: all of a stream, or its end, was removed`,
  );
}

async function rowAt(source: TamperedSource, pos: number): Promise<RecordedEvent | null> {
  if (pos < 1) return null;
  for await (const row of source.rowsFrom(pos)) return row.pos === pos ? row : null;
  return null;
}

/** How far a row is looked for around its place without its predecessor. */
const NEARBY = 64;

function nearby(pos: number): readonly number[] {
  return Array.from({ length: NEARBY }, (_, index) => index + 1).flatMap((by) => [pos - by, pos + by]);
}

function told(fits: TamperingKind, from: number, to: number, sentence: string): Tampering {
  return { fits, from, to, sentence };
}

function rows(from: number, to: number): string {
  return from === to ? `row ${from} was` : `the rows ${from} to ${to} were`;
}
