import { INVARIANTS, type Invariants, isValidInvariant } from '../attempt/invariants.ts';
import { explain } from '../explanation.ts';

export interface Candidate extends Invariants {
  readonly pool?: string | undefined;
}

/**
 * Why a candidate is not the identical allocation on preemptible capacity; empty = compatible (fallback 4).
 * Missing on both sides is not "equal": nothing is proven then.
 */
export function incompatibilities(request: Invariants, candidate: Candidate | undefined): readonly string[] {
  const codes: string[] = [];
  const incomplete = INVARIANTS.filter((name) => !isValidInvariant(request[name]));
  if (incomplete.length > 0) codes.push(explain.requestIncomplete(incomplete));
  if (candidate === undefined) return [...codes, explain.candidateMissing];

  // Text is compared exactly: `Preemptible` is another pool, and guessing would buy the wrong capacity.
  if (candidate.pool !== 'preemptible') codes.push(explain.candidatePool);
  const lacking = INVARIANTS.filter((name) => !isValidInvariant(candidate[name]));
  if (lacking.length > 0) codes.push(explain.candidateIncomplete(lacking));
  const differing = INVARIANTS.filter(
    (name) => isValidInvariant(candidate[name]) && request[name] !== candidate[name],
  );
  if (differing.length > 0) codes.push(explain.candidateDiffers(differing));
  return codes;
}
