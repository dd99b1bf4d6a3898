import { z } from 'zod';
import { Actor } from './attempt.events.ts';
import { Digest, defineEvent, EventId, Instant } from './define-event.ts';
import { Scalars } from './scalars.ts';

/** A person's answer as it came. Refused answers are not recorded: they burn nothing. */
export const ConsentAnswered = defineEvent({
  type: 'ConsentAnswered',
  version: 1,
  stage: 'consent',
  role: 'input',
  writtenBy: ['consent'],
  consumedBy: [],
  data: z.strictObject({
    answerIdDigest: Digest.nullable(),
    bodyDigest: Digest,
    answeredBy: Actor,
    accept: z.boolean(),
    questionId: EventId,
  }),
});

const answered = {
  questionId: EventId,
  actionDigest: Digest,
  evidenceDigest: Digest,
  requestDigest: Digest,
  answeredBy: Actor,
  after: Scalars,
};

/** The identical allocation may use preemptible capacity. */
export const ConsentAccepted = defineEvent({
  type: 'ConsentAccepted',
  version: 1,
  stage: 'consent',
  role: 'decision',
  writtenBy: ['consent'],
  consumedBy: ['classifier', 'consent', 'ingest', 'provisioner'],
  data: z.strictObject(answered),
});

/** The question stays declined until materially new evidence. */
export const ConsentDeclined = defineEvent({
  type: 'ConsentDeclined',
  version: 1,
  stage: 'consent',
  role: 'decision',
  writtenBy: ['consent'],
  consumedBy: ['classifier', 'consent', 'ingest'],
  data: z.strictObject(answered),
});

const failoverAnswered = {
  questionId: EventId,
  actionDigest: Digest,
  key: z.string(),
  answeredBy: Actor,
  after: Scalars,
};

export const FailoverAccepted = defineEvent({
  type: 'FailoverAccepted',
  version: 1,
  stage: 'consent',
  role: 'decision',
  writtenBy: ['consent'],
  consumedBy: ['classifier', 'consent', 'ingest'],
  data: z.strictObject({
    ...failoverAnswered,
    /** Until then it covers the re-drives of its move (failover 14). */
    expiresAt: Instant,
  }),
});

/** Final: the allocation is blocked. */
export const FailoverDeclined = defineEvent({
  type: 'FailoverDeclined',
  version: 1,
  stage: 'consent',
  role: 'decision',
  writtenBy: ['consent'],
  consumedBy: ['classifier', 'consent', 'ingest'],
  data: z.strictObject(failoverAnswered),
});
