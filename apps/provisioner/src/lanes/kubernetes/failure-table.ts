import { z } from 'zod';
import { plainText } from '#domain/classify/normalise';
import { quotaDenial, schedulerVerdict } from '#domain/classify/scheduler-message';
import type { LaneCall, LaneFailureKind } from '#domain/provision/lane';
import type { Verdict } from '../failure.ts';
import { kindOfStatus } from '../status-map.ts';

/** What the API server answers when it refuses. */
const Status = z.object({
  kind: z.literal('Status'),
  message: z.string().catch(''),
  reason: z.string().catch(''),
  details: z.object({ retryAfterSeconds: z.number().optional() }).optional().catch(undefined),
});

export interface KubernetesFailureRow {
  readonly code: string;
  readonly status: number;
  readonly means: (message: string) => boolean;
  readonly kind: LaneFailureKind;
  readonly reason: string;
}

/** Refusals of the API server that mean more than their status (providers 5). */
export const KUBERNETES_FAILURES: readonly KubernetesFailureRow[] = [
  {
    code: 'exceeded_quota_gpu',
    status: 403,
    means: (message) => quotaDenial(message) === 'gpu',
    kind: 'quota',
    reason: 'A ResourceQuota of the namespace leaves no GPU.',
  },
  {
    code: 'exceeded_quota_other',
    status: 403,
    means: (message) => quotaDenial(message) === 'other',
    kind: 'rejected',
    reason: 'It is CPU, memory, disk or a count that the namespace may not have more of: not the GPUs.',
  },
  {
    code: 'expired_page',
    status: 410,
    means: () => true,
    kind: 'unavailable',
    reason: 'The rest of a listing can no longer be had: it is to be read from its start.',
  },
];

/** What an HTTP answer of the API server means. */
export function kubernetesVerdict(call: LaneCall, status: number, json: unknown): Verdict {
  const refusal = Status.safeParse(json).data;
  if (refusal === undefined) {
    return { kind: kindOfStatus(call, status, 'unreadable'), code: null, codeIsKnown: false };
  }
  const message = plainText(refusal.message);
  const row = KUBERNETES_FAILURES.find(
    (candidate) => candidate.status === status && candidate.means(message),
  );
  if (row !== undefined) return { kind: row.kind, code: row.code, codeIsKnown: true };
  const code = refusal.reason === '' ? null : refusal.reason;
  return { kind: kindOfStatus(call, status, 'readable'), code, codeIsKnown: false };
}

/** The pause that a refusal names in its body; null = none. */
export function pauseOf(json: unknown): number | null {
  return Status.safeParse(json).data?.details?.retryAfterSeconds ?? null;
}

export interface PlacementVerdict {
  readonly kind: 'capacity' | 'rejected';
  readonly code: string;
}

/**
 * What the scheduler's message about a pod that waits means; null = nothing that is known. Help text after
 * `preemption:` says nothing about the cause.
 */
export function placementVerdict(message: string): PlacementVerdict | null {
  switch (schedulerVerdict(plainText(message))) {
    case 'gpu':
      return { kind: 'capacity', code: 'unschedulable_gpu' };
    case 'product':
      return { kind: 'rejected', code: 'unschedulable_selector' };
    case 'other':
      return { kind: 'rejected', code: 'unschedulable_other' };
    case undefined:
      return null;
  }
}
