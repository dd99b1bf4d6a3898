import type { EventRole } from '#events/define-event';
import type { RecordedEvent } from '#events/envelope';
import { AT, afterText, epochMs, int8 } from './copied-fields.ts';
import type { ReadCopied } from './copy-out.ts';
import { InstantText } from './hash-input.ts';
import { exactInt } from './rows.ts';

/**
 * Reads whole events out of a binary COPY of COPIED_COLUMNS, the same as `eventOf` makes of the driver's rows.
 * Throws a RangeError for a position beyond 2^53.
 */
export function copiedEventReader(): ReadCopied<RecordedEvent> {
  const [occurredAt, recordedAt] = [new InstantText(), new InstantText()];
  return (bytes, at) => {
    const stream = at + AT.texts;
    const eventId = afterText(bytes, stream);
    const commandId = afterText(bytes, eventId);
    const commandDigest = afterText(bytes, commandId);
    const type = afterText(bytes, commandDigest);
    const role = afterText(bytes, type);
    const body = afterText(bytes, role);
    const meta = afterText(bytes, body);
    const prevHash = afterText(bytes, meta);
    const hash = afterText(bytes, prevHash);
    const end = afterText(bytes, hash);
    return {
      pos: exactInt(int8(bytes, at + AT.pos)),
      stream: bytes.toString('utf8', stream + 4, eventId),
      streamVersion: bytes.readInt32BE(at + AT.streamVersion),
      decisionVersion: bytes.readInt32BE(at + AT.decisionVersion),
      eventId: bytes.toString('utf8', eventId + 4, commandId),
      commandId: bytes.toString('utf8', commandId + 4, commandDigest),
      commandIndex: bytes.readInt32BE(at + AT.commandIndex),
      commandDigest: bytes.toString('utf8', commandDigest + 4, type),
      type: bytes.toString('utf8', type + 4, role),
      schemaVersion: bytes.readInt32BE(at + AT.schemaVersion),
      role: roleOf(bytes, role),
      slot: bytes.readInt32BE(at + AT.slot),
      occurredAt: occurredAt.textOf(epochMs(bytes, at + AT.occurredAt)),
      recordedAt: recordedAt.textOf(epochMs(bytes, at + AT.recordedAt)),
      body: bytes.toString('utf8', body + 4, meta),
      meta: bytes.toString('utf8', meta + 4, prevHash),
      format: bytes.readInt32BE(at + AT.format),
      prevHash: bytes.toString('utf8', prevHash + 4, hash),
      hash: bytes.toString('utf8', hash + 4, end),
    };
  };
}

/** The table takes no other than the two. */
function roleOf(bytes: Buffer, at: number): EventRole {
  return bytes.readInt32BE(at) === 'decision'.length ? 'decision' : 'input';
}
