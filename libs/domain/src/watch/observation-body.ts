import { z } from 'zod';
import { instantMs, plusSeconds } from '#events/instant';
import { GUEST_PHASES, type Observation, PROVIDER_STATES } from '#events/watch.events';
import { withoutAbsent } from '../attempt/assess.ts';
import {
  CODE_MAX_CHARS,
  LogicalAllocation,
  MESSAGE_MAX_CHARS,
  optional,
  TEXT_MAX_CHARS,
  text,
} from '../attempt/attempt-body.ts';
import { digest } from '../digest.ts';
import type { RingKey } from '../key-ring.ts';
import { MessageId } from '../provision/launch-body.ts';

/** An observation further ahead of the receiver's clock is refused (failover 2.2). */
export const AHEAD_MAX_S = 300;

const word = text(TEXT_MAX_CHARS).min(1);

// RFC 3339 in UTC: both letters may be small, and an offset of nothing is UTC too (failover 2).
const UTC = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|[+-]00:00)$/;

/** A time in the log's form, cut to whole milliseconds. A day or an hour that does not exist is refused. */
const instant = z.string().transform((value, context) => {
  const [, date, time, fraction = ''] = UTC.exec(value) ?? [];
  const read = `${date}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  if (date !== undefined && !Number.isNaN(instantMs(read)) && plusSeconds(read, 0) === read) return read;
  context.addIssue({ code: 'custom', input: value, params: { code: 'wrong_format' } });
  return z.NEVER;
});

const createError = z.object({
  code: optional(text(CODE_MAX_CHARS)),
  message: optional(text(MESSAGE_MAX_CHARS)),
});

/**
 * The body of `POST .../observation` (failover 2.2), as it is taken at `receivedAt`. Unknown members are ignored
 * at every level; null is absent.
 */
export function observationBody(receivedAt: string) {
  const latest = plusSeconds(receivedAt, AHEAD_MAX_S);
  return z.object({
    message_id: optional(MessageId),
    logical_allocation: LogicalAllocation,
    instance: word,
    lane: word,
    observed_at: instant.refine((at) => at <= latest, { params: { code: 'out_of_range' } }),
    provider: z.enum(PROVIDER_STATES),
    guest: optional(z.object({ phase: z.enum(GUEST_PHASES), workload_started: optional(z.boolean()) })),
    alarm: optional(z.enum(['none', 'transport', 'control_plane'])),
    log_age_s: optional(z.number().nonnegative().max(Number.MAX_SAFE_INTEGER)),
    create_operation: optional(z.enum(['done', 'running', 'failed', 'unknown'])),
    create_error: optional(createError),
    delete_operation: optional(z.enum(['none', 'present', 'unknown'])),
    port: optional(z.boolean()),
  });
}
export type ObservationBody = z.output<ReturnType<typeof observationBody>>;

/** The text of a failed create, as it is sealed; null when the body tells of none. */
export interface CreateErrorText {
  readonly code: string | null;
  readonly message: string | null;
}

/** What an observation tells of a failed create; only beside `create_operation: failed` (failover 2.2). */
export function createErrorOf(body: ObservationBody): CreateErrorText | null {
  if (body.create_operation !== 'failed') return null;
  return { code: body.create_error?.code ?? null, message: body.create_error?.message ?? null };
}

/** One poll with every default filled in. */
export function observationOf(body: ObservationBody, failed: Observation['createError']): Observation {
  const { guest } = body;
  return {
    instance: body.instance,
    lane: body.lane,
    observedAt: body.observed_at,
    provider: body.provider,
    guest:
      guest === undefined ? null : { phase: guest.phase, workloadStarted: guest.workload_started ?? null },
    alarm: body.alarm ?? 'none',
    logAgeS: body.log_age_s ?? null,
    createOperation: body.create_operation ?? 'unknown',
    createError: failed,
    deleteOperation: body.delete_operation ?? 'unknown',
    port: body.port ?? null,
  };
}

/** Digest of the known members without the id: two bodies are the same poll when it is equal (failover 2). */
export function observationBodyDigest(body: ObservationBody, key: RingKey): string {
  const { message_id: _id, ...rest } = body;
  return digest(key.digests, 'observation-body', withoutAbsent(rest));
}
