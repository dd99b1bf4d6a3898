import type { ClientBase } from 'pg';
import type { Partition } from '#domain/log';
import type { RecordedEvent } from '#events/envelope';
import { copiedEventReader } from './copied-event.ts';
import { AT, afterText, COPIED_COLUMNS, epochMs, int8 } from './copied-fields.ts';
import { copyOut, type ReadCopied } from './copy-out.ts';
import { HashInput, InstantText } from './hash-input.ts';
import type { VerifiedRow } from './verify.ts';

/** One statement reads so many positions, so that none holds its snapshot for as long as a whole log takes. */
const STATEMENT_ROWS = 50_000;

/** A range of the log in pages of rows to verify. Both ends are positions and belong to it. */
export function pagesByCopy(
  client: ClientBase,
  logId: string,
  from: number,
  to: number,
): AsyncGenerator<readonly VerifiedRow[]> {
  return rangeByCopy(client, { from, to, where: '' }, verifiedRowReader(logId));
}

/** A range of the log, or a share of its streams in that range, in pages of whole events. */
export function eventPagesByCopy(
  client: ClientBase,
  from: number,
  to: number,
  share: Partition,
): AsyncGenerator<readonly RecordedEvent[]> {
  const where = share.count === 1 ? '' : `and slot % ${BigInt(share.count)} = ${BigInt(share.index)}`;
  return rangeByCopy(client, { from, to, where }, copiedEventReader());
}

async function* rangeByCopy<Row>(
  client: ClientBase,
  { from, to, where }: { readonly from: number; readonly to: number; readonly where: string },
  read: ReadCopied<Row>,
): AsyncGenerator<readonly Row[]> {
  for (let start = from; start <= to; start += STATEMENT_ROWS) {
    const end = Math.min(to, start + STATEMENT_ROWS - 1);
    // COPY takes no parameters. All are whole numbers, and nothing else is put into the text.
    const range = `pos between ${BigInt(start)} and ${BigInt(end)} ${where}`;
    const rows = `select ${COPIED_COLUMNS} from spillway.event where ${range} order by pos`;
    yield* copyOut(client, `copy (${rows}) to stdout (format binary)`, read);
  }
}

/**
 * Reads a row together with its recomputed hash. In a binary COPY a text is its length in four bytes and its
 * UTF-8, which is just its form in the hash input: texts are not decoded to be hashed.
 */
function verifiedRowReader(logId: string): ReadCopied<VerifiedRow> {
  const input = new HashInput(logId);
  const [occurredAt, recordedAt] = [new InstantText(), new InstantText()];
  return (bytes, at) => {
    const stream = at + AT.texts;
    const eventId = afterText(bytes, stream);
    const commandDigest = afterText(bytes, afterText(bytes, eventId));
    const role = afterText(bytes, afterText(bytes, commandDigest));
    const meta = afterText(bytes, afterText(bytes, role));
    const prevHash = afterText(bytes, meta);
    const rowHash = afterText(bytes, prevHash);
    const end = afterText(bytes, rowHash);

    const pos = int8(bytes, at + AT.pos);
    const streamVersion = bytes.readInt32BE(at + AT.streamVersion);
    const decisionVersion = bytes.readInt32BE(at + AT.decisionVersion);
    const recordedMs = epochMs(bytes, at + AT.recordedAt);
    input.start(bytes.readInt32BE(at + AT.format), end - at);
    input.decimal(pos);
    input.decimal(streamVersion);
    input.decimal(decisionVersion);
    input.decimal(bytes.readInt32BE(at + AT.commandIndex));
    input.decimal(bytes.readInt32BE(at + AT.schemaVersion));
    input.decimal(bytes.readInt32BE(at + AT.slot));
    input.instant(occurredAt, epochMs(bytes, at + AT.occurredAt));
    input.instant(recordedAt, recordedMs);
    input.texts(bytes, stream, rowHash);
    return {
      pos,
      stream: bytes.toString('utf8', stream + 4, eventId),
      streamVersion,
      decisionVersion,
      isDecision: bytes.readInt32BE(role) === 'decision'.length,
      recordedMs,
      prevHash: bytes.toString('latin1', prevHash + 4, rowHash),
      hash: bytes.toString('latin1', rowHash + 4, end),
      recomputedHash: input.hash(),
    };
  };
}
