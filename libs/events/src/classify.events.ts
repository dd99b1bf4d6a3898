import { z } from 'zod';
import { Digest, defineEvent } from './define-event.ts';
import { FAILURE_CATEGORIES, Scalars } from './scalars.ts';

/** What every decision about an attempt says beside its meaning. */
export const decidedAttempt = {
  /** `opened`: there was no record, or the request changed, and a fresh record begins (fallback 3, row 1). */
  record: z.enum(['opened', 'kept']),
  requestDigest: Digest,
  evidenceDigest: Digest,
  explanation: z.array(z.string()),
  after: Scalars,
};

export const classified = {
  category: z.enum(FAILURE_CATEGORIES),
  qualifying: z.boolean(),
  proof: z.boolean(),
  compatible: z.boolean(),
};

/** An on-demand attempt was classified and counted (or not), and no question was asked. */
export const AttemptTracked = defineEvent({
  type: 'AttemptTracked',
  version: 1,
  stage: 'classify',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: ['consent', 'ingest'],
  data: z.strictObject({
    ...decidedAttempt,
    ...classified,
    reason: z.enum(['threshold_not_met', 'suppressed']),
  }),
});

/** An attempt that says nothing about on-demand capacity. */
export const AttemptIgnored = defineEvent({
  type: 'AttemptIgnored',
  version: 1,
  stage: 'classify',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: ['consent', 'ingest'],
  data: z.strictObject({
    ...decidedAttempt,
    reason: z.enum(['preemptible_already_selected', 'not_on_demand']),
  }),
});

/** The allocation was placed: the count starts again, an open question is withdrawn. */
export const AllocationSucceeded = defineEvent({
  type: 'AllocationSucceeded',
  version: 1,
  stage: 'classify',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: ['consent', 'ingest'],
  data: z.strictObject(decidedAttempt),
});
