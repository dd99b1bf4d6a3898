import { describe, expect, test } from 'vitest';
import { verifyLog } from '#event-log/verify';
import { command, fresh } from '#support/log-builders';
import type { LogUnderTest } from './log-under-test.ts';

/** What a command carries beside its events, and the rows beside the log. */
export function besideContract({ log, appendOne }: LogUnderTest): void {
  describe('beside the events', () => {
    const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);
    const key = (keyId: string) => ({
      keyId,
      wrappedBy: 'wrap-1',
      nonce: bytes(0, 1, 255),
      wrapped: bytes(9, 0, 8),
    });
    const text = (keyId: string, digest: string, expiresAt: string | null = null) => ({
      digest,
      kind: 'failure' as const,
      keyId,
      nonce: bytes(1, 2, 3),
      ciphertext: bytes(0, 200, 255, 10),
      expiresAt,
    });
    // A driver gives Buffers, which are equal to other byte arrays only as plain arrays.
    const asPlain = (rows: readonly { row: object; key: object | null }[]): unknown =>
      rows.map(({ row, key: of }) => ({ row: withArrays(row), key: of && withArrays(of) }));
    const withArrays = (row: object): object =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, value instanceof Uint8Array ? [...value] : value]),
      );

    test('sealed texts and their key are stored once, and read together', async () => {
      const keyId = fresh('key');
      const given = command({
        ringKeyId: 'ring-1',
        recordKey: key(keyId),
        sealed: [text(keyId, 'd1'), text(keyId, 'd2')],
      });
      await appendOne(given);
      await appendOne(
        command({
          stream: given.stream,
          ringKeyId: 'ring-2',
          sealed: [{ ...text(keyId, 'd1'), ciphertext: bytes(1) }],
        }),
      );
      expect(asPlain(await log().sealed.find(given.stream, 'd1'))).toEqual(
        asPlain([{ row: text(keyId, 'd1'), key: key(keyId) }]),
      );
      expect(await log().sealed.ofStream(given.stream)).toHaveLength(2);
      expect(await log().sealed.ringKeyOf(given.stream)).toBe('ring-1');
      expect((await log().sealed.keysOf(given.stream)).map((row) => row.keyId)).toEqual([keyId]);
      const inUse = await log().sealed.keyIdsInUse();
      expect(inUse.ring).toContain('ring-1');
      expect(inUse.ring).not.toContain('ring-2');
      expect(inUse.wrapping).toContain('wrap-1');
    });

    test('erasing destroys keys and texts and leaves the log verifiable', async () => {
      const keyId = fresh('key');
      const given = command({ recordKey: key(keyId), sealed: [text(keyId, 'd1')] });
      await appendOne(given);
      expect(await log().sealed.erase(given.stream)).toEqual({ keys: 1, texts: 1 });
      expect(await log().sealed.find(given.stream, 'd1')).toEqual([]);
      expect(await log().sealed.keysOf(given.stream)).toEqual([]);
      expect(await verifyLog(log())).toMatchObject({ ok: true });
    });

    test('a person\u2019s key can be destroyed alone; a text whose key is gone is read without one', async () => {
      const person = fresh('person');
      const given = command({ sealed: [text(person, 'd1')] });
      await log().sealed.addKey(fresh('persons'), key(person));
      await appendOne(given);
      expect((await log().sealed.find(given.stream, 'd1'))[0]?.key?.keyId).toBe(person);
      expect(await log().sealed.eraseKey(person)).toEqual({ keys: 1, texts: 1 });
      await appendOne(command({ stream: given.stream, sealed: [text(person, 'd3')] }));
      expect((await log().sealed.find(given.stream, 'd3'))[0]?.key).toBeNull();
    });

    test('a key is re-wrapped once', async () => {
      const keyId = fresh('key');
      const stream = fresh('stream');
      await log().sealed.addKey(stream, key(keyId));
      const to = { wrappedBy: 'wrap-2', nonce: bytes(5), wrapped: bytes(6) };
      const others = async () => [
        (await log().sealed.wrappedOtherwise('wrap-2', 10_000)).find(({ key }) => key.keyId === keyId),
        await log().sealed.countWrappedOtherwise('wrap-2'),
      ];
      const [other, count] = await others();
      expect(other).toMatchObject({ stream, key: { keyId, wrappedBy: 'wrap-1' } });
      expect(await log().sealed.wrappedOtherwise('wrap-2', 0)).toEqual([]);
      expect(await log().sealed.rewrap(keyId, 'wrap-1', to)).toBe(true);
      expect(await others()).toEqual([undefined, Number(count) - 1]);
      expect(await log().sealed.rewrap(keyId, 'wrap-1', to)).toBe(false);
    });

    test('texts whose retention has ended are dropped, in bounded numbers', async () => {
      const keyId = fresh('key');
      const old = '2001-01-01T00:00:00.000Z';
      const later = '2101-01-01T00:00:00.000Z';
      const given = command({
        sealed: [text(keyId, 'd1', old), text(keyId, 'd2', old), text(keyId, 'd3', later)],
      });
      await appendOne(given);
      expect(await log().sealed.dropExpired(1)).toBe(1);
      expect(await log().sealed.dropExpired(10)).toBe(1);
      expect((await log().sealed.ofStream(given.stream)).map(({ row }) => row.digest)).toEqual(['d3']);
    });

    test('a mark moves forward only, also without an event', async () => {
      const stream = fresh('stream');
      const at = (observedAt: string) =>
        command({ stream, events: [], mark: { instance: 'i-1', observedAt } });
      await appendOne(at('2026-11-29T10:00:01.000Z'));
      await appendOne(at('2026-11-29T10:00:00.000Z'));
      expect(await log().marks.of(stream)).toEqual([
        { instance: 'i-1', observedAt: '2026-11-29T10:00:01.000Z' },
      ]);
      await appendOne(at('2026-11-29T10:00:02.000Z'));
      expect(await log().marks.of(stream)).toEqual([
        { instance: 'i-1', observedAt: '2026-11-29T10:00:02.000Z' },
      ]);
      expect(await log().decisionVersion(stream)).toBeNull();
    });
  });

  describe('rows beside the log', () => {
    test('parked streams keep their first position until they are cleared', async () => {
      const consumer = fresh('consumer');
      await log().parked.park({ consumer, stream: 's', firstPos: 7, reason: 'poison', tries: 3 });
      await log().parked.park({ consumer, stream: 's', firstPos: 9, reason: 'deadline', tries: 1 });
      expect(await log().parked.find(consumer, 's')).toMatchObject({
        firstPos: 7,
        reason: 'deadline',
        tries: 3,
        state: 'parked',
      });
      expect(await log().parked.mark(consumer, 's', 'requeued')).toBe(true);
      expect((await log().parked.list(consumer)).map(({ state }) => state)).toEqual(['requeued']);
      await log().parked.parkAgain({ consumer, stream: 's', firstPos: 9, reason: 'deadline', tries: 1 });
      expect(await log().parked.find(consumer, 's')).toMatchObject({
        firstPos: 9,
        tries: 1,
        state: 'parked',
      });
      await log().parked.clear(consumer, 's');
      expect(await log().parked.find(consumer, 's')).toBeNull();
      await log().parked.parkAgain({ consumer, stream: 's', firstPos: 9, reason: 'poison', tries: 1 });
      expect(await log().parked.find(consumer, 's')).toBeNull();
      expect(await log().parked.mark(consumer, 's', 'skipped')).toBe(false);
    });

    test('tries count up by position and are forgotten behind the checkpoint', async () => {
      const consumer = fresh('consumer');
      expect(await log().tries.count(consumer, 0, 5)).toBe(1);
      expect(await log().tries.count(consumer, 0, 5)).toBe(2);
      expect(await log().tries.count(consumer, 0, 6)).toBe(1);
      await log().tries.clear(consumer, 0, 5);
      expect(await log().tries.count(consumer, 0, 5)).toBe(1);
      expect(await log().tries.count(consumer, 0, 6)).toBe(2);
    });

    test('a refused message leaves one dead letter, however often it comes', async () => {
      const id = fresh('dead');
      const before = await log().deadLetters.count();
      const letter = {
        id,
        subject: 'in.attempt',
        idDigest: null,
        bodyDigest: 'b'.repeat(64),
        sizeBytes: 12,
        problem: '{"status":400}',
      };
      await log().deadLetters.add(letter);
      await log().deadLetters.add({ ...letter, problem: '{}' });
      expect(await log().deadLetters.count()).toBe(before + 1);
      expect((await log().deadLetters.list(100)).find((row) => row.id === id)).toMatchObject(letter);
    });
  });
}
