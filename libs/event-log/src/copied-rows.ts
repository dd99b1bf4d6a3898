import { hash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { copyOut } from './copy-out.ts';
import type { VerifiedRow } from './verify.ts';

const EPOCH_2000_MS = 946_684_800_000;
const DAY_MS = 86_400_000;
const COPY_HEADER_BYTES = 19;
const END_OF_COPY = -1;

/** Columns in the order of the hash input, in which the texts are one piece. Numbers come at fixed offsets. */
const COLUMNS = `
  pos, stream_version, decision_version, command_index, schema_version, slot, occurred_at, recorded_at, format,
  stream, event_id, command_id, command_digest, type, role, body, meta, prev_hash, hash`;

/** Offsets in a row: two bytes of the number of fields, and four of length before each field. */
const AT = {
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

/** One statement reads so many, so that none holds its snapshot for as long as a whole log takes. */
const STATEMENT_ROWS = 50_000;

/** A range of the log in pages. Both ends are positions and belong to it. */
export async function* pagesByCopy(
  client: ClientBase,
  logId: string,
  from: number,
  to: number,
): AsyncGenerator<Iterable<VerifiedRow>> {
  const input = new HashInput(logId);
  for (let start = from; start <= to; start += STATEMENT_ROWS) {
    const end = Math.min(to, start + STATEMENT_ROWS - 1);
    // COPY takes no parameters. Both are whole numbers, and nothing else is put into the text.
    const range = `pos between ${BigInt(start)} and ${BigInt(end)}`;
    const statement = `copy (select ${COLUMNS} from spillway.event where ${range} order by pos)
      to stdout (format binary)`;
    let at = COPY_HEADER_BYTES;
    for await (const page of copyOut(client, statement)) {
      yield copiedRows(input, page, at);
      at = 0;
    }
  }
}

/**
 * The rows in a binary COPY, each with its recomputed hash. In that format a text is its length in four bytes
 * and its UTF-8, which is just its form in the hash input: texts are not decoded to be hashed (measured: half
 * the processor time of the way by whole events).
 */
function* copiedRows(input: HashInput, bytes: Buffer, start: number): Generator<VerifiedRow> {
  const [occurredAt, recordedAt] = [new InstantText(), new InstantText()];
  for (let at = start; at < bytes.length && bytes.readInt16BE(at) !== END_OF_COPY; ) {
    const stream = at + AT.texts;
    const eventId = afterTexts(bytes, stream, 1);
    const role = afterTexts(bytes, eventId, 4);
    const prevHash = afterTexts(bytes, role, 3);
    const rowHash = afterTexts(bytes, prevHash, 1);
    const end = afterTexts(bytes, rowHash, 1);

    const pos = int8(bytes, at + AT.pos);
    const streamVersion = bytes.readInt32BE(at + AT.streamVersion);
    const decisionVersion = bytes.readInt32BE(at + AT.decisionVersion);
    const recordedMs = instantMs(bytes, at + AT.recordedAt);
    input.start(bytes.readInt32BE(at + AT.format), end - at);
    input.decimal(pos);
    input.decimal(streamVersion);
    input.decimal(decisionVersion);
    input.decimal(bytes.readInt32BE(at + AT.commandIndex));
    input.decimal(bytes.readInt32BE(at + AT.schemaVersion));
    input.decimal(bytes.readInt32BE(at + AT.slot));
    input.instant(occurredAt, instantMs(bytes, at + AT.occurredAt));
    input.instant(recordedAt, recordedMs);
    input.texts(bytes, stream, rowHash);
    yield {
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
    at = end;
  }
}

function afterTexts(bytes: Buffer, at: number, count: number): number {
  let end = at;
  for (let text = 0; text < count; text++) end += 4 + bytes.readInt32BE(end);
  return end;
}

function int8(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

function instantMs(bytes: Buffer, at: number): number {
  return EPOCH_2000_MS + int8(bytes, at) / 1000;
}

/** Writes one hash input after the other into the same memory. */
class HashInput {
  readonly #logId: Buffer;
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #length = 0;

  constructor(logId: string) {
    const text = Buffer.from(logId);
    this.#logId = Buffer.alloc(4 + text.length);
    this.#logId.writeUInt32BE(text.length);
    text.copy(this.#logId, 4);
  }

  start(format: number, rowBytes: number): void {
    // Numbers and times grow as text, by less than this.
    const most = rowBytes + this.#logId.length + 512;
    if (most > this.#bytes.length) this.#bytes = Buffer.allocUnsafe(most * 2);
    this.#bytes[0] = format;
    this.#bytes.set(this.#logId, 1);
    this.#length = 1 + this.#logId.length;
  }

  /** Fields that stand in the row as they stand in the hash input. */
  texts(source: Buffer, from: number, to: number): void {
    source.copy(this.#bytes, this.#length, from, to);
    this.#length += to - from;
  }

  decimal(value: number): void {
    const bytes = this.#bytes;
    if (value < 0) {
      this.#text(String(value));
      return;
    }
    let digits = 1;
    for (let bound = 10; value >= bound; bound *= 10) digits++;
    const start = this.#length + 4;
    lengthBefore(bytes, start, digits);
    let rest = value;
    for (let place = start + digits - 1; place >= start; place--) {
      const tens = Math.floor(rest / 10);
      bytes[place] = 48 + (rest - tens * 10);
      rest = tens;
    }
    this.#length = start + digits;
  }

  instant(text: InstantText, epochMs: number): void {
    const from = text.of(epochMs);
    const bytes = this.#bytes;
    const start = this.#length;
    // Byte by byte: for so few a call of the runtime costs more.
    for (let index = 0; index < from.length; index++) bytes[start + index] = from[index] ?? 0;
    this.#length = start + from.length;
  }

  hash(): string {
    return hash('sha256', this.#bytes.subarray(0, this.#length), 'hex');
  }

  #text(value: string): void {
    const bytes = this.#bytes.write(value, this.#length + 4, 'latin1');
    this.#bytes.writeUInt32BE(bytes, this.#length);
    this.#length += 4 + bytes;
  }
}

/** A short length, four bytes before `start`. */
function lengthBefore(bytes: Buffer, start: number, length: number): void {
  bytes[start - 4] = 0;
  bytes[start - 3] = 0;
  bytes[start - 2] = 0;
  bytes[start - 1] = length;
}

/** The text of a time in the hash input, for one column: its day is that of the row before, most often. */
class InstantText {
  #day = Number.NaN;
  #epochMs = Number.NaN;
  #bytes: Buffer<ArrayBuffer> = Buffer.alloc(0);

  /** With its length before it. Valid until the next call. */
  of(epochMs: number): Buffer {
    if (epochMs === this.#epochMs) return this.#bytes;
    const day = Math.floor(epochMs / DAY_MS);
    if (day !== this.#day) this.#begin(day);
    this.#epochMs = epochMs;
    const ms = Math.trunc(epochMs - day * DAY_MS);
    const end = this.#bytes.length;
    twoDigits(this.#bytes, end - 13, Math.floor(ms / 3_600_000));
    twoDigits(this.#bytes, end - 10, Math.floor(ms / 60_000) % 60);
    twoDigits(this.#bytes, end - 7, Math.floor(ms / 1_000) % 60);
    this.#bytes[end - 4] = 48 + (Math.floor(ms / 100) % 10);
    twoDigits(this.#bytes, end - 3, ms % 100);
    return this.#bytes;
  }

  #begin(day: number): void {
    const midnight = new Date(day * DAY_MS);
    // An owner can put a time beyond all calendars into a row. Its hash cannot hold then.
    const text = Number.isNaN(midnight.getTime()) ? '00:00:00.000Z' : midnight.toISOString();
    this.#day = day;
    this.#bytes = Buffer.from(`\0\0\0\0${text}`, 'latin1');
    lengthBefore(this.#bytes, 4, text.length);
  }
}

function twoDigits(bytes: Buffer, at: number, value: number): void {
  const tens = Math.floor(value / 10);
  bytes[at] = 48 + tens;
  bytes[at + 1] = 48 + value - tens * 10;
}
