import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { type Command, InvalidCommand, type LeaseStep } from '#domain/log';
import { command, decision, fresh, input } from '#support/log-builders';
import { firstPosOf, type LogUnderTest } from './log-under-test.ts';

const LEASE_MS = 60_000;

/** Leases, facts under their fences, and appends that take a lease. */
export function leasesContract({ log, appendOne }: LogUnderTest): void {
  const step = (lease: string, holder: string, from: number): LeaseStep => {
    return { lease, holder, from, forMs: LEASE_MS };
  };

  describe('leases', () => {
    test('one holder at a time; each taking raises the fence', async () => {
      const name = fresh('lease');
      expect(await log().leases.take(name, 'a', LEASE_MS)).toMatchObject({ name, fence: 1, holder: 'a' });
      expect(await log().leases.take(name, 'b', LEASE_MS)).toBeNull();
      expect(await log().leases.renew(name, 1, LEASE_MS)).toBe(true);
      expect(await log().leases.take(name, 'a', LEASE_MS)).toMatchObject({ fence: 2 });
      expect(await log().leases.renew(name, 1, LEASE_MS)).toBe(false);
      expect(await log().leases.release(name, 1)).toBe(false);
      expect(await log().leases.release(name, 2)).toBe(true);
      expect(await log().leases.renew(name, 2, LEASE_MS)).toBe(false);
      expect(await log().leases.take(name, 'b', LEASE_MS)).toMatchObject({ fence: 3, holder: 'b' });
    });

    test('an ended lease is free and cannot be renewed', async () => {
      const name = fresh('lease');
      await log().leases.take(name, 'a', 1);
      await vi.waitFor(async () => {
        expect(await log().leases.take(name, 'b', LEASE_MS)).toMatchObject({ fence: 2 });
      });
      expect(await log().leases.renew(name, 1, LEASE_MS)).toBe(false);
    });

    test('run on the store\u2019s clock, which it tells in UTC with milliseconds', async () => {
      const name = fresh('lease');
      const before = await log().leases.clock();
      const taken = await log().leases.take(name, 'a', LEASE_MS);
      const stepped = fresh('lease');
      await appendOne(command({ lease: step(stepped, 'a', 0) }));
      const after = await log().leases.clock();

      for (const told of [before, after]) expect(told).toBe(new Date(told).toISOString());
      // A time of the store may be rounded to its millisecond where the clock is cut off.
      const [least, most] = [Date.parse(before) + LEASE_MS - 1, Date.parse(after) + LEASE_MS + 1];
      for (const lease of [taken, await log().leases.read(stepped)]) {
        expect(Date.parse(lease?.until ?? '')).toBeGreaterThanOrEqual(least);
        expect(Date.parse(lease?.until ?? '')).toBeLessThanOrEqual(most);
      }
    });
  });

  describe('a fact under a fence', () => {
    test('is refused once the lease was taken again', async () => {
      const name = fresh('lease');
      await log().leases.take(name, 'a', LEASE_MS);
      const given = command({ fence: { lease: name, fence: 1 } });
      expect(await appendOne(given)).toMatchObject({ outcome: 'appended' });
      await log().leases.take(name, 'a', LEASE_MS);
      expect(await appendOne({ ...given, commandId: fresh('late') })).toEqual({ outcome: 'fenced' });
      expect(await appendOne(command({ fence: { lease: name, fence: 2 } }))).toMatchObject({
        outcome: 'appended',
      });
      expect(await appendOne(command({ fence: { lease: fresh('no lease'), fence: 0 } }))).toEqual({
        outcome: 'fenced',
      });
    });

    test('is a duplicate when it was recorded in time, though the fence has moved on since', async () => {
      const name = fresh('lease');
      await log().leases.take(name, 'a', LEASE_MS);
      const given = command({ events: [decision(), input()], fence: { lease: name, fence: 1 } });
      const first = await appendOne(given);
      await log().leases.take(name, 'a', LEASE_MS);
      expect(await appendOne(given)).toEqual({ ...first, outcome: 'duplicate' });
      expect(await appendOne({ ...given, digest: 'other' })).toEqual({ outcome: 'fenced' });
      expect(await log().readStream(given.stream, 0, 10)).toHaveLength(2);
    });

    test('moves the checkpoint when it is a duplicate, so that a consumer set back does not stand still', async () => {
      const [name, consumer] = [fresh('lease'), fresh('consumer')];
      await log().leases.take(name, 'a', LEASE_MS);
      const given = command({ fence: { lease: name, fence: 1 } });
      await appendOne(given);
      await log().leases.take(name, 'a', LEASE_MS);
      await log().checkpoints.ensure(consumer, { index: 0, count: 1 });
      const { pos, hash } = await log().head();
      const checkpoint = { consumer, partition: 0, from: 0, to: pos, hash };
      expect(await appendOne({ ...given, checkpoint })).toMatchObject({ outcome: 'duplicate' });
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(pos);
    });
  });

  describe('an append that takes a lease', () => {
    test('makes its row, and its facts go in under the new fence', async () => {
      const stream = fresh('allocation');
      const given = command({ stream, events: [decision()], lease: step(stream, 'a', 0) });
      expect(await appendOne(given)).toMatchObject({ outcome: 'appended', decisionVersion: 1 });
      expect(await log().leases.read(stream)).toMatchObject({ name: stream, fence: 1, holder: 'a' });
      expect(await appendOne(command({ stream, fence: { lease: stream, fence: 1 } }))).toMatchObject({
        outcome: 'appended',
      });
      expect(await log().leases.renew(stream, 1, LEASE_MS)).toBe(true);
      expect(await log().leases.take(stream, 'b', LEASE_MS)).toBeNull();
    });

    test.each<[string, (name: string) => Promise<unknown>, string]>([
      [
        'one that was given back',
        async (name) => {
          await log().leases.take(name, 'b', LEASE_MS);
          await log().leases.release(name, 1);
        },
        'a',
      ],
      ['the holder\u2019s own, before its end', (name) => log().leases.take(name, 'a', LEASE_MS), 'a'],
    ])('takes %s, and the old fence is refused from then on', async (_which, prepare, holder) => {
      const name = fresh('lease');
      await prepare(name);
      expect(await appendOne(command({ lease: step(name, holder, 1) }))).toMatchObject({
        outcome: 'appended',
      });
      expect(await log().leases.read(name)).toMatchObject({ fence: 2, holder });
      expect(await appendOne(command({ fence: { lease: name, fence: 1 } }))).toEqual({ outcome: 'fenced' });
      expect(await log().leases.renew(name, 1, LEASE_MS)).toBe(false);
      expect(await appendOne(command({ fence: { lease: name, fence: 2 } }))).toMatchObject({
        outcome: 'appended',
      });
    });

    test('takes one that has ended, from its end on', async () => {
      const name = fresh('lease');
      await appendOne(command({ lease: { ...step(name, 'b', 0), forMs: 1 } }));
      await vi.waitFor(async () => {
        expect(await appendOne(command({ lease: step(name, 'a', 1) }))).toMatchObject({
          outcome: 'appended',
        });
      });
      expect(await log().leases.read(name)).toMatchObject({ fence: 2, holder: 'a' });
    });

    test.each<[string, readonly string[], LeaseStep]>([
      ['another holds it', ['b'], step('', 'a', 1)],
      ['it was taken once more since', ['a', 'a'], step('', 'a', 1)],
      ['the fence is ahead of the row', ['a'], step('', 'a', 2)],
      ['the row is there already', ['a'], step('', 'a', 0)],
      ['there is no row of that fence', [], step('', 'a', 1)],
    ])('is fenced when %s, and nothing is written', async (_reason, takenBy, given) => {
      const name = fresh('lease');
      for (const holder of takenBy) await log().leases.take(name, holder, LEASE_MS);
      const before = await log().leases.read(name);
      const consumer = fresh('consumer');
      await log().checkpoints.ensure(consumer, { index: 0, count: 1 });
      await appendOne(command());
      const head = await log().head();
      const refused = command({
        lease: { ...given, lease: name },
        events: [decision(), input()],
        allocation: { status: 'tracking', openQuestion: null, questionExpiresAt: null },
        mark: { instance: 'i-1', observedAt: '2026-11-29T10:00:00.000Z' },
        ringKeyId: 'ring-1',
        checkpoint: { consumer, partition: 0, from: 0, to: head.pos, hash: head.hash },
      });

      expect(await appendOne(refused)).toEqual({ outcome: 'fenced' });

      expect(await log().head()).toEqual(head);
      expect(await log().leases.read(name)).toEqual(before);
      expect(await log().allocations.get(refused.stream)).toBeNull();
      expect(await log().marks.of(refused.stream)).toEqual([]);
      expect(await log().sealed.ringKeyOf(refused.stream)).toBeNull();
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(0);
    });

    test('takes nothing when it is refused for its version or its id', async () => {
      const known = command();
      await appendOne(known);
      const name = fresh('lease');
      const lease = step(name, 'a', 0);
      const wrong = command({ expected: { decisionVersion: 9 }, lease });
      expect(await appendOne(wrong)).toMatchObject({ outcome: 'wrong_version' });
      expect(await appendOne({ ...known, digest: 'other', lease })).toMatchObject({ outcome: 'id_conflict' });
      expect(await log().leases.read(name)).toBeNull();
    });

    test('is checked behind the checkpoint, before id and version', async () => {
      const known = command();
      await appendOne(known);
      const lease = step(fresh('lease'), 'a', 7);
      const wrong = { ...known, digest: 'other', expected: 'new' as const, lease };
      const checkpoint = { consumer: fresh('unknown'), partition: 0, from: 0, to: 1, hash: 'f'.repeat(64) };
      expect((await appendOne({ ...wrong, checkpoint })).outcome).toBe('stale_consumer');
      expect((await appendOne(wrong)).outcome).toBe('fenced');
      expect((await appendOne({ ...wrong, commandId: fresh('new') })).outcome).toBe('fenced');
    });

    test('of two holders that race for one step, one wins', async () => {
      const stream = fresh('allocation');
      const racers = ['a', 'b', 'c', 'd', 'e', 'f'];
      for (const from of [0, 1, 2]) {
        const results = await Promise.all(
          racers.map((holder) => appendOne(command({ stream, lease: step(stream, holder, from) }))),
        );
        const winners = racers.filter((_, index) => results[index]?.outcome === 'appended');
        expect(results.filter(({ outcome }) => outcome === 'fenced')).toHaveLength(racers.length - 1);
        expect(await log().leases.read(stream)).toMatchObject({ fence: from + 1, holder: winners[0] });
        await log().leases.release(stream, from + 1);
      }
      expect(await log().readStream(stream, 0, 10)).toHaveLength(3);
    });

    test('is seen by the later commands of its call', async () => {
      const name = fresh('lease');
      const taking = command({ lease: step(name, 'a', 0) });
      const results = await log().append([
        taking,
        command({ fence: { lease: name, fence: 1 } }),
        command({ lease: step(name, 'b', 0) }),
        command({ lease: step(name, 'b', 1) }),
        taking,
        { ...taking, digest: 'other' },
        command({ fence: { lease: name, fence: 1 }, lease: step(name, 'a', 1) }),
        command({ fence: { lease: name, fence: 1 } }),
      ]);
      expect(results.map(({ outcome }) => outcome)).toEqual([
        'appended',
        'appended',
        'fenced',
        'fenced',
        'duplicate',
        'fenced',
        'appended',
        'fenced',
      ]);
      expect(await log().leases.read(name)).toMatchObject({ fence: 2, holder: 'a' });
    });

    test('needs its fence and its step both to hold', async () => {
      const [held, other] = [fresh('lease'), fresh('lease')];
      await log().leases.take(held, 'a', LEASE_MS);
      const stale = command({ fence: { lease: held, fence: 9 }, lease: step(other, 'a', 0) });
      expect(await appendOne(stale)).toEqual({ outcome: 'fenced' });
      expect(await log().leases.read(other)).toBeNull();
      const taken = command({ fence: { lease: held, fence: 1 }, lease: step(held, 'b', 1) });
      expect(await appendOne(taken)).toEqual({ outcome: 'fenced' });
      const whole = command({ fence: { lease: held, fence: 1 }, lease: step(other, 'a', 0) });
      expect(await appendOne(whole)).toMatchObject({ outcome: 'appended' });
      expect(await log().leases.read(other)).toMatchObject({ fence: 1, holder: 'a' });
    });

    test('sent again after a lost reply is a duplicate, and takes nothing again', async () => {
      const stream = fresh('allocation');
      const given = command({
        stream,
        expected: 'new',
        events: [input(), decision()],
        lease: step(stream, 'a', 0),
      });
      const first = await appendOne(given);
      const taken = await log().leases.read(stream);
      expect(await appendOne(given)).toEqual({ ...first, outcome: 'duplicate' });
      expect(await log().leases.read(stream)).toEqual(taken);

      // It tells what was recorded also when another has taken over: the holder learns that from its next fact.
      await log().leases.release(stream, 1);
      await appendOne(command({ stream, lease: step(stream, 'b', 1) }));
      expect(await appendOne(given)).toEqual({ ...first, outcome: 'duplicate' });
      expect(await appendOne({ ...given, digest: 'other' })).toEqual({ outcome: 'fenced' });
      expect(await log().leases.read(stream)).toMatchObject({ fence: 2, holder: 'b' });
      expect(await log().readStream(stream, 0, 10)).toHaveLength(3);
    });

    test('without events leaves no trace of its own: sent again it is fenced, and the row tells the holder', async () => {
      const given = command({ events: [], lease: step(fresh('lease'), 'a', 0) });
      expect(await appendOne(given)).toMatchObject({ outcome: 'appended', firstPos: 0 });
      expect(await appendOne(given)).toEqual({ outcome: 'fenced' });
      expect(await log().leases.read(given.lease?.lease ?? '')).toMatchObject({ fence: 1, holder: 'a' });
    });

    test.each<[string, Partial<LeaseStep>]>([
      ['no name', { lease: '' }],
      ['no holder', { holder: '' }],
      ['a holder with a NUL character', { holder: 'a\0' }],
      ['a negative fence', { from: -1 }],
      ['half a fence', { from: 0.5 }],
      ['no time', { forMs: 0 }],
      ['half a millisecond', { forMs: 1.5 }],
      ['more than 24 h', { forMs: 24 * 60 * 60 * 1000 + 1 }],
    ])('is refused with %s', async (_reason, change) => {
      const given: Command = command({ lease: { ...step(fresh('lease'), 'a', 0), ...change } });
      await expect(log().append([given])).rejects.toBeInstanceOf(InvalidCommand);
      expect(await log().readStream(given.stream, 0, 1)).toEqual([]);
    });

    test('for 24 h is taken', async () => {
      const lease = { ...step(fresh('lease'), 'a', 0), forMs: 24 * 60 * 60 * 1000 };
      expect(firstPosOf(await appendOne(command({ lease })))).toBeGreaterThan(0);
    });
  });

  test('whatever the holders do, a fence is given once, never falls, and is all that lets a fact in', async () => {
    const holder = fc.constantFrom('a', 'b');
    // Mostly the fence of the row, sometimes one beside it.
    const off = fc.constantFrom(0, 0, 0, -1, 1);
    const move = fc.oneof(
      fc.record({ kind: fc.constant('step' as const), holder, off }),
      fc.record({ kind: fc.constant('take' as const), holder, off }),
      fc.record({ kind: fc.constant('release' as const), holder, off }),
      fc.record({ kind: fc.constant('renew' as const), holder, off }),
      fc.record({ kind: fc.constant('fact' as const), holder, off }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 1, maxLength: 25 }), async (moves) => {
        const name = fresh('lease');
        let row: { fence: number; holder: string | null } = { fence: 0, holder: null };
        for (const { kind, holder, off } of moves) {
          const fence = Math.max(0, row.fence + off);
          const isFree = row.holder === null || row.holder === holder;
          const isOwn = fence === row.fence && row.holder !== null;
          switch (kind) {
            case 'step': {
              const isTaken = isFree && fence === row.fence;
              const { outcome } = await appendOne(command({ lease: step(name, holder, fence) }));
              expect(outcome).toBe(isTaken ? 'appended' : 'fenced');
              if (isTaken) row = { fence: row.fence + 1, holder };
              break;
            }
            case 'take': {
              const taken = await log().leases.take(name, holder, LEASE_MS);
              expect(taken?.fence).toBe(isFree ? row.fence + 1 : undefined);
              if (isFree) row = { fence: row.fence + 1, holder };
              break;
            }
            case 'release':
              expect(await log().leases.release(name, fence)).toBe(isOwn);
              if (isOwn) row = { ...row, holder: null };
              break;
            case 'renew':
              expect(await log().leases.renew(name, fence, LEASE_MS)).toBe(isOwn);
              break;
            case 'fact': {
              const { outcome } = await appendOne(command({ fence: { lease: name, fence } }));
              expect(outcome).toBe(fence === row.fence && fence > 0 ? 'appended' : 'fenced');
            }
          }
        }
        const stored = await log().leases.read(name);
        if (row.fence === 0) expect(stored).toBeNull();
        else expect(stored).toMatchObject(row);
      }),
      { numRuns: 25 },
    );
  });
}
