import { describe, expect, test } from 'vitest';
import { INVARIANTS } from './attempt/invariants.ts';
import { explain, explanations } from './explanation.ts';

/** One code of every kind that a rule can produce. */
const CODES = {
  rule: explain.rule('capacity_exhausted'),
  requestIncomplete: explain.requestIncomplete(INVARIANTS),
  candidateMissing: explain.candidateMissing,
  candidatePool: explain.candidatePool,
  candidateIncomplete: explain.candidateIncomplete(['gpu_count']),
  candidateDiffers: explain.candidateDiffers(['image', 'sm']),
  belowThreshold: explain.belowThreshold(2, 3),
  failureNotCounting: explain.failureNotCounting,
  preflightUnproven: explain.preflightUnproven(['on_demand_impossible', 'preemptible_available']),
  evidenceAlreadyPrompted: explain.evidenceAlreadyPrompted,
  evidenceDeclined: explain.evidenceDeclined,
  promptOpen: explain.promptOpen,
  promptBudgetSpent: explain.promptBudgetSpent,
  promptSuperseded: explain.promptSuperseded,
  requestChanged: explain.requestChanged,
  promptRenewed: explain.promptRenewed,
  promptErased: explain.promptErased,
} satisfies Record<keyof typeof explain, string>;

test('the set of codes is closed', () => {
  expect(Object.values(CODES).map((code) => code.split(':')[0])).toEqual([
    'rule',
    'request_incomplete',
    'candidate_missing',
    'candidate_pool',
    'candidate_incomplete',
    'candidate_differs',
    'below_threshold',
    'failure_not_counting',
    'preflight_unproven',
    'evidence_already_prompted',
    'evidence_declined',
    'prompt_open',
    'prompt_budget_spent',
    'prompt_superseded',
    'request_changed',
    'prompt_renewed',
    'prompt_erased',
  ]);
});

describe.each(Object.values(CODES))('%s', (code) => {
  test('has a sentence of its own', () => {
    const [line] = explanations([code]);
    expect(line).toEqual({ code, text: expect.stringMatching(/^[A-Z].*\.$/) });
    const others = Object.values(CODES).filter((other) => other !== code);
    expect(explanations(others).map(({ text }) => text)).not.toContain(line?.text);
  });
});

test('members are comma-separated in the order of the invariants, numbers as a fraction', () => {
  expect(CODES.candidateDiffers).toBe('candidate_differs:image,sm');
  expect(CODES.belowThreshold).toBe('below_threshold:2/3');
});
test('lines keep their order', () => {
  const codes = ['rule:other', 'failure_not_counting', 'below_threshold:0/3'];
  expect(explanations(codes).map(({ code }) => code)).toEqual(codes);
});
