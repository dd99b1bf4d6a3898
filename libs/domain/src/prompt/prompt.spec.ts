import { describe, expect, test } from 'vitest';
import {
  awaiting,
  counted,
  declined,
  notCounted,
  prompted,
  promptedByProof,
} from '#support/allocation-events';
import { afterDecline, asked, attemptRule, CAPACITY_RULE, refused } from '#support/attempt-rule';
import {
  type AttemptChange,
  at,
  authFailure,
  capacityFailure,
  DEFAULT_RULES,
  digestOf,
  EVIDENCE,
  proof,
  QUOTA,
} from '#support/builders';
import { UNKNOWN_ALLOCATION } from '../allocation.ts';
import { decideAttempt } from './prompt.ts';

const given = attemptRule();
const newEvidence = { evidence: 'new evidence', decision: 'second question' };

describe('threshold', () => {
  test('records the first failure in a fresh record', () => {
    given().when(capacityFailure()).then(counted(1));
  });
  test('records the second failure', () => {
    given(counted(1)).when(capacityFailure()).then(counted(2));
  });
  test('asks on the third', () => {
    given(counted(1), counted(2)).when(capacityFailure()).then(prompted(3));
  });
  test('asks once: the fourth with the same evidence only counts', () => {
    given(...asked)
      .when(capacityFailure({ decision: 'fourth' }))
      .then(
        counted(4, {
          decision: 'fourth',
          reason: 'suppressed',
          explanation: [CAPACITY_RULE, 'evidence_already_prompted'],
          after: awaiting(4),
        }),
      );
  });
  test('counts failures of different kinds together', () => {
    given(counted(1), counted(2, { category: 'quota_exhausted' }))
      .when(capacityFailure({ classification: QUOTA }))
      .then(prompted(3, { category: 'quota_exhausted' }));
  });
  test('a failure that does not count neither adds nor clears', () => {
    given(counted(1), counted(2)).when(authFailure()).then(notCounted(2));
    given(counted(1), counted(2), notCounted(2)).when(capacityFailure()).then(prompted(3));
  });
  test('a failure that does not count never asks, however many counted before', () => {
    const noCandidate = { explanation: [CAPACITY_RULE, 'candidate_missing'], compatible: false };
    given(counted(1), counted(2), counted(3, noCandidate)).when(authFailure()).then(notCounted(3));
  });
  test('counts on without a candidate, and the first counting failure with one asks', () => {
    const missing = { compatible: false, explanation: [CAPACITY_RULE, 'candidate_missing'] };
    given(counted(1), counted(2))
      .when(capacityFailure({ blockers: ['candidate_missing'] }))
      .then(counted(3, missing));
    given(counted(1), counted(2), counted(3, missing)).when(capacityFailure()).then(prompted(4));
  });
  test('lists every rule that still blocks', () => {
    given()
      .when(authFailure({ blockers: ['candidate_pool', 'candidate_differs:image'] }))
      .then(
        notCounted(0, {
          compatible: false,
          explanation: [
            'rule:auth',
            'failure_not_counting',
            'below_threshold:0/3',
            'candidate_pool',
            'candidate_differs:image',
          ],
        }),
      );
  });
  test('the deployment may ask at the first', () => {
    attemptRule(UNKNOWN_ALLOCATION, { ...DEFAULT_RULES, threshold: 1 })()
      .when(capacityFailure())
      .then(prompted(1, { record: 'opened' }));
  });
});

