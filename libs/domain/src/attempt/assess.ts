import { digest } from '../digest.ts';
import { type EvidenceMember, explain } from '../explanation.ts';
import type { RingKey } from '../key-ring.ts';
import { incompatibilities } from '../prompt/compatibility.ts';
import type { AttemptBody } from './attempt-body.ts';
import { invariantsOf } from './invariants.ts';

const SOURCES = ['provider-preflight', 'scheduler', 'terraform', 'skypilot', 'unknown'] as const;

/** The sealed text of a failure: what an auditor may ask today's classifier about. */
export interface FailureText {
  readonly code: string | null;
  readonly message: string | null;
  readonly evidence: {
    readonly source: string | null;
    readonly on_demand_impossible: boolean;
    readonly preemptible_available: boolean;
    readonly fingerprint: string | null;
  };
}

/** The proposed action of the pool question (fallback 1.1), without its digests. */
export const POOL_SWITCH = {
  action: 'switch_gpu_capacity_pool',
  from: 'on-demand',
  to: 'preemptible',
} as const;

/** Everything that the rules need of a body, as digests and yes/no inputs, and what is to be sealed. */
export function assessAttempt(body: AttemptBody, key: RingKey) {
  const invariants = invariantsOf(body.request);
  const ref = allocationRef(body.logical_allocation, key);
  const source = SOURCES.find((known) => known === body.evidence?.source) ?? 'unknown';
  const onDemandImpossible = body.evidence?.on_demand_impossible ?? false;
  const preemptibleAvailable = body.evidence?.preemptible_available ?? false;
  const fingerprint = body.evidence?.fingerprint || null;
  const blockers = [...incompatibilities(body.request, body.preemptible_candidate)];
  const compatible = blockers.length === 0;

  const unproven: EvidenceMember[] = [];
  if (!onDemandImpossible) unproven.push('on_demand_impossible');
  if (!preemptibleAvailable) unproven.push('preemptible_available');
  const isPreflight = source === 'provider-preflight';
  if (isPreflight && unproven.length > 0) blockers.push(explain.preflightUnproven(unproven));

  const evidenceDigest = digest(key.digests, 'evidence', {
    source,
    on_demand_impossible: onDemandImpossible,
    preemptible_available: preemptibleAvailable,
    fingerprint: fingerprint === null ? null : digest(key.digests, 'fingerprint', fingerprint),
  });
  const failure: FailureText | null =
    body.failure === undefined
      ? null
      : {
          code: body.failure.code ?? null,
          message: body.failure.message ?? null,
          evidence: {
            source: body.evidence?.source ?? null,
            on_demand_impossible: onDemandImpossible,
            preemptible_available: preemptibleAvailable,
            fingerprint,
          },
        };

  return {
    ref,
    invariants,
    failure,
    success: body.success ?? false,
    pool: (body.request.pool || 'on-demand') === 'on-demand' ? ('on-demand' as const) : ('other' as const),
    requestDigest: digest(key.digests, 'request', invariants),
    evidenceDigest,
    actionDigest: poolActionDigest(key, ref, invariants, evidenceDigest),
    failureDigest: failure === null ? null : digest(key.digests, 'failure', failure),
    proof: isPreflight && unproven.length === 0 && compatible,
    compatible,
    blockers,
  };
}

/** `logical_allocation_ref` of a trimmed name (fallback 5). */
export function allocationRef(trimmedName: string, key: RingKey): string {
  return digest(key.refs, 'allocation-ref', trimmedName);
}

function poolActionDigest(
  key: RingKey,
  ref: string,
  invariants: ReturnType<typeof invariantsOf>,
  evidenceDigest: string,
): string {
  return digest(key.digests, 'action', {
    ...POOL_SWITCH,
    logical_allocation_ref: ref,
    invariants,
    evidence_digest: evidenceDigest,
  });
}

/** Digest of the known members without the id: two bodies are the same attempt when it is equal (fallback 1.1). */
export function attemptBodyDigest(body: AttemptBody, key: RingKey): string {
  const { attempt_id: _id, ...rest } = body;
  return digest(key.digests, 'attempt-body', withoutAbsent(rest));
}

/** Absent members left out at every level, so that null and absent are one body. */
export function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent);
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(present.map(([name, member]) => [name, withoutAbsent(member)]));
}
