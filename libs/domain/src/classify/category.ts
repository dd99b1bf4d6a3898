import type { FAILURE_CATEGORIES } from '#events/scalars';

/** Why a failed placement failed: the closed set of fallback 2. Caller text never becomes a category. */
export type FailureCategory = (typeof FAILURE_CATEGORIES)[number];

/** The categories that count as a failed GPU placement (fallback 2). */
export const QUALIFYING_CATEGORIES = [
  'quota_exhausted',
  'capacity_exhausted',
  'unschedulable_gpu',
  'no_compatible_product',
] as const satisfies readonly FailureCategory[];
export type QualifyingCategory = (typeof QUALIFYING_CATEGORIES)[number];

/**
 * The categories that never count, in the order in which they name a failure when several apply: the step
 * that failed (a pull) before the manner of failing (a TLS timeout), fallback 2.1 rule 2.
 */
export const NEVER_COUNT_CATEGORIES = [
  'image_pull',
  'checkpoint',
  'application',
  'runtime',
  'auth',
  'rbac',
  'network',
  'cancelled',
  'timeout',
] as const satisfies readonly FailureCategory[];
export type NeverCountCategory = (typeof NEVER_COUNT_CATEGORIES)[number];

/** Whether a failure of this category counts toward the question (fallback 2). */
export function qualifies(category: FailureCategory): boolean {
  return QUALIFYING_CATEGORIES.some((one) => one === category);
}
