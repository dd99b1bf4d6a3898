import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#events/canonical-json';
import type { RecordedEvent } from '#events/envelope';
import { accepted, counted, prompted, type WholeDecision } from '#support/allocation-events';
import { digestOf } from '#support/builders';
import { play, rules, steps } from '#support/random-story';
import { recordedRow } from '#support/recorded';
import { allocationRowOf } from '../allocation.ts';
import type { AllocationRow } from '../log.ts';
import type { StoredAllocation } from '../log-tables.ts';
import { NOT_PLACED } from '../placement.ts';
import { placementRowOf } from '../placement-row.ts';
import { compareRow, foldRow, NOT_FOLDED, type StreamFold } from './compare.ts';
import type { Difference } from './differing.ts';

const RECORD: AllocationRow = { status: 'consented', openQuestion: null, questionExpiresAt: null };
const PLACEMENT = placementRowOf(NOT_PLACED);

const STORY = [counted(1), counted(2), prompted(3), accepted()] as const satisfies readonly WholeDecision[];

/** Decisions as the rows of one stream, from position 10 on. */
function rowsOf(decisions: readonly WholeDecision[]): RecordedEvent[] {
  return decisions.map(({ type, eventId, data }, index) => {
    const at = {
      pos: 10 + index,
      streamVersion: index + 1,
      decisionVersion: index + 1,
      commandId: `command ${index}`,
    };
    const meta = canonicalJson({ causedBy: null, saw: index });
    return recordedRow({ ...at, type, eventId, body: canonicalJson(data), meta });
  });
}

function folded(rows: readonly RecordedEvent[]): { fold: StreamFold; differences: readonly Difference[] } {
  let fold = NOT_FOLDED;
  const differences: Difference[] = [];
  for (const row of rows) {
    const step = foldRow(fold, row);
    fold = step.fold;
    differences.push(...step.differences);
  }
  return { fold, differences };
}

function storedAs(fold: StreamFold, change: Partial<StoredAllocation> = {}): StoredAllocation {
  const { decisionVersion, decidedPos: pos } = fold;
  const stream = recordedRow().stream;
  const record = allocationRowOf(fold.scalars);
  return { stream, decisionVersion, pos, record, placement: null, ...change };
}

/** The row with one member of its body's `after` replaced. */
function withAfter(row: RecordedEvent, change: object): RecordedEvent {
  const body = JSON.parse(row.body);
  return { ...row, body: canonicalJson({ ...body, after: { ...body.after, ...change } }) };
}

describe('a true record', () => {
  test('of any story folds to what each decision says, and to the row of the table', () => {
    fc.assert(
      fc.property(steps, rules, (story, promptRules) => {
        const chapters = play(story, promptRules);
        const { fold, differences } = folded(rowsOf(chapters.map(({ decision }) => decision)));
        expect(differences).toEqual([]);
        const stored = chapters.length === 0 ? null : storedAs(fold);
        expect(compareRow(recordedRow().stream, fold, stored)).toEqual([]);
      }),
    );
  });

  test('inputs between decisions change no state and no decision version', () => {
    const rows = rowsOf(STORY);
    const input = recordedRow({
      pos: 11,
      streamVersion: 2,
      role: 'input',
      type: 'ParkedRequeued',
      body: canonicalJson({ consumer: 'classifier', firstPos: 10, stream: recordedRow().stream }),
    });
    const later = rows
      .slice(1)
      .map((row) => ({ ...row, pos: row.pos + 1, streamVersion: row.streamVersion + 1 }));
    const { fold, differences } = folded([...rows.slice(0, 1), input, ...later]);
    expect(differences).toEqual([]);
    expect(fold).toMatchObject({ streamVersion: 5, decisionVersion: 4, decidedVersion: 4, decidedPos: 14 });
  });
});

