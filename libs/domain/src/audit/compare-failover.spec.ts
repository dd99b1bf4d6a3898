import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#events/canonical-json';
import type { RecordedEvent } from '#events/envelope';
import { at, digestOf, idOf } from '#support/builders';
import { recordedRow } from '#support/recorded';
import { Recording } from '#support/recording';
import { gone, poll, Story, works } from '#support/watch-builders';
import { allocationRowOf } from '../allocation.ts';
import type { Fact } from '../fact.ts';
import type { PlacementRow } from '../log.ts';
import { placementRowOf } from '../placement-row.ts';
import { compareRow, foldRow, NOT_FOLDED, type StreamFold } from './compare.ts';
import type { Difference } from './differing.ts';

const vanished = (failover: 'standing' | 'ask' | 'never') =>
  new Recording(new Story().launch(failover).placed(0)).see(poll(60, 'queued'), gone(300), gone(360));

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

/** The table's row as the story leaves it, and what is found when it is compared with the fold of the rows. */
function compared({ story, rows }: Recording, change: Partial<PlacementRow> = {}) {
  const { fold, differences } = folded(rows);
  const stored = {
    stream: recordedRow().stream,
    decisionVersion: fold.decisionVersion,
    pos: rows.at(-1)?.pos ?? 0,
    record: fold.decidedPos > 0 ? allocationRowOf(story.record.scalars) : null,
    placement: { ...placementRowOf(story.placement), ...change },
  };
  return [...differences, ...compareRow(stored.stream, fold, stored)];
}

/** The rows with a member of one body changed. */
function withBody(
  rows: readonly RecordedEvent[],
  type: string,
  change: (body: { [name: string]: unknown }) => object,
) {
  const last = rows.findLast((row) => row.type === type);
  return rows.map((row) =>
    row === last ? { ...row, body: canonicalJson(change(JSON.parse(row.body))) } : row,
  );
}

const found = (differences: readonly Difference[]) =>
  differences.map(({ member, recorded, folded: ours }) => [member, recorded, ours]);

describe('a true record of a failover', () => {
  test.each(['standing', 'ask', 'never'] as const)('is judged again to the same facts: %s', (failover) => {
    expect(compared(vanished(failover))).toEqual([]);
  });
  test('also a wedge that is called off, alarms, deaths and resets', () => {
    const cut = (seconds: number) => works(seconds, { alarm: 'transport' });
    const recording = new Recording(new Story().launch().placed(0, 'od_a'))
      .see(works(1000), cut(20000), cut(20540))
      .add(20550, { type: 'CancelUnconfirmed', data: { instance: 'X1', lane: 'gcp', kind: null } })
      .see(
        works(20600),
        poll(20700, 'probe_error'),
        works(20600),
        poll(30000, 'terminated', { guest: { phase: 'failed', workloadStarted: true } }),
      );
    expect(compared(recording)).toEqual([]);
  });
  test('a late instance tells in the row only with the next fact whether it bills', () => {
    const intent = 'a'.repeat(26);
    const open: Fact = {
      type: 'IntentRecorded',
      data: {
        intent,
        name: 'sw',
        lane: 'runpod',
        entry: { kind: 'terminal' },
        chain: 'X1',
        requestDigest: digestOf('request'),
        fence: 1,
        reaps: 0,
        replaces: null,
      },
    };
    const recording = vanished('standing').add(400, open);
    const before = placementRowOf(recording.story.placement);
    recording.add(410, { type: 'LateInstanceSeen', data: { intent, instance: 'P1' } });
    expect(placementRowOf(recording.story.placement).bills).toBe(true);
    expect(compared(recording, before)).toEqual([]);
    recording.add(420, { type: 'LeaseTaken', data: { intent, fence: 2 } });
    expect(found(compared(recording, { bills: false }))).toEqual([['table.bills', false, true]]);
  });
});

