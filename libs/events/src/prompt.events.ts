import { z } from 'zod';
import { classified, decidedAttempt } from './classify.events.ts';
import { Digest, defineEvent, EventId, Instant } from './define-event.ts';
import { Escalation } from './intent.events.ts';
import { Scalars } from './scalars.ts';
import { Verdict } from './watch.events.ts';

/** An attempt was counted (or proved that on-demand cannot succeed) and a person is asked. */
export const FallbackPrompted = defineEvent({
  type: 'FallbackPrompted',
  version: 1,
  stage: 'prompt',
  role: 'decision',
  writtenBy: ['classifier'],
  consumedBy: ['consent', 'ingest'],
  data: z.strictObject({
    ...decidedAttempt,
    ...classified,
    reason: z.enum(['deterministic_preflight', 'failed_attempt_threshold']),
    actionDigest: Digest,
    /** Recorded time of the attempt: the clock of the question budget. */
    askedAt: Instant,
    expiresAt: Instant,
  }),
});

/** An open question outlived its token: the same question with a new id, life time and token. */
export const PromptRenewed = defineEvent({
  type: 'PromptRenewed',
  version: 1,
  stage: 'prompt',
  role: 'decision',
  writtenBy: ['consent', 'ingest'],
  consumedBy: ['classifier', 'consent', 'ingest'],
  data: z.strictObject({ renews: EventId, expiresAt: Instant, after: Scalars }),
});

/** A person is asked before the move. Nothing is cancelled or created before the answer. */
export const FailoverPrompted = defineEvent({
  type: 'FailoverPrompted',
  version: 1,
  stage: 'prompt',
  role: 'decision',
  writtenBy: ['classifier', 'provisioner'],
  consumedBy: ['classifier', 'consent', 'ingest'],
  data: z.strictObject({
    escalation: Escalation,
    actionDigest: Digest,
    evidenceDigest: Digest,
    askedAt: Instant,
    expiresAt: Instant,
    /** An open pool question that this one withdraws (failover 4.8). */
    withdrew: EventId.nullable(),
    verdict: Verdict,
    after: Scalars,
  }),
});
