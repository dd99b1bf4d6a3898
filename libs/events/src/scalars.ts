import { z } from 'zod';
import { Digest, EventId, Instant } from './define-event.ts';

/** Why a failed placement failed (fallback 2). Only the first four count as "no GPU capacity". */
export const FAILURE_CATEGORIES = [
  'quota_exhausted',
  'capacity_exhausted',
  'unschedulable_gpu',
  'no_compatible_product',
  'auth',
  'rbac',
  'network',
  'image_pull',
  'checkpoint',
  'application',
  'runtime',
  'cancelled',
  'timeout',
  'other',
] as const;

/**
 * The one question that a person may answer now. `originId` is the event that first asked it: a renewal
 * gives the same question a new id, life time and token (fallback 6).
 */
export const OpenQuestion = z.strictObject({
  kind: z.enum(['pool', 'failover']),
  eventId: EventId,
  originId: EventId,
  actionDigest: Digest,
  evidenceDigest: Digest,
  expiresAt: Instant,
});
export type OpenQuestion = z.output<typeof OpenQuestion>;

/**
 * The record after a decision, carried by the decision itself, so that a cold start reads the last one
 * instead of the whole stream. Replay computes it anew and compares (fallback 7).
 */
export const Scalars = z.strictObject({
  requestDigest: Digest.nullable(),
  /** Decision version before which rows belong to an earlier record of this name. */
  recordSince: z.int().nonnegative(),
  /** Decision version before which prompted and declined evidence is forgotten. */
  evidenceSince: z.int().nonnegative(),
  count: z.int().nonnegative(),
  status: z.enum(['tracking', 'awaiting-consent', 'consented', 'declined', 'succeeded']),
  consent: z.enum(['not-requested', 'pending', 'accepted', 'declined']),
  pool: z.enum(['on-demand', 'preemptible']),
  promptedEvidence: Digest.nullable(),
  openQuestion: OpenQuestion.nullable(),
  /** When this name was asked about in the 24 h before its newest question (fallback 3, budget). */
  questionTimes: z.array(Instant),
});
export type Scalars = z.output<typeof Scalars>;
