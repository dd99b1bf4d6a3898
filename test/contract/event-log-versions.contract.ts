import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifyLog } from '#event-log/verify';
import { eventIdOf } from '#events/envelope';
import { command, decision, fresh, input } from '#support/log-builders';
import { firstPosOf, type LogUnderTest } from './log-under-test.ts';

/** Expected versions and repeats, alone and at once. */
export function versionsContract({ log, appendOne }: LogUnderTest): void {
  describe('versions', () => {
    test('pitfall 7: "new" is refused once the stream has any event', async () => {
      const stream = fresh('stream');
      expect(await appendOne(command({ stream, expected: 'new' }))).toMatchObject({ outcome: 'appended' });
      expect(await appendOne(command({ stream, expected: 'new' }))).toEqual({
        outcome: 'wrong_version',
        decisionVersion: 0,
      });
    });

    test('inputs do not move the decision version', async () => {
      const stream = fresh('stream');
      await appendOne(command({ stream, events: [decision()] }));
      await log().append([command({ stream }), command({ stream }), command({ stream })]);
      expect(
        await appendOne(command({ stream, expected: { decisionVersion: 1 }, events: [decision()] })),
      ).toEqual(expect.objectContaining({ outcome: 'appended', decisionVersion: 2 }));
    });

    test('a stream that does not exist has decision version 0 for a command, and null for a reader', async () => {
      const stream = fresh('stream');
      expect(await log().decisionVersion(stream)).toBeNull();
      expect(await appendOne(command({ stream, expected: { decisionVersion: 1 } }))).toEqual({
        outcome: 'wrong_version',
        decisionVersion: 0,
      });
      expect(await appendOne(command({ stream, expected: { decisionVersion: 0 } }))).toMatchObject({
        outcome: 'appended',
      });
      expect(await log().decisionVersion(stream)).toBe(0);
    });

    test('of many writers with one exact version, one is told success and the log is dense', async () => {
      const stream = fresh('stream');
      const before = (await log().head()).pos;
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, async (_, writer) => {
          const expected = writer % 2 === 0 ? 'any' : { decisionVersion: 0 };
          return appendOne(command({ stream, expected, events: [writer % 2 === 0 ? input() : decision()] }));
        }),
      );

      const acked = outcomes.filter((result) => result.outcome === 'appended');
      expect(acked).toHaveLength(21);
      const rows = await log().readStream(stream, 0, 100);
      expect(rows.map((row) => row.streamVersion)).toEqual(rows.map((_, index) => index + 1));
      expect(rows.map((row) => row.pos)).toEqual(rows.map((_, index) => before + 1 + index));
      expect(acked.map(firstPosOf).sort((a, b) => a - b)).toEqual(rows.map((row) => row.pos));
    });

    test('any mix of writers: acked = stored = dense, and no version is given twice', async () => {
      const writes = fc.record({
        stream: fc.nat(2),
        exact: fc.boolean(),
        decisions: fc.nat(2),
        inputs: fc.nat(2),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(writes, { minLength: 2, maxLength: 30 }), async (plan) => {
          const streams = [fresh('stream'), fresh('stream'), fresh('stream')];
          const results = await Promise.all(
            plan.map(async (write) => {
              const stream = streams[write.stream] ?? '';
              const seen = (await log().decisionVersion(stream)) ?? 0;
              const events = [
                ...Array.from({ length: write.inputs }, () => input()),
                ...Array.from({ length: write.decisions }, () => decision()),
                input('Last'),
              ];
              const given = command({
                stream,
                events,
                expected: write.exact ? { decisionVersion: seen } : 'any',
              });
              return { given, seen, result: await appendOne(given) };
            }),
          );
          const acked = results.filter(({ result }) => result.outcome === 'appended');
          const stored = (
            await Promise.all(streams.map((stream) => log().readStream(stream, 0, 1000)))
          ).flat();
          expect(stored).toHaveLength(acked.reduce((sum, { given }) => sum + given.events.length, 0));
          for (const { given, result } of acked) {
            expect((await log().byEventId(eventIdOf(given.commandId, 0)))?.pos).toBe(firstPosOf(result));
          }
          const exact = acked.filter(
            ({ given }) =>
              given.expected !== 'any' && given.events.some(({ event: { role } }) => role === 'decision'),
          );
          const claims = exact.map(({ given, seen }) => `${given.stream} ${seen}`);
          expect(new Set(claims).size).toBe(claims.length);
        }),
        { numRuns: 15 },
      );
      expect(await verifyLog(log())).toMatchObject({ ok: true });
    });
  });

  describe('repeats', () => {
    test('the same command again is a duplicate with its first position', async () => {
      const given = command({ events: [input(), decision(), input()] });
      const first = await appendOne(given);
      await appendOne(command({ stream: given.stream, events: [decision()] }));
      expect(await appendOne(given)).toEqual({ ...first, outcome: 'duplicate' });
      expect(await log().readStream(given.stream, 0, 10)).toHaveLength(4);
    });

    test('a duplicate is told before the version is looked at', async () => {
      const given = command({ expected: 'new' });
      await appendOne(given);
      expect(await appendOne(given)).toMatchObject({ outcome: 'duplicate' });
    });

    test('pitfall 6: the same id with other content is a conflict, never a silent success', async () => {
      const given = command();
      const result = await appendOne(given);
      expect(await appendOne({ ...given, digest: 'of something else', stream: fresh('other') })).toEqual({
        outcome: 'id_conflict',
        firstPos: firstPosOf(result),
      });
    });

    test('both are seen within one call', async () => {
      const given = command({ events: [decision()] });
      const [first, second, third] = await log().append([given, given, { ...given, digest: 'other' }]);
      expect(first).toMatchObject({ outcome: 'appended' });
      expect(second).toEqual({ ...first, outcome: 'duplicate' });
      expect(third).toEqual({ outcome: 'id_conflict', firstPos: first && firstPosOf(first) });
    });

    test('sent at once by many, it is recorded once', async () => {
      const given = command({ events: [decision(), input()] });
      const results = await Promise.all(Array.from({ length: 12 }, () => appendOne(given)));
      expect(results.filter((result) => result.outcome === 'appended')).toHaveLength(1);
      expect(new Set(results.map((result) => 'firstPos' in result && result.firstPos)).size).toBe(1);
      expect(await log().readStream(given.stream, 0, 10)).toHaveLength(2);
    });
  });
}
