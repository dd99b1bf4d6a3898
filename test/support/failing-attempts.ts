import { ATTEMPT_BODY } from './attempt-bodies.ts';
import type { Body, Calls, Reply } from './calls.ts';

export interface FailureChange {
  readonly attempt_id?: string;
  readonly fingerprint?: string;
}

/** A capacity failure of an allocation with a compatible candidate: the third one asks. */
export function capacityFailure(name: string, { fingerprint = 'f1', ...change }: FailureChange = {}): Body {
  const evidence = { ...ATTEMPT_BODY.evidence, fingerprint };
  return { ...ATTEMPT_BODY, logical_allocation: name, evidence, ...change };
}

/** A provider preflight that proves both halves: it asks at once. */
export function preflightProof(name: string, change: FailureChange = {}): Body {
  const evidence = { source: 'provider-preflight', on_demand_impossible: true, preemptible_available: true };
  const { fingerprint = 'f1', ...rest } = change;
  return { ...capacityFailure(name, rest), evidence: { ...evidence, fingerprint } };
}

/** Reports failures one after the other until the question is asked; answers the reply that asks. */
export async function askedByFailures(
  calls: Calls,
  name: string,
  change: FailureChange = {},
): Promise<Reply> {
  await calls.attempt(capacityFailure(name));
  await calls.attempt(capacityFailure(name));
  return calls.attempt(capacityFailure(name, change));
}
