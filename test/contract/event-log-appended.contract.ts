import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Command, InvalidCommand } from '#domain/log';
import { hashOf } from '#event-log/chain';
import { canonicalJson } from '#events/canonical-json';
import { eventIdOf, slotOf, ZERO_HASH } from '#events/envelope';
import { command, decision, event, fresh, input } from '#support/log-builders';
import type { LogUnderTest } from './log-under-test.ts';

/** What is stored, byte by byte, and what is refused. */
export function appendedContract({ log, appendOne }: LogUnderTest): void {
  describe('what is appended', () => {
    test('is a row with dense versions, derived ids and a hash over all of it', async () => {
      const given = command({ events: [input('Seen'), decision('Decided'), input('Seen')] });
      const before = await log().head();

      const result = await appendOne(given);

      const rows = await log().readStream(given.stream, 0, 10);
      expect(result).toEqual({
        outcome: 'appended',
        firstPos: before.pos + 1,
        decisionVersion: 1,
        recordedAt: rows[0]?.recordedAt,
      });
      expect(rows.map((row) => [row.pos - before.pos, row.streamVersion, row.decisionVersion])).toEqual([
        [1, 1, 0],
        [2, 2, 1],
        [3, 3, 1],
      ]);
      expect(rows[1]).toEqual({
        pos: before.pos + 2,
        stream: given.stream,
        streamVersion: 2,
        decisionVersion: 1,
        eventId: eventIdOf(given.commandId, 1),
        commandId: given.commandId,
        commandIndex: 1,
        commandDigest: given.digest,
        type: 'Decided',
        schemaVersion: 1,
        role: 'decision',
        slot: slotOf(given.stream),
        occurredAt: given.occurredAt,
        recordedAt: rows[0]?.recordedAt,
        body: '{"note":"Decided"}',
        meta: '{"causedBy":null,"saw":0}',
        format: 1,
        prevHash: rows[0]?.hash,
        hash: rows[1] && hashOf(await log().logId(), rows[1]),
      });
      expect(rows[0]?.prevHash).toBe(before.pos === 0 ? ZERO_HASH : before.hash);
      expect(await log().head()).toEqual({ pos: before.pos + 3, hash: rows[2]?.hash });
    });

    test('keeps its order within a call, and later commands see earlier ones', async () => {
      const stream = fresh('stream');
      const results = await log().append([
        command({ stream, expected: 'new', events: [decision()] }),
        command({ stream, expected: 'new' }),
        command({ stream, expected: { decisionVersion: 1 }, events: [input(), decision()] }),
        command({ stream, expected: { decisionVersion: 1 } }),
        command({ stream, expected: { decisionVersion: 2 } }),
      ]);
      expect(results.map((result) => result.outcome)).toEqual([
        'appended',
        'wrong_version',
        'appended',
        'wrong_version',
        'appended',
      ]);
      expect((await log().readStream(stream, 0, 10)).map((row) => row.streamVersion)).toEqual([1, 2, 3, 4]);
    });

    test('nothing: a call without commands is answered at once', async () => {
      expect(await log().append([])).toEqual([]);
    });

    test('pitfall 10: bytes in are bytes out', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(awkwardJson(), { minLength: 1, maxLength: 5 }), async (values) => {
          const given = command({ events: values.map((value) => event('Odd', 'input', value)) });
          await appendOne(given);
          const rows = await log().readStream(given.stream, 0, 10);
          expect(rows.map((row) => row.body)).toEqual(values.map((value) => canonicalJson(value)));
          const logId = await log().logId();
          expect(rows.map((row) => row.hash)).toEqual(rows.map((row) => hashOf(logId, row)));
        }),
        { numRuns: 60 },
      );
    });

    test('ids, types and times keep their characters', async () => {
      const given = command({
        commandId: fresh('\u00e9\u{1f600}"\\{},'),
        stream: fresh('str\u{1f680}eam \\ "q" {a,b}'),
        digest: 'NULL',
        occurredAt: '0001-01-01T00:00:00.001Z',
        events: [event('Ty"pe, {NULL}')],
      });
      await appendOne(given);
      const [row] = await log().readStream(given.stream, 0, 1);
      expect(row).toMatchObject({
        stream: given.stream,
        commandId: given.commandId,
        commandDigest: 'NULL',
        occurredAt: '0001-01-01T00:00:00.001Z',
        type: 'Ty"pe, {NULL}',
      });
      expect(row && hashOf(await log().logId(), row)).toBe(row?.hash);
    });
  });

  describe('what can never be stored is refused, and its neighbours in the call with it', () => {
    test.each<[string, Partial<Command>]>([
      ['a NUL character in an id', { commandId: 'a\0b' }],
      ['half of a surrogate pair in an id', { commandId: 'a\ud800' }],
      ['an empty id', { commandId: '' }],
      ['an id over 200 characters', { commandId: 'a'.repeat(201) }],
      ['a NUL character in a stream', { stream: 'a\0' }],
      ['a body that is no JSON', { events: [event('A', 'input', { a: undefined })] }],
      ['half of a surrogate pair in a body', { events: [event('A', 'input', ['\udc00'])] }],
      ['a body over 256 KiB', { events: [event('A', 'input', 'x'.repeat(256 * 1024))] }],
      ['more than 64 events', { events: Array.from({ length: 65 }, () => input()) }],
      ['a day that does not exist', { occurredAt: '2026-02-30T10:00:00.000Z' }],
      ['a time in another form', { occurredAt: '2026-02-03T10:00:00Z' }],
      ['the year 0', { occurredAt: '0000-02-03T10:00:00.000Z' }],
      ['a broken expected version', { expected: { decisionVersion: -1 } }],
      ['a step back', { checkpoint: { consumer: 'c', partition: 0, from: 5, to: 4, hash: 'h' } }],
    ])('%s', async (_reason, change) => {
      const before = await log().head();
      await expect(log().append([command(), command(change)])).rejects.toBeInstanceOf(InvalidCommand);
      expect(await log().head()).toEqual(before);
    });

    test('at the bound it is stored', async () => {
      const given = command({
        commandId: fresh('x').padEnd(200, 'y'),
        digest: 'd'.repeat(200),
        events: Array.from({ length: 64 }, () => decision()),
      });
      expect(await appendOne(given)).toMatchObject({ outcome: 'appended', decisionVersion: 64 });
      expect(await appendOne(given)).toMatchObject({ outcome: 'duplicate', decisionVersion: 64 });
      const large = command({ events: [event('Large', 'input', 'x'.repeat(256 * 1024 - 2))] });
      expect(await appendOne(large)).toMatchObject({ outcome: 'appended' });
    });
  });
}

/** JSON that stores have been seen to change: numbers, digit strings, key order, escapes, surrogate pairs. */
function awkwardJson(): fc.Arbitrary<unknown> {
  const text = fc.oneof(
    fc.constantFrom(
      '1.10',
      '00012',
      '12345678901234567890',
      '\u0000',
      '\\u0000',
      '\ud83d\ude00',
      '"',
      '\\',
      'NULL',
      '{}',
    ),
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }).filter((value) => !/\p{Surrogate}/u.test(value)),
  );
  const number = fc.oneof(
    fc.constantFrom(-0, 1e21, 1e-7, 0.1 + 0.2, Number.MAX_SAFE_INTEGER, 5e-324, 1.1),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
  );
  return fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text,
      number,
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  })).value;
}
