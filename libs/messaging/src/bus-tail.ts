import type { JetStreamManager, StoredMsg, StreamInfo } from '@nats-io/jetstream';
import type { LogReader } from '#domain/log';
import { ZERO_HASH } from '#events/envelope';
import { streamOrNull } from './ensure-topology.ts';
import { type MessageId, messageIdOf, messageIdOfHeaders } from './event-message.ts';

/** What the event stream ends (or begins) with. */
export type BusTail =
  | { readonly kind: 'missing' }
  | { readonly kind: 'empty'; readonly lastSequence: number }
  /**
   * The broker counts messages and can give none of them: seen when a stream was deleted and made again at once,
   * and the removal of its old files took the new ones along.
   */
  | { readonly kind: 'damaged' }
  /** Messages are there, but the nearest ones carry no id of a Spillway log. */
  | { readonly kind: 'unreadable'; readonly lastSequence: number }
  | { readonly kind: 'at'; readonly id: MessageId; readonly sequence: number; readonly lastSequence: number };

/** Where a relay goes on: behind this row, if the stream still ends with this. */
export interface RunStart {
  readonly pos: number;
  readonly hash: string;
  readonly lastId: string | null;
  readonly lastSequence: number;
}

export type TailVerdict =
  | { readonly kind: 'start'; readonly from: RunStart }
  | { readonly kind: 'foreign_stream'; readonly ourLogId: string; readonly theirLogId: string }
  | {
      readonly kind: 'bus_forked';
      readonly pos: number;
      readonly busHash16: string;
      /** Null: our log does not reach that position. */
      readonly logHash16: string | null;
      readonly headPos: number;
    };

/** Messages that others slipped in are stepped over, at most this many. */
const MAX_STEPS = 256;

export async function readTail(manager: JetStreamManager, stream: string): Promise<BusTail> {
  return nearest(manager, await streamOrNull(manager, stream), 'last');
}

/** The first message of ours: with it positions are mapped to sequences. */
export async function readFirst(manager: JetStreamManager, stream: string): Promise<BusTail> {
  return nearest(manager, await streamOrNull(manager, stream), 'first');
}

/**
 * A sequence at or before that of the row at `pos`. The run has no gap, so only what others slipped in (and
 * takes a sequence, too) can lie between: the estimate may be early, never late.
 */
export function sequenceAtOrBefore(first: BusTail & { readonly kind: 'at' }, pos: number): number {
  const estimate = first.sequence + Math.max(0, pos - first.id.pos);
  // The bus may lag behind the log: then the next message to come.
  return Math.min(estimate, first.lastSequence + 1);
}

/**
 * Judges the stream's end by the log. An empty stream starts behind the lowest checkpoint. The log is read
 * after the bus: what a faster relay has published meanwhile is then in it.
 */
export async function judgeTail(
  tail: Exclude<BusTail, { readonly kind: 'missing' | 'damaged' }>,
  log: Pick<LogReader, 'logId' | 'head' | 'at'>,
  lowestCheckpoint: () => Promise<number | null>,
): Promise<TailVerdict> {
  const ourLogId = await log.logId();
  if (tail.kind === 'unreadable') return { kind: 'foreign_stream', ourLogId, theirLogId: 'unreadable' };

  if (tail.kind === 'empty') {
    const head = await log.head();
    const pos = Math.max(0, Math.min((await lowestCheckpoint()) ?? 0, head.pos));
    const row = pos === 0 ? null : await log.at(pos);
    const hash = row?.hash ?? ZERO_HASH;
    return { kind: 'start', from: { pos, hash, lastId: null, lastSequence: tail.lastSequence } };
  }
  const { id } = tail;
  if (id.logId !== ourLogId) return { kind: 'foreign_stream', ourLogId, theirLogId: id.logId };

  const row = await log.at(id.pos);
  if (row === null || !row.hash.startsWith(id.hash16)) {
    const logHash16 = row === null ? null : row.hash.slice(0, 16);
    const { pos: headPos } = await log.head();
    return { kind: 'bus_forked', pos: id.pos, busHash16: id.hash16, logHash16, headPos };
  }
  const lastId = messageIdOf(id.logId, id.pos, row.hash);
  return { kind: 'start', from: { pos: id.pos, hash: row.hash, lastId, lastSequence: tail.lastSequence } };
}

async function nearest(
  manager: JetStreamManager,
  stream: StreamInfo | null,
  end: 'first' | 'last',
): Promise<BusTail> {
  if (stream === null) return { kind: 'missing' };

  const { messages, first_seq, last_seq } = stream.state;
  if (messages === 0) return { kind: 'empty', lastSequence: last_seq };

  let given = 0;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const sequence = end === 'last' ? last_seq - step : first_seq + step;
    if (sequence < first_seq || sequence > last_seq) break;
    const message: StoredMsg | null = await manager.streams.getMessage(stream.config.name, { seq: sequence });
    if (message !== null) given += 1;
    const id = messageIdOfHeaders(message?.header);
    if (id !== null) return { kind: 'at', id, sequence, lastSequence: last_seq };
  }
  return given === 0 ? { kind: 'damaged' } : { kind: 'unreadable', lastSequence: last_seq };
}
