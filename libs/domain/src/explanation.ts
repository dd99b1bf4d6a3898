import type { InvariantName } from './attempt/invariants.ts';

/** One line of an answer's explanation: a machine-readable code and one fixed sentence (fallback 1.4). */
export interface Explanation {
  readonly code: string;
  readonly text: string;
}

/** Evidence members that a preflight proof needs. */
export type EvidenceMember = 'on_demand_impossible' | 'preemptible_available';

/** The closed set of codes. Only member names of ours and numbers follow the colon. */
export const explain = {
  rule: (id: string) => `rule:${id}`,
  requestIncomplete: (members: readonly InvariantName[]) => `request_incomplete:${members.join(',')}`,
  candidateMissing: 'candidate_missing',
  candidatePool: 'candidate_pool',
  candidateIncomplete: (members: readonly InvariantName[]) => `candidate_incomplete:${members.join(',')}`,
  candidateDiffers: (members: readonly InvariantName[]) => `candidate_differs:${members.join(',')}`,
  belowThreshold: (count: number, threshold: number) => `below_threshold:${count}/${threshold}`,
  failureNotCounting: 'failure_not_counting',
  preflightUnproven: (members: readonly EvidenceMember[]) => `preflight_unproven:${members.join(',')}`,
  evidenceAlreadyPrompted: 'evidence_already_prompted',
  evidenceDeclined: 'evidence_declined',
  promptOpen: 'prompt_open',
  promptBudgetSpent: 'prompt_budget_spent',
  promptSuperseded: 'prompt_superseded',
  requestChanged: 'request_changed',
  promptRenewed: 'prompt_renewed',
  promptErased: 'prompt_erased',
} as const;

const SENTENCES: Readonly<Record<string, string>> = {
  rule: 'The failure was classified by this rule.',
  'rule:none': 'No rule of classification applies.',
  request_incomplete:
    'The request lacks valid values for these members, so an identical allocation cannot be proven.',
  candidate_missing: 'No preemptible candidate was given to compare with the request.',
  candidate_pool: 'The candidate is not of the preemptible pool.',
  candidate_incomplete: 'The candidate lacks valid values for these members.',
  candidate_differs: 'The candidate differs from the request in these members.',
  below_threshold: 'Fewer counting failures than a question needs.',
  failure_not_counting: 'The failure does not count as missing GPU capacity.',
  preflight_unproven: 'The preflight does not prove these halves of its claim.',
  evidence_already_prompted: 'The latest question was about this same evidence.',
  evidence_declined: 'A question about this same evidence was declined.',
  prompt_open: 'A failover question is open for this allocation.',
  prompt_budget_spent: 'This allocation has had all the questions it may have in 24 hours.',
  prompt_superseded: 'An older open question was replaced by this one.',
  request_changed: 'The request changed, so a fresh record was opened.',
  prompt_renewed: 'The question outlived its token and was renewed.',
  prompt_erased: 'The allocation was erased: its question can no longer be shown.',
};

/** Codes with their sentences, for a person. */
export function explanations(codes: readonly string[]): readonly Explanation[] {
  return codes.map((code) => ({ code, text: sentenceOf(code) }));
}

function sentenceOf(code: string): string {
  return SENTENCES[code] ?? SENTENCES[code.split(':', 1)[0] ?? ''] ?? 'See the code.';
}
