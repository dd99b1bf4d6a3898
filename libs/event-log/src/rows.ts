import type { EventRole } from '#events/define-event';
import type { RecordedEvent } from '#events/envelope';

/** Columns of an event, under the names and in the forms of RecordedEvent. */
export const EVENT_COLUMNS = `
  pos, stream, stream_version, decision_version, event_id, command_id, command_index, command_digest,
  type, schema_version, role, slot, spillway.iso(occurred_at) as occurred_at,
  spillway.iso(recorded_at) as recorded_at, body, meta, format, prev_hash, hash`;

export interface EventRow {
  readonly pos: string;
  readonly stream: string;
  readonly stream_version: number;
  readonly decision_version: number;
  readonly event_id: string;
  readonly command_id: string;
  readonly command_index: number;
  readonly command_digest: string;
  readonly type: string;
  readonly schema_version: number;
  readonly role: EventRole;
  readonly slot: number;
  readonly occurred_at: string;
  readonly recorded_at: string;
  readonly body: string;
  readonly meta: string;
  readonly format: number;
  readonly prev_hash: string;
  readonly hash: string;
}

export function eventOf(row: EventRow): RecordedEvent {
  return {
    pos: safeInt(row.pos),
    stream: row.stream,
    streamVersion: row.stream_version,
    decisionVersion: row.decision_version,
    eventId: row.event_id,
    commandId: row.command_id,
    commandIndex: row.command_index,
    commandDigest: row.command_digest,
    type: row.type,
    schemaVersion: row.schema_version,
    role: row.role,
    slot: row.slot,
    occurredAt: row.occurred_at,
    recordedAt: row.recorded_at,
    body: row.body,
    meta: row.meta,
    format: row.format,
    prevHash: row.prev_hash,
    hash: row.hash,
  };
}

/** An int8 as the driver gives it. Throws beyond 2^53, where a number would be another one. */
export function safeInt(text: string): number {
  return exactInt(Number(text));
}

/** Throws a RangeError for an int8 beyond 2^53. */
export function exactInt(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`int8 beyond 2^53: ${value}`);
  return value;
}
