import type { MsgHdrs } from '@nats-io/nats-core';
import { MsgHdrsImpl } from '@nats-io/nats-core/internal';
import type { RecordedEvent } from '#events/envelope';
import { RecordedRow } from '#events/recorded-row';
import { eventSubject, partitionOf, type Topology } from './topology.ts';

/** What a message on the bus says about the log row it carries. */
export interface MessageId {
  readonly logId: string;
  readonly pos: number;
  /** First 16 hex digits of the row's hash, which covers all rows before it. */
  readonly hash16: string;
}

export interface EventMessage {
  readonly subject: string;
  readonly id: string;
  readonly body: string;
  readonly headers: MsgHdrs;
}

/** Why a message on our subjects was not taken for a log row. */
export type ForeignReason = 'no_id' | 'other_log' | 'unreadable_body' | 'header_mismatch' | 'wrong_partition';

export type ReadEvent =
  | { readonly kind: 'event'; readonly event: RecordedEvent; readonly previousPos: number }
  /** Of ours, but not comparable here: acknowledged and left to the log. */
  | { readonly kind: 'passed'; readonly reason: 'omitted' | 'other_partitioning' }
  | { readonly kind: 'foreign'; readonly reason: ForeignReason };

const ID = 'Nats-Msg-Id';
const EXPECTED_ID = 'Nats-Expected-Last-Msg-Id';
const EXPECTED_SEQUENCE = 'Nats-Expected-Last-Sequence';
const PREVIOUS = 'Spillway-Previous';
const PARTITION = 'Spillway-Partition';
const HASH = 'Spillway-Hash';
const OMITTED = 'Spillway-Omitted';

const MESSAGE_ID = /^([\x21-\x7e]{1,200}):([1-9]\d{0,15}):([0-9a-f]{16})$/;
const WHOLE = /^\d{1,16}$/;

export function messageIdOf(logId: string, pos: number, hash: string): string {
  return `${logId}:${pos}:${hash.slice(0, 16)}`;
}

/** Null for an id that no relay of ours made. */
export function readMessageId(id: string | undefined): MessageId | null {
  const [, logId, pos, hash16] = MESSAGE_ID.exec(id ?? '') ?? [];
  if (logId === undefined || pos === undefined || hash16 === undefined) return null;

  return { logId, pos: Number(pos), hash16 };
}

export function messageIdOfHeaders(from: MsgHdrs | undefined): MessageId | null {
  return readMessageId(from?.get(ID));
}

/** What must be true of the stream for the message to be stored behind it. */
export interface Expectation {
  /** Id of the row before; null for the first into an empty stream. */
  readonly lastId: string | null;
  readonly lastSequence: number | null;
}

/**
 * A row as it goes on the bus. `previousPos` is the position before it in its partition, or any position
 * between that one and this row; consumers do not go by it. A row above `maxBodyBytes`
 * travels without its body, so that it cannot stop the relay.
 */
export function eventMessage(
  topology: Topology,
  logId: string,
  event: RecordedEvent,
  previousPos: number,
  expected: Expectation,
  maxBodyBytes: number,
): EventMessage {
  const id = messageIdOf(logId, event.pos, event.hash);
  const partition = partitionOf(event.slot, topology.partitions);
  const body = JSON.stringify(event);
  const isOmitted = body.length * 3 > maxBodyBytes && Buffer.byteLength(body) > maxBodyBytes;
  const lines = [`${ID}: ${id}`];
  if (expected.lastId !== null) lines.push(`${EXPECTED_ID}: ${expected.lastId}`);
  if (expected.lastSequence !== null) lines.push(`${EXPECTED_SEQUENCE}: ${expected.lastSequence}`);
  lines.push(`${PREVIOUS}: ${previousPos}`, `${PARTITION}: ${partition}/${topology.partitions}`);
  lines.push(`${HASH}: ${event.hash}`);
  if (isOmitted) lines.push(`${OMITTED}: 1`);
  return {
    subject: eventSubject(topology, partition, event.type),
    id,
    body: isOmitted ? '' : body,
    headers: new WireHeaders(lines),
  };
}

/**
 * Headers written out at once. The client's own builder looks at each letter of each name for each message,
 * which was three quarters of the time that a message took.
 */
class WireHeaders extends MsgHdrsImpl {
  constructor(private readonly lines: readonly string[]) {
    super();
  }

  override encode(): Uint8Array {
    return Buffer.from(`NATS/1.0\r\n${this.lines.join('\r\n')}\r\n\r\n`, 'utf8');
  }
}

/** Believes nothing: headers, body, log and partition must agree, else the message is foreign. Never throws. */
export function readEventMessage(
  topology: Topology,
  logId: string,
  partition: number,
  from: MsgHdrs | undefined,
  body: Uint8Array,
): ReadEvent {
  const id = messageIdOfHeaders(from);
  if (from === undefined || id === null) return { kind: 'foreign', reason: 'no_id' };
  if (id.logId !== logId) return { kind: 'foreign', reason: 'other_log' };

  const [index, count] = from.get(PARTITION).split('/');
  if (count !== undefined && WHOLE.test(count) && Number(count) !== topology.partitions) {
    return { kind: 'passed', reason: 'other_partitioning' };
  }
  if (index !== String(partition)) return { kind: 'foreign', reason: 'wrong_partition' };
  if (from.get(OMITTED) === '1') return { kind: 'passed', reason: 'omitted' };

  const event = readRow(body);
  if (event === null) return { kind: 'foreign', reason: 'unreadable_body' };
  if (partitionOf(event.slot, topology.partitions) !== partition)
    return { kind: 'foreign', reason: 'wrong_partition' };

  const previous = from.get(PREVIOUS);
  const previousPos = WHOLE.test(previous) ? Number(previous) : event.pos;
  const agrees =
    event.pos === id.pos &&
    event.hash === from.get(HASH) &&
    event.hash.startsWith(id.hash16) &&
    previousPos < event.pos;
  return agrees ? { kind: 'event', event, previousPos } : { kind: 'foreign', reason: 'header_mismatch' };
}

function readRow(body: Uint8Array): RecordedEvent | null {
  try {
    const row = RecordedRow.safeParse(JSON.parse(Buffer.from(body).toString('utf8')));
    return row.success ? row.data : null;
  } catch {
    return null;
  }
}
