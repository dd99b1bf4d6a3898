import { describe, expect, test } from 'vitest';
import { type AllocationRow, type Command, InvalidCommand, type PlacementRow } from '#domain/log';
import type { AllocationFilter } from '#domain/log-tables';
import { command, decision, fresh, input } from '#support/log-builders';
import { firstPosOf, type LogUnderTest } from './log-under-test.ts';

const RECORD: AllocationRow = { status: 'tracking', openQuestion: null, questionExpiresAt: null };
const PLACEMENT: PlacementRow = {
  outcome: 'requested',
  reason: null,
  lane: null,
  instance: null,
  openIntent: null,
  needsWorker: false,
  wakeAt: null,
  retryAt: null,
  bills: false,
  alerts: 0,
};
const ASKED: AllocationRow = {
  status: 'awaiting-consent',
  openQuestion: 'q1',
  questionExpiresAt: '2026-11-30T10:00:00.120Z',
};
const PLACING: PlacementRow = {
  outcome: 'waiting',
  reason: 'listing_failed',
  lane: 'terminal',
  instance: 'pod-7',
  openIntent: 'intent-2',
  needsWorker: true,
  wakeAt: '2026-11-30T10:00:00.121Z',
  retryAt: '2026-11-30T10:00:00.122Z',
  bills: true,
  alerts: 2,
};

const NOON = '2026-11-29T12:00:00.000Z';
const BEFORE_NOON = '2026-11-29T11:59:59.999Z';

