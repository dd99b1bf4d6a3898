const EPOCH_2000_MS = 946_684_800_000;

/**
 * Columns in the order of the hash input, in which the texts are one piece. Numbers come first, and so at fixed
 * offsets.
 */
export const COPIED_COLUMNS = `
  pos, stream_version, decision_version, command_index, schema_version, slot, occurred_at, recorded_at, format,
  stream, event_id, command_id, command_digest, type, role, body, meta, prev_hash, hash`;

/** Offsets in a row: two bytes of the number of fields, and four of length before each field. */
export const AT = {
  pos: 6,
  streamVersion: 18,
  decisionVersion: 26,
  commandIndex: 34,
  schemaVersion: 42,
  slot: 50,
  occurredAt: 58,
  recordedAt: 70,
  format: 82,
  texts: 86,
} as const;

/** Where the field after the text at `at` begins. */
export function afterText(bytes: Buffer, at: number): number {
  return at + 4 + bytes.readInt32BE(at);
}

/** An int8; not exact beyond 2^53. */
export function int8(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

/** A timestamptz in milliseconds since 1970, with its microseconds behind the point. */
export function epochMs(bytes: Buffer, at: number): number {
  return EPOCH_2000_MS + int8(bytes, at) / 1000;
}
