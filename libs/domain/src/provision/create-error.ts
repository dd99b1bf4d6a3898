import { LANE_FAILURES } from '#events/plan';
import type { FailureCategory } from '../classify/category.ts';
import { classify } from '../classify/classify.ts';
import { compactCode } from '../classify/normalise.ts';
import { providerCode } from '../classify/provider-codes.ts';
import type { LaneFailureKind } from './lane.ts';

export interface CreateError {
  readonly code: string | null;
  readonly message: string | null;
}

/** What an observation's failed create means, and its code where it may stand in clear (failover 6). */
export interface ReadCreateError {
  readonly kind: LaneFailureKind;
  readonly code: string | null;
}

/**
 * The union member of a create that failed in the end: the code itself where it is one, else what the
 * classification of placement failures makes of code and text (failover 4.2, 6).
 */
export function readCreateError(error: CreateError): ReadCreateError {
  const { code, message } = error;
  // In the table's spelling: the caller's is text of a caller.
  const inClear = code === null ? null : (providerCode(compactCode(code))?.code ?? null);
  const member = LANE_FAILURES.find((kind) => kind === code);
  if (member !== undefined) return { kind: member, code: inClear };
  const { category } = classify({ code: code ?? undefined, message: message ?? undefined });
  return { kind: KIND_OF[category], code: inClear };
}

/** One member a category; in doubt the lane refused the request: nothing is asked again unchanged. */
const KIND_OF: Readonly<Record<FailureCategory, LaneFailureKind>> = {
  quota_exhausted: 'quota',
  capacity_exhausted: 'capacity',
  unschedulable_gpu: 'capacity',
  // The lane does not offer it there: for the ladder this is no room.
  no_compatible_product: 'capacity',
  auth: 'auth',
  rbac: 'auth',
  network: 'unavailable',
  timeout: 'unavailable',
  image_pull: 'rejected',
  checkpoint: 'rejected',
  application: 'rejected',
  runtime: 'rejected',
  cancelled: 'rejected',
  other: 'rejected',
};