/** The candidate list's row of an allocation, in its two halves, and what a pass looks for in it. */
export function allocationsContract({ log, appendOne }: LogUnderTest): void {
  describe('the allocation row', () => {
    test('holds each half as it was given last, with the version and position of the last writer', async () => {
      const stream = fresh('allocation');
      await appendOne(command({ stream, events: [decision()], allocation: RECORD }));
      expect(await log().allocations.get(stream)).toMatchObject({ record: RECORD, placement: null });

      const placed = await appendOne(command({ stream, events: [decision()], placement: PLACING }));
      expect(await log().allocations.get(stream)).toEqual({
        stream,
        decisionVersion: 2,
        pos: firstPosOf(placed),
        record: RECORD,
        placement: PLACING,
      });

      const asked = await appendOne(command({ stream, events: [decision(), input()], allocation: ASKED }));
      expect(await log().allocations.get(stream)).toEqual({
        stream,
        decisionVersion: 3,
        pos: firstPosOf(asked) + 1,
        record: ASKED,
        placement: PLACING,
      });
    });

    test('is left as it is by a command without a half', async () => {
      const stream = fresh('allocation');
      const both = await appendOne(
        command({ stream, events: [decision()], allocation: ASKED, placement: PLACING }),
      );
      await appendOne(command({ stream, events: [decision()] }));
      expect(await log().allocations.get(stream)).toEqual({
        stream,
        decisionVersion: 1,
        pos: firstPosOf(both),
        record: ASKED,
        placement: PLACING,
      });
      expect(await log().allocations.get(fresh('none'))).toBeNull();
    });

    test('may have a placement alone, and loses what a later half does not say', async () => {
      const stream = fresh('allocation');
      await appendOne(command({ stream, placement: PLACING }));
      await appendOne(command({ stream, events: [input(), decision()], placement: PLACEMENT }));
      expect(await log().allocations.get(stream)).toMatchObject({ record: null, placement: PLACEMENT });
    });

    test.each([
      ['the record last', [{ allocation: RECORD }, { placement: PLACING }, { allocation: ASKED }]],
      ['the placement last', [{ allocation: RECORD }, { allocation: ASKED }, { placement: PLACING }]],
      [
        'both at once',
        [{ placement: PLACEMENT }, { allocation: RECORD }, { allocation: ASKED, placement: PLACING }],
      ],
    ])('holds what several commands of one call leave, %s', async (_case, halves) => {
      const stream = fresh('allocation');
      const beside = fresh('allocation');
      const results = await log().append([
        ...halves.map((half) => command({ stream, events: [decision()], ...half })),
        command({ stream: beside, events: [decision()], allocation: RECORD }),
      ]);
      const last = results[halves.length - 1];
      if (last === undefined) throw new Error('there is a result for each command');
      expect(await log().allocations.get(stream)).toEqual({
        stream,
        decisionVersion: 3,
        pos: firstPosOf(last),
        record: ASKED,
        placement: PLACING,
      });
      expect(await log().allocations.get(beside)).toMatchObject({ decisionVersion: 1, record: RECORD });
    });

    test('moves with the events or not at all', async () => {
      const stream = fresh('allocation');
      await appendOne(command({ stream, allocation: RECORD, placement: PLACEMENT }));
      const before = await log().allocations.get(stream);
      const refused = await appendOne(
        command({ stream, expected: { decisionVersion: 9 }, allocation: ASKED, placement: PLACING }),
      );
      expect(refused.outcome).toBe('wrong_version');
      expect(await log().allocations.get(stream)).toEqual(before);
    });

    test('is written the same by every way into the log', async () => {
      const [alone, pair, leased] = [fresh('alone'), fresh('pair'), fresh('leased')];
      const halves = { allocation: ASKED, placement: PLACING };
      await appendOne(command({ stream: alone, ...halves }));
      await log().append([command(), command({ stream: pair, events: [input(), input()], ...halves })]);
      const lease = { lease: leased, holder: 'a', from: 0, forMs: 60_000 };
      await appendOne(command({ stream: leased, lease, ...halves }));
      for (const stream of [alone, pair, leased]) {
        expect(await log().allocations.get(stream)).toMatchObject({ record: ASKED, placement: PLACING });
      }
    });

    test.each<[string, Partial<Command>]>([
      ['fewer alerts than none', { placement: { ...PLACING, alerts: -1 } }],
      ['an empty outcome', { placement: { ...PLACING, outcome: '' } }],
      ['an empty reason', { placement: { ...PLACING, reason: '' } }],
      ['a lane with a NUL character', { placement: { ...PLACING, lane: 'a\0' } }],
      ['an instance over 200 characters', { placement: { ...PLACING, instance: 'i'.repeat(201) } }],
      ['an intent with half of a surrogate pair', { placement: { ...PLACING, openIntent: '\ud800' } }],
      ['a wake time in another form', { placement: { ...PLACING, wakeAt: '2026-11-29T12:00:00Z' } }],
      [
        'a retry on a day that does not exist',
        { placement: { ...PLACING, retryAt: '2026-02-30T10:00:00.000Z' } },
      ],
      ['an empty status', { allocation: { ...ASKED, status: '' } }],
      ['a question that is empty', { allocation: { ...ASKED, openQuestion: '' } }],
    ])('is refused with %s', async (_reason, change) => {
      const given = command(change);
      await expect(log().append([given])).rejects.toBeInstanceOf(InvalidCommand);
      expect(await log().allocations.get(given.stream)).toBeNull();
    });
  });

  describe('allocations are listed by what a pass looks for', () => {
    /** Writes a row for each name, under a status and an outcome of their own, and answers how to list them. */
    async function rows(
      changes: Readonly<
        Record<string, { record?: Partial<AllocationRow>; placement?: Partial<PlacementRow> }>
      >,
    ) {
      const prefix = fresh('pass');
      for (const [name, { record, placement }] of Object.entries(changes)) {
        await appendOne(
          command({
            stream: `${prefix}-${name}`,
            ...(record && { allocation: { ...RECORD, status: prefix, ...record } }),
            ...(placement && { placement: { ...PLACEMENT, outcome: prefix, ...placement } }),
          }),
        );
      }
      return {
        prefix,
        async names(filter: AllocationFilter, limit = 1_000, after = prefix): Promise<readonly string[]> {
          const found = await log().allocations.list(filter, limit, after);
          return found
            .filter(({ stream }) => stream.startsWith(`${prefix}-`))
            .map(({ stream }) => stream.slice(prefix.length + 1));
        },
      };
    }

    test('by name, in pages', async () => {
      const { prefix, names } = await rows({ a: { record: {} }, b: { record: {} }, c: { record: {} } });
      expect(await names({ status: prefix })).toEqual(['a', 'b', 'c']);
      expect(await names({ status: prefix }, 2)).toEqual(['a', 'b']);
      expect(await names({ status: prefix }, 2, `${prefix}-b`)).toEqual(['c']);
      const shares = await Promise.all(
        [0, 1, 2].map((index) => names({ status: prefix, partition: { index, count: 3 } })),
      );
      expect(shares.flat().sort()).toEqual(['a', 'b', 'c']);
      expect(await log().allocations.count({ status: prefix })).toBe(3);
    });

    test('of the record', async () => {
      const { prefix, names } = await rows({
        asked: { record: { openQuestion: 'q', questionExpiresAt: NOON } },
        placed: { placement: {} },
        plain: { record: {} },
      });
      expect(await names({ status: prefix })).toEqual(['asked', 'plain']);
      expect(await names({ hasOpenQuestion: true })).toEqual(['asked']);
      expect(await names({ hasOpenQuestion: false })).toEqual(['placed', 'plain']);
      expect(await names({ status: prefix, hasOpenQuestion: false })).toEqual(['plain']);
      expect(await names({ questionExpiresBy: NOON })).toEqual(['asked']);
      expect(await names({ questionExpiresBy: BEFORE_NOON })).toEqual([]);
    });

    test('of the placement', async () => {
      const { prefix, names } = await rows({
        billing: { placement: { bills: true, alerts: null } },
        told: { placement: { alerts: 1 } },
        blocked: { placement: { retryAt: NOON } },
        placing: { placement: { openIntent: 'i' } },
        tracked: { record: {} },
      });
      expect(await names({ outcome: prefix })).toEqual(['billing', 'blocked', 'placing', 'told']);
      expect(await names({ bills: true })).toEqual(['billing']);
      expect(await names({ bills: false })).toEqual(['blocked', 'placing', 'told', 'tracked']);
      expect(await names({ hasAlerts: true })).toEqual(['told']);
      expect(await names({ hasAlerts: false })).toEqual(['billing', 'blocked', 'placing', 'tracked']);
      expect(await names({ hasOpenIntent: true })).toEqual(['placing']);
      expect(await names({ hasOpenIntent: false })).toEqual(['billing', 'blocked', 'told', 'tracked']);
      expect(await names({ retryDueAt: NOON })).toEqual(['blocked']);
      expect(await names({ retryDueAt: BEFORE_NOON })).toEqual([]);
      expect(await names({ outcome: prefix, bills: false, hasOpenIntent: false })).toEqual([
        'blocked',
        'told',
      ]);
      expect(await log().allocations.count({ outcome: prefix, bills: false })).toBe(3);
    });

    test('for a worker: what needs one, from its wake time on', async () => {
      const { names } = await rows({
        asleep: { placement: { needsWorker: true, wakeAt: NOON } },
        done: { placement: { needsWorker: false, wakeAt: BEFORE_NOON } },
        now: { placement: { needsWorker: true, wakeAt: null } },
        tracked: { record: {} },
      });
      expect(await names({ workDueAt: BEFORE_NOON })).toEqual(['now']);
      expect(await names({ workDueAt: NOON })).toEqual(['asleep', 'now']);
      expect(await names({ workDueAt: NOON, hasOpenIntent: true })).toEqual([]);
    });

    test('of both halves at once', async () => {
      const { prefix, names } = await rows({
        both: { record: {}, placement: { bills: true } },
        half: { placement: { bills: true } },
      });
      expect(await names({ status: prefix, bills: true })).toEqual(['both']);
      expect(await names({ outcome: prefix, bills: true })).toEqual(['both', 'half']);
    });
  });
}