describe('is named', () => {
  const truth = vanished('ask');
  test.each<[string, string, (body: { [name: string]: unknown }) => object, readonly unknown[]]>([
    [
      'another answer',
      'ObservationJudged',
      (body) => ({ ...body, mark: at(400) }),
      ['judged.verdict.rule', '4.8 awaiting_consent', '3.6 late'],
    ],
    [
      'another question',
      'FailoverPrompted',
      (body) => ({ ...body, withdrew: idOf('pool') }),
      ['judged.withdrew', idOf('pool'), null],
    ],
    [
      'another loss',
      'QueueLossRecorded',
      (body) => ({ ...body, rung: 'od_a' }),
      ['judged.rung', 'od_a', 'flex_a'],
    ],
  ])('%s', (_reason, type, change, expected) => {
    expect(found(folded(withBody(truth.rows, type, change)).differences)).toContainEqual(expected);
  });
  test('digests, times and ids of a question are what was recorded: no rule knows them', () => {
    const other = withBody(truth.rows, 'FailoverPrompted', (body) => ({
      ...body,
      askedAt: at(9),
      evidenceDigest: digestOf('other'),
    }));
    expect(
      found(folded(other).differences).filter(([member]) => String(member).startsWith('judged')),
    ).toEqual([]);
  });
  test('a fact that today’s rules would not decide, and one that they would', () => {
    const story = new Story().launch().placed(0);
    const recording = new Recording(story).see(poll(60, 'queued'), gone(300));
    const judgedAt = recording.rows.findIndex(({ type }) => type === 'QueueLossRecorded');
    const cut = recording.rows.slice(0, judgedAt);
    const { fold, differences } = folded(cut);
    expect(differences).toEqual([]);
    expect(found(compareRow(recordedRow().stream, fold, null))).toEqual([
      ['judged', 'nothing', 'QueueLossRecorded'],
      ['judged', 'nothing', 'FailoverDecided'],
      ['table.placement', 'no row', 'a row'],
    ]);
    const extra = new Recording(new Story().launch().placed(0)).see(poll(60, 'queued'));
    const [last] = extra.rows.slice(-1);
    if (last === undefined) throw new Error('a row');
    const alert = { alert: 'failed_machine_up', subject: 'X1', evidence: {} };
    const added = {
      ...last,
      pos: last.pos + 1,
      streamVersion: last.streamVersion + 1,
      decisionVersion: last.decisionVersion + 1,
      type: 'AlertRaised',
      body: canonicalJson(alert),
    };
    expect(found(folded([...extra.rows, added]).differences)).toEqual([['judged', 'AlertRaised', 'nothing']]);
  });
  test('facts that are missing when the next command begins', () => {
    const rows = vanished('standing').rows.filter(({ type }) => type !== 'FailoverDecided');
    const renumbered = rows.map((row, index) => ({ ...row, streamVersion: index + 1 }));
    expect(found(folded(renumbered).differences)).toContainEqual(['judged', 'nothing', 'FailoverDecided']);
  });
  test('a judgement that no observation caused', () => {
    const rows = truth.rows.map((row) =>
      row.type === 'ObservationJudged' ? { ...row, meta: canonicalJson({ causedBy: null, saw: null }) } : row,
    );
    expect(found(folded(rows).differences)).toContainEqual([
      'judged',
      'ObservationJudged',
      'no observation caused it',
    ]);
  });
  test('a judgement that saw another version', () => {
    const rows = truth.rows.map((row) =>
      row.type === 'ObservationJudged' ? { ...row, meta: row.meta.replace(/"saw":\d+/, '"saw":1') } : row,
    );
    expect(found(folded(rows).differences)).toContainEqual(['saw', 1, 2]);
  });
  test.each<[keyof PlacementRow, Partial<PlacementRow>, unknown, unknown]>([
    ['outcome', { outcome: 'done' }, 'done', 'awaiting_consent'],
    ['reason', { reason: null }, null, 'gcp_queue_vanish_failover_runpod'],
    ['lane', { lane: 'runpod' }, 'runpod', 'gcp'],
    ['instance', { instance: null }, null, 'X1'],
    ['openIntent', { openIntent: 'i' }, 'i', null],
    ['needsWorker', { needsWorker: true }, true, false],
    ['wakeAt', { wakeAt: at(1) }, at(1), null],
    ['retryAt', { retryAt: at(1) }, at(1), null],
    ['bills', { bills: true }, true, false],
  ])('a false %s in the table', (member, change, recorded, ours) => {
    expect(found(compared(truth, change))).toEqual([[`table.${member}`, recorded, ours]]);
  });
  test('a placement that the table lacks', () => {
    const { fold } = folded(truth.rows);
    const stored = {
      stream: recordedRow().stream,
      decisionVersion: fold.decidedVersion,
      pos: fold.decidedPos,
      record: allocationRowOf(fold.scalars),
      placement: null,
    };
    expect(found(compareRow(stored.stream, fold, stored))).toEqual([['table.placement', 'no row', 'a row']]);
  });
});
