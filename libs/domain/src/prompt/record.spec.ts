import { describe, test } from 'vitest';
import {
  awaiting,
  counted,
  ignored,
  notCounted,
  promptedByProof,
  succeeded,
} from '#support/allocation-events';
import { afterAcceptance, asked, attemptRule, CAPACITY_RULE, refused, switched } from '#support/attempt-rule';
import {
  at,
  capacityFailure,
  digestOf,
  failureElsewhere,
  idOf,
  placed,
  proof,
  record,
} from '#support/builders';
import type { Allocation } from '../allocation.ts';

const given = attemptRule();
const other = { request: 'other' };
const newEvidence = { evidence: 'new evidence', decision: 'second question' };

describe('request change', () => {
  const changed = [CAPACITY_RULE, 'request_changed', 'below_threshold:1/3'];

  test('starts counting again', () => {
    given(counted(1), counted(2))
      .when(capacityFailure(other))
      .then(counted(1, { ...other, explanation: changed, after: { recordSince: 2, evidenceSince: 2 } }));
  });
  test('withdraws an open question', () => {
    given(...asked)
      .when(capacityFailure(other))
      .then(
        counted(1, {
          ...other,
          explanation: changed,
          after: { recordSince: 3, evidenceSince: 3, questionTimes: [at(0)] },
        }),
      );
  });
  test('a question of the fresh record supersedes none: the older one was withdrawn', () => {
    given(...asked)
      .when(proof({ ...other, decision: 'again' }))
      .then(
        promptedByProof({
          ...other,
          decision: 'again',
          explanation: ['rule:other', 'request_changed'],
          after: { recordSince: 3, evidenceSince: 3, questionTimes: [at(0), at(0)] },
        }),
      );
  });
  test('forgets a decline: a proof with the declined evidence asks', () => {
    given(...refused)
      .when(proof({ ...other, decision: 'again' }))
      .then(
        promptedByProof({
          ...other,
          decision: 'again',
          explanation: ['rule:other', 'request_changed'],
          after: { recordSince: 4, evidenceSince: 4, questionTimes: [at(0), at(0)] },
        }),
      );
  });
  test('gives an accepted pool back', () => {
    given(...switched)
      .when(capacityFailure(other))
      .then(
        counted(1, {
          ...other,
          explanation: changed,
          after: { recordSince: 4, evidenceSince: 4, questionTimes: [at(0)] },
        }),
      );
  });
  test('gives it back also when the attempt itself is of another pool', () => {
    given(...switched)
      .when(failureElsewhere(other))
      .then(
        ignored('not_on_demand', {
          ...other,
          record: 'opened',
          explanation: ['request_changed'],
          after: { recordSince: 4, evidenceSince: 4, questionTimes: [at(0)] },
        }),
      );
  });
  test('two shapes under one name replace each other and never reach three', () => {
    const first = counted(1);
    const second = counted(1, {
      ...other,
      explanation: changed,
      after: { recordSince: 1, evidenceSince: 1 },
    });
    given(first, second)
      .when(capacityFailure())
      .then(counted(1, { explanation: changed, after: { recordSince: 2, evidenceSince: 2 } }));
  });
});

describe('success', () => {
  test('clears the count', () => {
    given(counted(1), counted(2))
      .when(placed())
      .then(succeeded({ evidenceSince: 3 }));
  });
  test('opens a record where there was none', () => {
    given()
      .when(placed())
      .then(succeeded({ evidenceSince: 1 }, { record: 'opened' }));
  });
  test('decides whatever else the body says', () => {
    given(counted(1), counted(2))
      .when(placed({ proof: true, pool: 'other' }))
      .then(succeeded({ evidenceSince: 3 }));
  });
  test('withdraws an open question and forgets its evidence', () => {
    given(...asked)
      .when(placed())
      .then(succeeded({ evidenceSince: 4, questionTimes: [at(0)] }));
  });
  test('forgets a decline: a proof with the declined evidence asks again', () => {
    const success = succeeded({ evidenceSince: 5, questionTimes: [at(0)] });
    given(...refused)
      .when(placed())
      .then(success);
    given(...refused, success)
      .when(proof({ decision: 'again' }))
      .then(
        promptedByProof({
          record: 'kept',
          decision: 'again',
          after: { evidenceSince: 5, questionTimes: [at(0), at(0)] },
        }),
      );
  });
  test('keeps an accepted pool', () => {
    const { promptedEvidence: _forgotten, ...kept } = afterAcceptance;
    given(...switched)
      .when(placed())
      .then(succeeded({ ...kept, status: 'succeeded', evidenceSince: 5 }));
  });
  test('the next on-demand failure is tracked from one', () => {
    given(counted(1), counted(2), succeeded({ evidenceSince: 3 }))
      .when(capacityFailure())
      .then(counted(1, { record: 'kept', after: { evidenceSince: 3 } }));
  });
  test('an attempt of another pool leaves the status as it is', () => {
    given(counted(1), succeeded({ evidenceSince: 2 }))
      .when(failureElsewhere())
      .then(ignored('not_on_demand', { after: { status: 'succeeded', evidenceSince: 2 } }));
  });
});

describe('pools', () => {
  test('after an acceptance nothing asks, not even a proof, and the count rests', () => {
    given(...switched)
      .when(proof(newEvidence))
      .then(
        ignored('preemptible_already_selected', { ...newEvidence, after: { ...afterAcceptance, count: 3 } }),
      );
  });
  test('after an acceptance and a success the status is consented again', () => {
    const { promptedEvidence: _forgotten, ...kept } = afterAcceptance;
    const success = succeeded({ ...kept, status: 'succeeded', evidenceSince: 5 });
    given(...switched, success)
      .when(capacityFailure())
      .then(ignored('preemptible_already_selected', { after: { ...kept, evidenceSince: 5 } }));
  });
  test('the selected pool is named before that of the request', () => {
    given(...switched)
      .when(failureElsewhere())
      .then(ignored('preemptible_already_selected', { after: { ...afterAcceptance, count: 3 } }));
  });
  test('a request of another pool changes nothing, and an open question stays', () => {
    given(...asked)
      .when(failureElsewhere({ decision: 'elsewhere' }))
      .then(ignored('not_on_demand', { decision: 'elsewhere', after: awaiting(3) }));
  });
});

describe('one open question', () => {
  const question = {
    kind: 'failover',
    eventId: idOf('failover'),
    originId: idOf('failover'),
    actionDigest: digestOf('failover'),
    evidenceDigest: digestOf('failover'),
    expiresAt: at(60),
  } as const;
  const count = 2;
  const scalars = record({ count, openQuestion: question });
  const open: Allocation = { version: 2, scalars, declined: [], provenance: [] };

  test('while a failover question is open no pool question opens, and the count goes on', () => {
    attemptRule(open)()
      .when(capacityFailure())
      .then(
        counted(3, {
          reason: 'suppressed',
          explanation: [CAPACITY_RULE, 'prompt_open'],
          after: { openQuestion: question },
        }),
      );
  });
  test('it outlives success and a changed request, which are no answer to it', () => {
    attemptRule(open)()
      .when(placed())
      .then(succeeded({ evidenceSince: 3, openQuestion: question }));
    attemptRule(open)()
      .when(proof(other))
      .then(
        notCounted(0, {
          ...other,
          category: 'other',
          proof: true,
          reason: 'suppressed',
          explanation: ['rule:other', 'request_changed', 'prompt_open'],
          after: { recordSince: 2, evidenceSince: 2, openQuestion: question },
        }),
      );
  });
});
