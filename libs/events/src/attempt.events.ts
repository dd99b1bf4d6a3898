import { z } from 'zod';
import { Digest, defineEvent } from './define-event.ts';

/** Who reported or answered: `local` while authentication is off, else the digest of the subject. */
export const Actor = z.union([z.literal('local'), Digest]);

/**
 * A placement failure (or success) as it was reported. What the caller wrote is sealed; here stand digests
 * and the yes/no inputs that the edge read off the body.
 */
export const AttemptReported = defineEvent({
  type: 'AttemptReported',
  version: 1,
  stage: 'attempt',
  role: 'input',
  writtenBy: ['ingest'],
  consumedBy: ['classifier'],
  data: z.strictObject({
    ringKeyId: z.string(),
    attemptIdDigest: Digest.nullable(),
    bodyDigest: Digest,
    reportedBy: Actor,
    success: z.boolean(),
    pool: z.enum(['on-demand', 'other']),
    requestDigest: Digest,
    evidenceDigest: Digest,
    actionDigest: Digest,
    /** A provider preflight that proves both halves, with a compatible candidate (fallback 3). */
    proof: z.boolean(),
    compatible: z.boolean(),
    /** Explanation codes of what the body itself lacks; member names only (fallback 1.4). */
    blockers: z.array(z.string()),
    /** Address of the sealed failure; null when nothing failed. */
    failureDigest: Digest.nullable(),
  }),
});
