import { createHash } from 'node:crypto';
import type { RecordedEvent } from '#events/envelope';

export type Unhashed = Omit<RecordedEvent, 'hash'>;

/**
 * The hash of a row (design 5), the same as in the append function: SHA-256 over the format byte and then
 * each field as its length in bytes (four bytes, big endian) and its UTF-8 text. The lengths make the input
 * unambiguous: without them a byte could move from one field to the next under the same hash. The texts of a
 * row come last and together, so that the verifier takes them as they come from the database.
 */
export function hashOf(logId: string, event: Unhashed): string {
  const fields = [
    logId,
    String(event.pos),
    String(event.streamVersion),
    String(event.decisionVersion),
    String(event.commandIndex),
    String(event.schemaVersion),
    String(event.slot),
    event.occurredAt,
    event.recordedAt,
    event.stream,
    event.eventId,
    event.commandId,
    event.commandDigest,
    event.type,
    event.role,
    event.body,
    event.meta,
    event.prevHash,
  ];
  return createHash('sha256').update(lengthPrefixed(event.format, fields)).digest('hex');
}

// One buffer for all rows: the verifier hashes millions, and this is never held over an await.
let scratch = Buffer.allocUnsafe(64 * 1024);

function lengthPrefixed(format: number, fields: readonly string[]): Uint8Array {
  let most = 1;
  // A UTF-16 code unit takes at most three bytes of UTF-8.
  for (const field of fields) most += 4 + field.length * 3;
  if (most > scratch.length) scratch = Buffer.allocUnsafe(most * 2);

  scratch[0] = format;
  let offset = 1;
  for (const field of fields) {
    const bytes = scratch.write(field, offset + 4);
    scratch.writeUInt32BE(bytes, offset);
    offset += 4 + bytes;
  }
  return scratch.subarray(0, offset);
}
