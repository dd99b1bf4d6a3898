import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KnownEvent } from '#events/catalogue';
import { counted, promptedByProof } from '#support/allocation-events';
import { DAY_S, DEFAULT_RULES, digestOf } from '#support/builders';
import { type Chapter, play, rules, type Step, steps, stepsWithFailover } from '#support/random-story';
import { recorded, recordedRow } from '#support/recorded';
import { seeded } from '#support/seeded';
import { type Allocation, evolveRecorded, UNKNOWN_ALLOCATION } from './allocation.ts';
import {
  allocationFromDecisions,
  COLD_START_READS,
  type ColdStart,
  needsOlderDeclines,
  scalarsOf,
} from './cold-start.ts';

/** What the log answers, newest first, and how many rows were read for it. */
function read(stream: readonly KnownEvent[]): ColdStart & { readonly rowsRead: number } {
  let rowsRead = 0;
  const newest = (
    reads: { readonly types: readonly string[]; readonly limit: number },
    upTo = stream.length,
  ) => {
    const known = stream.filter((event) => reads.types.includes(event.type));
    const rows = known.filter(({ row }) => row.decisionVersion <= upTo).slice(-reads.limit);
    rowsRead += rows.length;
    return rows.reverse();
  };

  const last = newest(COLD_START_READS.last)[0] ?? null;
  const version = stream.length;
  if (last === null) {
    return { last, attemptRows: [], consentRows: [], declinedRows: [], version, rowsRead };
  }
  const upTo = last.row.decisionVersion;
  const attemptRows = newest(COLD_START_READS.attemptRows, upTo);
  const consentRows = newest(COLD_START_READS.consentRows, upTo);
  const declinedRows: KnownEvent[] = [];
  for (let page = newest(COLD_START_READS.declinedRows, upTo); page.length > 0; ) {
    declinedRows.push(...page);
    const oldest = page.at(-1);
    if (oldest === undefined || !needsOlderDeclines(page, last)) break;
    page = newest(COLD_START_READS.declinedRows, oldest.row.decisionVersion - 1);
  }
  return { last, attemptRows, consentRows, declinedRows, version, rowsRead };
}

const asStream = (chapters: readonly Chapter[]) =>
  chapters.map(({ decision }, index) => recorded(decision, index + 1));
const folded = (stream: readonly KnownEvent[]): Allocation =>
  stream.reduce(evolveRecorded, UNKNOWN_ALLOCATION);

/** Far above what a run takes: a loaded machine is no failure of a rule. */
const TIMEOUT_MS = 60_000;

describe('cold start', { timeout: TIMEOUT_MS }, () => {
  test('equals the full fold, wherever the story is cut', () => {
    fc.assert(
      fc.property(steps, rules, fc.nat({ max: 80 }), (story, promptRules, cut) => {
        const stream = asStream(play(story, promptRules));
        for (const part of [stream, stream.slice(0, cut)]) {
          expect(allocationFromDecisions(read(part))).toEqual(folded(part));
        }
      }),
      seeded(60),
    );
  });

  test('equals it also with failover questions in between', () => {
    fc.assert(
      fc.property(stepsWithFailover, rules, fc.nat({ max: 80 }), (story, promptRules, cut) => {
        const stream = asStream(play(story, promptRules));
        for (const part of [stream, stream.slice(0, cut)]) {
          expect(allocationFromDecisions(read(part))).toEqual(folded(part));
        }
      }),
      seeded(60),
    );
  });

  test('of a stream without decisions knows nothing', () => {
    expect(allocationFromDecisions(read([]))).toEqual(UNKNOWN_ALLOCATION);
  });

  test('remembers every decline of a long record, and reads no more rows than count', () => {
    const story = Array.from({ length: 300 }, (_, index): readonly Step[] => [
      { kind: 'attempt', laterS: 60, change: { evidence: `fingerprint ${index}`, proof: true } },
      { kind: 'answer', laterS: 60, accept: false, tokenMatches: false },
    ]).flat();
    const stream = asStream(play(story, { ...DEFAULT_RULES, questionsPerDay: 1_000 }));
    const state = allocationFromDecisions(read(stream));
    expect(state).toEqual(folded(stream));
    expect(state.declined).toHaveLength(300);
    expect(state.declined[0]).toBe(digestOf('fingerprint 0'));
  });

  test('cost does not grow with the length of the stream', () => {
    const failure: Step = { kind: 'attempt', laterS: DAY_S, change: { blockers: ['candidate_missing'] } };
    const stream = asStream(play(new Array<Step>(1_000).fill(failure), DEFAULT_RULES));
    expect(read(stream).rowsRead).toBe(33);
    expect(allocationFromDecisions(read(stream))).toEqual(folded(stream));
  });
});

describe('refuses', () => {
  const last = recorded(counted(1), 1);
  const newer = recorded(promptedByProof(), 2);
  const none = { attemptRows: [], consentRows: [], declinedRows: [], version: 1 };
  const requeued = recordedRow({ type: 'ParkedRequeued', role: 'input' });
  const other: KnownEvent = {
    type: 'ParkedRequeued',
    data: { consumer: 'c', stream: 's', firstPos: 1 },
    row: requeued,
    eventId: requeued.eventId,
    at: requeued.occurredAt,
  };

  test('a row that is newer than the last decision: half of a newer state', () => {
    expect(() => allocationFromDecisions({ ...none, last, attemptRows: [newer] })).toThrow(/newer/);
    expect(() => allocationFromDecisions({ ...none, last, declinedRows: [newer] })).toThrow(/newer/);
  });
  test('an event that is no decision about the allocation', () => {
    expect(() => scalarsOf(other)).toThrow(/ParkedRequeued carries no record/);
    expect(() => allocationFromDecisions({ ...none, last, consentRows: [other] })).toThrow(/ParkedRequeued/);
  });
});
