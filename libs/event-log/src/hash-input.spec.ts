import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashOf, type Unhashed } from './chain.ts';
import { HashInput, InstantText } from './hash-input.ts';

/** Whole milliseconds of the years 0 to 9999, near one another more often than not. */
const instants = fc
  .tuple(
    fc.integer({ min: Date.parse('0000-01-01T00:00:00.000Z'), max: Date.parse('9999-12-31T23:59:59.999Z') }),
    fc.array(fc.integer({ min: -2_000, max: 100_000_000 }), { maxLength: 8 }),
  )
  .map(([first, steps]) => [first, ...steps.map((step) => Math.min(first + step, MAX_MS))]);
const MAX_MS = Date.parse('9999-12-31T23:59:59.999Z');

describe('the times of a column', () => {
  test('have the form of the log, whatever time was before them', () => {
    fc.assert(
      fc.property(instants, (all) => {
        const column = new InstantText();
        const texts = all.map((epochMs) => column.textOf(epochMs));
        expect(texts).toEqual(all.map((epochMs) => new Date(epochMs).toISOString()));
      }),
    );
  });

  test('keep the milliseconds of a time with microseconds', () => {
    expect(new InstantText().textOf(1_764_410_400_120.999)).toBe('2025-11-29T10:00:00.120Z');
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 9e18])(
    'have some text for %s, which is no time',
    (epochMs) => {
      expect(new InstantText().textOf(epochMs)).toHaveLength(13);
    },
  );
});

describe('a hash input', () => {
  const texts = fc.record({
    stream: fc.string({ unit: 'grapheme' }),
    body: fc.string({ unit: 'grapheme', maxLength: 2_000 }),
    meta: fc.string(),
  });
  const numbers = fc.record({
    pos: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    streamVersion: fc.integer(),
    decisionVersion: fc.nat(),
    commandIndex: fc.nat(999),
    slot: fc.nat(65_535),
    format: fc.nat(255),
  });

  test('gives the hash of the row, whatever row was before it', () => {
    const input = new HashInput('log');
    const columns = newColumns();
    fc.assert(
      fc.property(texts, numbers, instants, (text, number, times) => {
        const [occurredMs, recordedMs] = [times[0] ?? 0, times.at(-1) ?? 0];
        const row: Unhashed = {
          ...ROW,
          ...text,
          ...number,
          occurredAt: new Date(occurredMs).toISOString(),
          recordedAt: new Date(recordedMs).toISOString(),
        };
        expect(hashedBy(input, row, columns)).toBe(hashOf('log', row));
      }),
    );
  });

  test('has room for a row that is larger than all before', () => {
    const input = new HashInput('log');
    const row = { ...ROW, body: 'x'.repeat(300_000) };
    expect(hashedBy(input, row)).toBe(hashOf('log', row));
  });
});

const ROW: Unhashed = {
  pos: 12,
  stream: 'allocation-a',
  streamVersion: 3,
  decisionVersion: 2,
  eventId: 'event',
  commandId: 'command',
  commandIndex: 1,
  commandDigest: 'digest',
  type: 'Seen',
  schemaVersion: 1,
  role: 'decision',
  slot: 77,
  occurredAt: '2026-11-29T10:00:00.120Z',
  recordedAt: '2026-11-29T10:00:00.121Z',
  body: '{}',
  meta: '{}',
  format: 1,
  prevHash: '0'.repeat(64),
};

function newColumns() {
  return { occurredAt: new InstantText(), recordedAt: new InstantText() };
}

/** Written in the order in which the rows of a COPY are. */
function hashedBy(input: HashInput, row: Unhashed, columns = newColumns()): string {
  const bytes = textBytes(row);
  input.start(row.format, bytes.length);
  for (const value of numbersOf(row)) input.decimal(value);
  input.instant(columns.occurredAt, Date.parse(row.occurredAt));
  input.instant(columns.recordedAt, Date.parse(row.recordedAt));
  input.texts(bytes, 0, bytes.length);
  return input.hash();
}

function numbersOf(row: Unhashed): readonly number[] {
  const { pos, streamVersion, decisionVersion, commandIndex, schemaVersion, slot } = row;
  return [pos, streamVersion, decisionVersion, commandIndex, schemaVersion, slot];
}

/** The texts as they stand in a binary COPY. */
function textBytes(row: Unhashed): Buffer {
  const { stream, eventId, commandId, commandDigest, type, role, body, meta, prevHash } = row;
  return Buffer.concat(
    [stream, eventId, commandId, commandDigest, type, role, body, meta, prevHash].map((text) => {
      const bytes = Buffer.from(text);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return Buffer.concat([length, bytes]);
    }),
  );
}
