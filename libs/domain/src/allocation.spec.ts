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
import { at, attempt, DAY_S, DEFAULT_RULES, digestOf, EVIDENCE, idOf, record } from '#support/builders';
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
import { decideAttempt } from './prompt/prompt.ts';
import { renewPrompt } from './prompt/renewal.ts';

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
  test('withdraws an open failover question, which changes nothing else', () => {
    const state = fold(counted(1), counted(2), failoverAsked);
    expect(state.scalars.openQuestion?.kind).toBe('failover');
    expect(evolve(state, erased)).toEqual({
      ...state,
      version: 4,
      scalars: { ...state.scalars, openQuestion: null },
    });
  });
  test('changes nothing where no question is open, but counts one version', () => {
    const state = fold(counted(1), counted(2), prompted(3), accepted());
    expect(evolve(state, erased)).toEqual({ ...state, version: 5 });
  });
});

const LIFE = { askedAt: at(0), expiresAt: at(DAY_S) };
const failoverAsked: Extract<AllocationEvent, { type: 'FailoverPrompted' }> = {
  type: 'FailoverPrompted',
  eventId: idOf('failover'),
  data: {
    escalation: {
      trigger: 'queue_vanish',
      reason: 'gcp_queue_vanish_failover_runpod',
      rule: '4.3 queue_vanish seen',
      evidence: {},
      key: 'X1',
      failedInstance: 'X1',
      rung: 'flex_a',
      cancel: 'nothing',
    },
    actionDigest: digestOf('move'),
    evidenceDigest: digestOf('vanish'),
    ...LIFE,
    withdrew: null,
    verdict: {
      outcome: 'awaiting_consent',
      reason: null,
      failureClass: null,
      redrivable: false,
      rule: '4.8',
      evidence: {},
      notFired: [],
    },
  },
};
const failoverQuestion = {
  kind: 'failover',
  eventId: idOf('failover'),
  originId: idOf('failover'),
  actionDigest: digestOf('move'),
  evidenceDigest: digestOf('vanish'),
  expiresAt: at(DAY_S),
} as const;
const failoverAnswer = {
  questionId: idOf('failover'),
  actionDigest: digestOf('move'),
  key: 'X1',
  answeredBy: 'local',
};

describe('a failover question', () => {
  const open = fold(counted(1), counted(2), failoverAsked);

  test('is the one open question, and adds nothing to the record', () => {
    const before = fold(counted(1), counted(2));
    expect(open).toEqual({
      ...before,
      version: 3,
      scalars: { ...before.scalars, openQuestion: failoverQuestion },
    });
  });
  test('withdraws an open pool question: its evidence may be asked about again', () => {
    const state = fold(counted(1), counted(2), prompted(3), failoverAsked);
    expect(state.scalars).toEqual(
      record({ count: 3, openQuestion: failoverQuestion, questionTimes: [at(0)] }),
    );
    expect(state.declined).toEqual([]);
  });
  test('leaves an answered pool question as it was answered', () => {
    expect(fold(counted(1), counted(2), prompted(3), accepted(), failoverAsked).scalars).toMatchObject({
      status: 'consented',
      consent: 'accepted',
      pool: 'preemptible',
      openQuestion: failoverQuestion,
    });
  });
  test('stays open through a success and through another request', () => {
    const through = [
      succeeded({ evidenceSince: 4 }),
      counted(1, { request: 'other', record: 'opened' }),
      ignored('not_on_demand'),
    ];
    for (const event of through) {
      expect(evolve(open, event).scalars.openQuestion).toEqual(failoverQuestion);
    }
  });
  test('keeps a pool question from opening, and counts on', () => {
    const third = decideAttempt(open, attempt({ decision: 'third' }), DEFAULT_RULES);
    expect(third).toMatchObject({
      type: 'AttemptTracked',
      data: { reason: 'suppressed', explanation: expect.arrayContaining(['prompt_open']) },
      state: { scalars: { count: 3, openQuestion: failoverQuestion } },
    });
  });
  test.each<[string, AllocationEvent]>([
    [
      'an acceptance',
      {
        type: 'FailoverAccepted',
        eventId: idOf('answer'),
        data: { ...failoverAnswer, expiresAt: at(DAY_S) },
      },
    ],
    ['a decline', { type: 'FailoverDeclined', eventId: idOf('answer'), data: failoverAnswer }],
    [
      'a move that is called off',
      {
        type: 'FailoverVoided',
        eventId: idOf('void'),
        data: {
          key: 'X1',
          instance: 'X1',
          why: 'done',
          dropsRungLoss: false,
          verdict: failoverAsked.data.verdict,
        },
      },
    ],
  ])('is closed by %s, which changes nothing else', (_reason, event) => {
    const before = fold(counted(1), counted(2));
    expect(evolve(open, event)).toEqual({ ...before, version: 4 });
    const pool = fold(counted(1), counted(2), prompted(3));
    expect(evolve(pool, event).scalars).toEqual(pool.scalars);
  });
  test('is renewed like any other', () => {
    const renewed = renewPrompt(open, { at: at(DAY_S), decisionId: idOf('renewal'), tokenLifeS: DAY_S });
    expect(renewed?.state.scalars.openQuestion).toEqual({
      ...failoverQuestion,
      eventId: idOf('renewal'),
      expiresAt: at(2 * DAY_S),
    });
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