describe('proof', () => {
  test('asks at once, before anything has failed', () => {
    given().when(proof()).then(promptedByProof());
  });
  test('is not held back by a failure that does not count in the same body', () => {
    given()
      .when(authFailure({ proof: true }))
      .then(promptedByProof({ category: 'auth' }));
  });
  test('is the reason also when the threshold holds too, and the failure is counted', () => {
    given(counted(1), counted(2))
      .when(capacityFailure({ proof: true }))
      .then(prompted(3, { proof: true, reason: 'deterministic_preflight' }));
  });
  test('twice with the same evidence asks once', () => {
    given(promptedByProof())
      .when(proof({ decision: 'again' }))
      .then(
        notCounted(0, {
          decision: 'again',
          record: 'kept',
          category: 'other',
          proof: true,
          reason: 'suppressed',
          explanation: ['rule:other', 'evidence_already_prompted'],
          after: awaiting(0),
        }),
      );
  });
  test('an unproven preflight says which halves are missing, and the threshold asks all the same', () => {
    const preflight: AttemptChange = { blockers: ['preflight_unproven:on_demand_impossible'] };
    given(counted(1))
      .when(capacityFailure(preflight))
      .then(
        counted(2, {
          explanation: [CAPACITY_RULE, 'below_threshold:2/3', 'preflight_unproven:on_demand_impossible'],
        }),
      );
    given(counted(1), counted(2)).when(capacityFailure(preflight)).then(prompted(3));
  });
  test('what the preflight lacks does not block where the threshold is met: only old evidence does', () => {
    given(...refused)
      .when(capacityFailure({ blockers: ['preflight_unproven:on_demand_impossible'] }))
      .then(
        counted(4, {
          reason: 'suppressed',
          explanation: [CAPACITY_RULE, 'evidence_declined'],
          after: afterDecline,
        }),
      );
  });
});

describe('old evidence', () => {
  test('stays quiet on declined evidence, and status and consent stay declined', () => {
    given(...refused)
      .when(capacityFailure())
      .then(
        counted(4, {
          reason: 'suppressed',
          explanation: [CAPACITY_RULE, 'evidence_declined'],
          after: afterDecline,
        }),
      );
  });
  test('is suppressed before the threshold too', () => {
    given(promptedByProof(), declined({ after: { count: 0 } }))
      .when(capacityFailure())
      .then(
        counted(1, {
          record: 'kept',
          reason: 'suppressed',
          explanation: [CAPACITY_RULE, 'below_threshold:1/3', 'evidence_declined'],
          after: afterDecline,
        }),
      );
  });
  test('the first counting failure with new evidence asks at once', () => {
    given(...refused)
      .when(capacityFailure({ ...newEvidence, at: 60 }))
      .then(prompted(4, { ...newEvidence, at: 60, after: { questionTimes: [at(0), at(60)] } }));
  });
  test('new evidence with a failure that does not count stays quiet', () => {
    given(...refused)
      .when(authFailure(newEvidence))
      .then(notCounted(3, { ...newEvidence, after: { ...afterDecline } }));
  });
  test('newer evidence supersedes an open question', () => {
    given(...asked)
      .when(capacityFailure({ ...newEvidence, at: 60 }))
      .then(
        prompted(4, {
          ...newEvidence,
          at: 60,
          explanation: [CAPACITY_RULE, 'prompt_superseded'],
          after: { questionTimes: [at(0), at(60)] },
        }),
      );
  });
  test('superseded evidence is neither prompted nor declined: it may be asked about again', () => {
    const second = prompted(4, {
      ...newEvidence,
      explanation: [CAPACITY_RULE, 'prompt_superseded'],
      after: { questionTimes: [at(0), at(0)] },
    });
    given(...asked, second)
      .when(capacityFailure({ decision: 'third question' }))
      .then(
        prompted(5, {
          decision: 'third question',
          explanation: [CAPACITY_RULE, 'prompt_superseded'],
          after: { questionTimes: [at(0), at(0), at(0)] },
        }),
      );
  });
  test('a declined, b open: a stays quiet and b stays open', () => {
    const second = prompted(4, { ...newEvidence, after: { questionTimes: [at(0), at(0)] } });
    given(...refused, second)
      .when(capacityFailure({ decision: 'again' }))
      .then(
        counted(5, {
          decision: 'again',
          reason: 'suppressed',
          explanation: [CAPACITY_RULE, 'evidence_declined'],
          after: { ...awaiting(5, newEvidence), questionTimes: [at(0), at(0)] },
        }),
      );
  });
});

test('the record after a decision is the one that the decision carries', () => {
  const decision = decideAttempt(UNKNOWN_ALLOCATION, capacityFailure(), DEFAULT_RULES);
  expect(decision.state).toEqual({
    version: 1,
    scalars: decision.data.after,
    declined: [],
    provenance: [
      {
        attempt: 1,
        classification: 'capacity_exhausted',
        evidence_digest: digestOf(EVIDENCE),
        selected_pool: 'on-demand',
        consent_outcome: 'recorded',
      },
    ],
  });
});
