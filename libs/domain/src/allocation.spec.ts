import { describe, expect, test } from 'vitest';
import { AttemptReported } from '#events/attempt.events';
import { canonicalJson } from '#events/canonical-json';
import { readEvent } from '#events/upcast';
import {
  accepted,
  counted,
  declined,
  ignored,
  openQuestion,
  prompted,
  succeeded,
} from '#support/allocation-events';
import { at, attempt, DAY_S, digestOf, EVIDENCE, idOf, record } from '#support/builders';
import { recorded, recordedRow } from '#support/recorded';
import {
  type Allocation,
  type AllocationEvent,
  allocationRowOf,
  boundedProvenance,
  evolve,
  evolveRecorded,
  NO_RECORD,
  type ProvenanceRow,
  provenanceRowOf,
  questionTimesInWindow,
  UNKNOWN_ALLOCATION,
} from './allocation.ts';

const fold = (...events: readonly AllocationEvent[]): Allocation => events.reduce(evolve, UNKNOWN_ALLOCATION);
const row = (change: Partial<ProvenanceRow>): ProvenanceRow => ({
  attempt: 1,
  classification: 'capacity_exhausted',
  evidence_digest: digestOf(EVIDENCE),
  selected_pool: 'on-demand',
  consent_outcome: 'recorded',
  ...change,
});
const erased: AllocationEvent = {
  type: 'AllocationErased',
  eventId: idOf('erasure'),
  data: { withdrew: openQuestion().eventId },
};

describe('provenance', () => {
  test('one row per attempt and per consent; the attempt that opens a question is recorded', () => {
    expect(fold(counted(1), counted(2), prompted(3), accepted()).provenance).toEqual([
      row({ attempt: 1 }),
      row({ attempt: 2 }),
      row({ attempt: 3 }),
      row({
        attempt: 3,
        classification: 'consent',
        selected_pool: 'preemptible',
        consent_outcome: 'accepted',
      }),
    ]);
  });
  test.each([
    {
      event: ignored('preemptible_already_selected'),
      row: { classification: 'already_selected', consent_outcome: 'ignored' },
    },
    {
      event: ignored('not_on_demand'),
      row: { classification: 'not_on_demand', consent_outcome: 'ignored' },
    },
    {
      event: succeeded({ evidenceSince: 1 }),
      row: { classification: 'success', consent_outcome: 'success' },
    },
    { event: declined(), row: { classification: 'consent', consent_outcome: 'declined' } },
  ] as const)('$event.type: $row.classification', (known) => {
    expect(provenanceRowOf(known.event, record({ count: 4 }))).toEqual(row({ attempt: 4, ...known.row }));
  });
  test('a renewal and an erasure leave none', () => {
    const renewal = { renews: idOf('question'), expiresAt: at(0) };
    expect(provenanceRowOf({ type: 'PromptRenewed', data: renewal }, NO_RECORD)).toBeNull();
    expect(provenanceRowOf(erased, NO_RECORD)).toBeNull();
  });
  test('a changed request begins an empty history', () => {
    const changed = counted(1, { request: 'other', record: 'opened' });
    expect(fold(counted(1), counted(2), changed).provenance).toEqual([row({ attempt: 1 })]);
  });
  test('at most 32 rows, the newest', () => {
    const rows = Array.from({ length: 33 }, (_, index) => row({ attempt: index }));
    expect(boundedProvenance(rows)).toEqual(rows.slice(1));
    expect(boundedProvenance(rows.slice(1))).toEqual(rows.slice(1));
  });
  test('consent rows are kept before others, however old, in time order', () => {
    const consent = row({ classification: 'consent', consent_outcome: 'declined' });
    const rows = [
      row({ attempt: 0 }),
      consent,
      ...Array.from({ length: 40 }, (_, attempt) => row({ attempt })),
    ];
    expect(boundedProvenance(rows)).toEqual([consent, ...rows.slice(-31)]);
  });
  test('of nothing but consent rows the newest are kept', () => {
    const consents = Array.from({ length: 40 }, (_, attempt) => row({ attempt, classification: 'consent' }));
    expect(boundedProvenance([...consents, row({})])).toEqual(consents.slice(-32));
  });
});

describe('erasure', () => {
  test('withdraws an open question and forgets its evidence; count and declines stay', () => {
    const second = prompted(4, { evidence: 'new', decision: 'second' });
    const state = fold(counted(1), counted(2), prompted(3), declined(), second);
    expect(evolve(state, erased)).toEqual({
      ...state,
      version: 6,
      scalars: record({ count: 4, questionTimes: [at(0), at(0)] }),
    });
  });
  test('changes nothing where no question is open, but counts one version', () => {
    const state = fold(counted(1), counted(2), prompted(3), accepted());
    expect(evolve(state, erased)).toEqual({ ...state, version: 5 });
  });
});

describe('recorded events', () => {
  test('a decision is folded under its own id', () => {
    expect(evolveRecorded(UNKNOWN_ALLOCATION, recorded(prompted(1, { record: 'opened' }), 1))).toEqual(
      fold(prompted(1, { record: 'opened' })),
    );
  });
  test('an input changes nothing, not even the version', () => {
    const body = canonicalJson(AttemptReported.create(attempt().input).data);
    const input = readEvent(recordedRow({ type: 'AttemptReported', role: 'input', body }));
    expect(evolveRecorded(UNKNOWN_ALLOCATION, input)).toBe(UNKNOWN_ALLOCATION);
  });
});

test('questions are counted for 24 h after they were asked', () => {
  const scalars = record({ questionTimes: [at(0), at(1), at(2)] });
  expect(questionTimesInWindow(scalars, at(DAY_S - 1))).toEqual([at(0), at(1), at(2)]);
  expect(questionTimesInWindow(scalars, at(DAY_S))).toEqual([at(1), at(2)]);
  expect(questionTimesInWindow(scalars, at(DAY_S + 2))).toEqual([]);
});

describe('row of the candidate list', () => {
  test('shows the open question with its end', () => {
    expect(allocationRowOf(fold(prompted(1, { record: 'opened' })).scalars)).toEqual({
      status: 'awaiting-consent',
      openQuestion: openQuestion().eventId,
      questionExpiresAt: at(DAY_S),
    });
  });
  test('is plain where nothing is open', () => {
    expect(allocationRowOf(NO_RECORD)).toEqual({
      status: 'tracking',
      openQuestion: null,
      questionExpiresAt: null,
    });
  });
});