describe('pitfall 28: what an older or a false fold left behind is named', () => {
  const stream = recordedRow().stream;

  test.each([
    ['after.count', { count: 7 }, 7, 3],
    ['after.status', { status: 'declined' }, 'declined', 'consented'],
    ['after.pool', { pool: 'on-demand' }, 'on-demand', 'preemptible'],
    ['after.promptedEvidence', { promptedEvidence: null }, null, digestOf('evidence')],
    ['after.questionTimes', { questionTimes: [] }, '', '2026-11-29T10:00:00.000Z'],
  ])('%s of a decision, once, at its position', (member, change, recorded, foldedValue) => {
    const rows = rowsOf(STORY).map((row) => (row.pos === 13 ? withAfter(row, change) : row));
    const { differences } = folded(rows);
    expect(differences).toEqual([{ stream, pos: 13, member, recorded, folded: foldedValue }]);
  });

  test('in the middle of a story: later decisions are compared with the fold, not with the false record', () => {
    const rows = rowsOf(STORY).map((row) => (row.pos === 11 ? withAfter(row, { count: 1 }) : row));
    expect(folded(rows).differences).toEqual([
      { stream, pos: 11, member: 'after.count', recorded: 1, folded: 2 },
    ]);
  });

  test('a question that a decision hides, by each of its members', () => {
    const rows = rowsOf(STORY).map((row) => (row.pos === 12 ? withAfter(row, { openQuestion: null }) : row));
    const members = ['kind', 'eventId', 'originId', 'actionDigest', 'evidenceDigest', 'expiresAt'];
    expect(folded(rows).differences.map(({ pos, member, recorded }) => [pos, member, recorded])).toEqual(
      members.map((member) => [12, `after.openQuestion.${member}`, null]),
    );
  });

  test('a decision version that leaves a number out', () => {
    const rows = rowsOf(STORY).map((row) => (row.pos === 12 ? { ...row, decisionVersion: 9 } : row));
    expect(folded(rows).differences).toEqual([
      { stream, pos: 12, member: 'decisionVersion', recorded: 9, folded: 3 },
    ]);
  });

  test('a decision that saw another version than the one before it', () => {
    const meta = canonicalJson({ causedBy: null, saw: 0 });
    const rows = rowsOf(STORY).map((row) => (row.pos === 12 ? { ...row, meta } : row));
    expect(folded(rows).differences).toEqual([{ stream, pos: 12, member: 'saw', recorded: 0, folded: 2 }]);
  });

  test('a missing row: the stream is not folded on behind it', () => {
    const { fold, differences } = folded(rowsOf(STORY).filter((row) => row.pos !== 11));
    expect(differences).toEqual([{ stream, pos: 12, member: 'streamVersion', recorded: 3, folded: 2 }]);
    expect(compareRow(stream, fold, null)).toEqual([]);
  });

  test('an event that cannot have happened there', () => {
    const impossible: WholeDecision = {
      type: 'PromptRenewed',
      eventId: 'a'.repeat(26),
      data: { renews: 'b'.repeat(26), expiresAt: '2026-11-30T10:00:00.000Z', after: counted(1).data.after },
    };
    const { differences } = folded(rowsOf([counted(1), impossible]));
    expect(differences).toEqual([
      {
        stream,
        pos: 11,
        member: 'event',
        recorded: 'PromptRenewed',
        folded: 'impossible: a renewal without an open question',
      },
    ]);
  });

  test('a row of a newer version: nothing is compared behind it', () => {
    const rows = rowsOf(STORY).map((row) => (row.pos === 12 ? { ...row, schemaVersion: 2 } : row));
    expect(folded(rows).differences).toEqual([
      {
        stream,
        pos: 12,
        member: 'event',
        recorded: 'FallbackPrompted v2',
        folded: 'unreadable: newer_version',
      },
    ]);
  });

  test.each<[string, Partial<StoredAllocation>, unknown, unknown]>([
    ['table.status', { record: { ...RECORD, status: 'declined' } }, 'declined', 'consented'],
    ['table.openQuestion', { record: { ...RECORD, openQuestion: 'x' } }, 'x', null],
    ['table.questionExpiresAt', { record: { ...RECORD, questionExpiresAt: 'y' } }, 'y', null],
    ['table.decisionVersion', { decisionVersion: 3 }, 3, 4],
    ['table.decisionVersion', { decisionVersion: 5 }, 5, 4],
    ['table.pos', { pos: 12 }, 12, 13],
    ['table.pos', { pos: 14 }, 14, 13],
  ])('%s', (member, change, recorded, foldedValue) => {
    const { fold } = folded(rowsOf(STORY));
    expect(compareRow(stream, fold, storedAs(fold, change))).toEqual([
      { stream, pos: change.pos ?? 13, member, recorded, folded: foldedValue },
    ]);
  });

  describe('a row with a placement', () => {
    // Two decisions of the placement have followed on the record's last one.
    const { fold: decided } = folded(rowsOf(STORY));
    const fold = { ...decided, streamVersion: 6, decisionVersion: 6 };
    const placed = { placement: PLACEMENT, decisionVersion: 6, pos: 15 };

    test.each([
      ['moves on without the record', placed],
      ['may stand before decisions that change nothing in it', { ...placed, decisionVersion: 5, pos: 14 }],
      ['may have been written with the record', { ...placed, decisionVersion: 4, pos: 13 }],
    ])('%s', (_promise, change) => {
      expect(compareRow(stream, fold, storedAs(fold, change))).toEqual([]);
    });

    test.each([
      ['older than the record', { ...placed, decisionVersion: 3 }, 'table.decisionVersion', 3, 4],
      ['newer than the stream', { ...placed, decisionVersion: 7 }, 'table.decisionVersion', 7, 6],
      ['before the record', { ...placed, pos: 12 }, 'table.pos', 12, 13],
      [
        'false of the record',
        { ...placed, record: { ...RECORD, status: 'declined' } },
        'table.status',
        'declined',
        'consented',
      ],
    ])('is named when it is %s', (_reason, change, member, recorded, foldedValue) => {
      expect(compareRow(stream, fold, storedAs(fold, change))).toEqual([
        { stream, pos: change.pos, member, recorded, folded: foldedValue },
      ]);
    });

    test('and without a record is that of a stream without a record', () => {
      const alone = storedAs(NOT_FOLDED, { ...placed, record: null });
      expect(compareRow(stream, { ...NOT_FOLDED, streamVersion: 2, decisionVersion: 2 }, alone)).toEqual([]);
      expect(compareRow(stream, fold, alone)).toEqual([
        { stream, pos: 15, member: 'table', recorded: 'no row', folded: 'a row' },
      ]);
    });
  });

  test('a row of the table that is missing, and one of a stream that has no decision', () => {
    const { fold } = folded(rowsOf(STORY));
    expect(compareRow(stream, fold, null)).toEqual([
      { stream, pos: 13, member: 'table', recorded: 'no row', folded: 'a row' },
    ]);
    expect(compareRow(stream, NOT_FOLDED, storedAs(fold))).toEqual([
      { stream, pos: 13, member: 'table', recorded: 'a row', folded: 'no row' },
    ]);
    expect(compareRow(stream, NOT_FOLDED, null)).toEqual([]);
  });
});
