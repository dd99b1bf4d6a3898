import { hash } from 'node:crypto';

const DAY_MS = 86_400_000;

/** Writes the hash input of one row after the other into the same memory (design 5; the form is that of `hashOf`). */
export class HashInput {
  readonly #logId: Buffer;
  #bytes: Buffer<ArrayBuffer> = Buffer.alloc(0);
  #length = 0;

  constructor(logId: string) {
    const text = Buffer.from(logId);
    this.#logId = Buffer.alloc(4 + text.length);
    this.#logId.writeUInt32BE(text.length);
    text.copy(this.#logId, 4);
    this.#grow(64 * 1024);
  }

  start(format: number, rowBytes: number): void {
    // Numbers and times grow as text, by less than this.
    const most = rowBytes + this.#logId.length + 512;
    if (most > this.#bytes.length) this.#grow(most * 2);
    this.#bytes[0] = format;
    this.#length = 1 + this.#logId.length;
  }

  #grow(length: number): void {
    this.#bytes = Buffer.allocUnsafe(length);
    // Every row begins with it, so it is written once.
    this.#logId.copy(this.#bytes, 1);
  }

  /** Fields that stand in the row as they stand in the hash input. */
  texts(source: Buffer, from: number, to: number): void {
    source.copy(this.#bytes, this.#length, from, to);
    this.#length += to - from;
  }

  /** A whole number in its decimal form. */
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

  /** A time in the log's form; `column` remembers the one before. */
  instant(column: InstantText, epochMs: number): void {
    const from = column.of(epochMs);
    const bytes = this.#bytes;
    const start = this.#length;
    // Byte by byte: for so few a call of the runtime costs more.
    for (let index = 0; index < from.length; index++) bytes[start + index] = from[index] ?? 0;
    this.#length = start + from.length;
  }

  /** SHA-256 of what was written since `start`, in hex digits. */
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

/** The times of one column in the log's form: most often the day, and often the time, is that of the row before. */
export class InstantText {
  #day = Number.NaN;
  #epochMs = Number.NaN;
  #text: string | null = null;
  #bytes: Buffer<ArrayBuffer> = Buffer.alloc(0);

  /** The text of a time in milliseconds since 1970. */
  textOf(epochMs: number): string {
    const bytes = this.of(epochMs);
    this.#text ??= bytes.toString('latin1', 4);
    return this.#text;
  }

  /** The same with its length before it, in four bytes. Valid until the next call. */
  of(epochMs: number): Buffer {
    if (epochMs === this.#epochMs) return this.#bytes;
    const day = Math.floor(epochMs / DAY_MS);
    if (day !== this.#day) this.#begin(day);
    this.#epochMs = epochMs;
    this.#text = null;
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
