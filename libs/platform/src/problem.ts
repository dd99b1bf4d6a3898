import type { z } from 'zod';
import { type BadMember, badMembersOf } from './bad-members.ts';

/** One row of the table of problems: everything a caller is told, fixed beforehand (fallback 1.4). */
interface ProblemRow {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

/** Every problem there is. Nothing in a row comes from a request. */
const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    detail: 'Send one JSON object in UTF-8.',
  },
  malformed_request: {
    status: 400,
    title: 'The request is not HTTP/1.1',
    detail: 'Its request line, a header or the framing of its body cannot be read. Nothing was recorded.',
  },
  invalid_body: {
    status: 400,
    title: 'The body breaks the rules of this call',
    detail: 'Each bad member is listed under errors by its pointer. Nothing was recorded.',
  },
  invalid_query: {
    status: 400,
    title: 'The parameters break the rules of this call',
    detail: 'Each bad parameter is listed under errors by its pointer.',
  },
  unknown_caller: {
    status: 401,
    title: 'The caller is unknown',
    detail: 'Send valid credentials.',
  },
  not_permitted: {
    status: 403,
    title: 'The caller may not do this',
    detail: 'The caller is known but lacks the right for this call.',
  },
  cross_site: {
    status: 403,
    title: 'The call comes from another site',
    detail: 'Only a page of this very origin may decide something here.',
  },
  token_missing: {
    status: 403,
    title: 'Accepting needs the confirm token',
    detail: 'Send the confirm_token of the open question. The question stays open.',
  },
  token_invalid: {
    status: 403,
    title: 'The confirm token does not belong to the open question',
    detail: 'Send the confirm_token of the newest question. The question stays open.',
  },
  token_expired: {
    status: 403,
    title: 'The confirm token has expired',
    detail:
      'Send the same attempt again with its attempt_id for a new token, or decline. The question stays open.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here',
    detail: 'The path or location is unknown.',
  },
  request_too_slow: {
    status: 408,
    title: 'The request did not arrive in time',
    detail: 'Nothing was recorded. Send it again, whole.',
  },
  never_reported: {
    status: 409,
    title: 'The allocation was never reported',
    detail: 'No attempt and no launch of this allocation is recorded.',
  },
  never_launched: {
    status: 409,
    title: 'The allocation was never launched',
    detail: 'No launch of this allocation is recorded.',
  },
  launch_in_progress: {
    status: 409,
    title: 'The allocation is already launched',
    detail: 'It is placed, running, waiting or awaiting an answer. Nothing has changed.',
  },
  no_question_open: {
    status: 409,
    title: 'No question is open',
    detail: 'It was never asked, is answered already, or was withdrawn. Nothing has changed.',
  },
  other_question_open: {
    status: 409,
    title: 'The question that was answered is not the open one',
    detail: 'Read the open question again. Nothing has changed.',
  },
  nothing_parked: {
    status: 409,
    title: 'Nothing of this allocation is parked for this consumer',
    detail: 'It was worked off, or never parked. Nothing has changed.',
  },
  parked_elsewhere: {
    status: 409,
    title: 'The consumer waits at another event of this allocation',
    detail: 'Look again before deciding about that one.',
  },
  id_reused: {
    status: 409,
    title: 'The id was used with another body',
    detail: 'An id names one body. Send a new id with a new body.',
  },
  precondition_failed: {
    status: 412,
    title: 'The file is another one by now',
    detail: 'Leave out If-Match and If-Unmodified-Since to read it as it is.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    detail: 'At most 262144 bytes are taken.',
  },
  not_json_type: {
    status: 415,
    title: 'The content type is not application/json',
    detail: 'Send Content-Type: application/json.',
  },
  unknown_host: {
    status: 421,
    title: 'Spillway is not reached under this host name',
    detail:
      'It answers to loopback names, to the host of SPILLWAY_PUBLIC_URL and to those of SPILLWAY_HOST_NAMES, so that no other site can have its own name point here. Nothing was recorded.',
  },
  too_many_calls: {
    status: 429,
    title: 'The caller sends faster than its limit',
    detail: 'Nothing was recorded and the id is not used up. Repeat after Retry-After.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    detail: 'At most 16384 bytes of request line and headers are taken.',
  },
  internal: {
    status: 500,
    title: 'Spillway made a mistake',
    detail: 'Whether anything was recorded is unproven. Repeat with the same id.',
  },
  too_many_streams: {
    status: 503,
    title: 'Too many pages are connected',
    detail: 'Repeat after Retry-After, or read the lists.',
  },
  log_unavailable: {
    status: 503,
    title: 'The log cannot be reached',
    detail: 'Whether anything was recorded is unproven. Repeat with the same id after Retry-After.',
  },
} as const satisfies Readonly<Record<string, ProblemRow>>;

export type ProblemName = keyof typeof PROBLEMS;
/** All problem names, for documentation and metric labels. */
export const PROBLEM_NAMES: readonly ProblemName[] = Object.keys(PROBLEMS).filter(
  (name): name is ProblemName => name in PROBLEMS,
);

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';
const DEFAULT_RETRY_AFTER_S = 1;

/** An RFC 9457 body. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Only for 400: one row a bad member. */
  readonly errors?: readonly BadMember[];
  /** Only for 409 on a known record: its view (fallback 1.2). */
  readonly allocation?: unknown;
  /** Only for 409 on a question: the question as it stands, with who answered it and when. */
  readonly prompt?: unknown;
}

/** A refusal, ready to send. */
export interface Problem {
  readonly name: ProblemName;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ProblemBody;
}

export interface ProblemExtras {
  readonly errors?: readonly BadMember[];
  readonly allocation?: unknown;
  readonly prompt?: unknown;
  /** Whole seconds, at least 1; for 429 and 503, which always carry Retry-After. */
  readonly retryAfterS?: number;
}

/** Builds a refusal of the table. */
export function problem(name: ProblemName, extras: ProblemExtras = {}): Problem {
  const row = PROBLEMS[name];
  const retry = row.status === 429 || row.status === 503;
  const retryAfterS = Math.max(1, Math.ceil(extras.retryAfterS ?? DEFAULT_RETRY_AFTER_S));
  return {
    name,
    status: row.status,
    headers: {
      'content-type': PROBLEM_CONTENT_TYPE,
      ...(retry ? { 'retry-after': String(retryAfterS) } : {}),
    },
    body: {
      type: typeOf(name),
      title: row.title,
      status: row.status,
      detail: row.detail,
      ...(extras.errors === undefined ? {} : { errors: extras.errors }),
      ...(extras.allocation === undefined ? {} : { allocation: extras.allocation }),
      ...(extras.prompt === undefined ? {} : { prompt: extras.prompt }),
    },
  };
}

/** The `type` member of a problem: stable, to be compared as a whole. */
export function typeOf(name: ProblemName): string {
  return `urn:spillway:problem:${name.replaceAll('_', '-')}`;
}

/**
 * The 400 for what zod found: every bad member at once, by pointer and code, never by value. Give the schema
 * when it contains records, whose keys are the caller's text: pointers then end at the record.
 */
export function problemOf(error: z.core.$ZodError, schema?: z.core.$ZodType): Problem {
  return problem('invalid_body', { errors: badMembersOf(error, schema) });
}

/** The same for the parameters of a read: they are caller text too, and their pointers begin at the query. */
export function parseQuery<Schema extends z.ZodType>(
  schema: Schema,
  query: unknown,
): Parsed<z.output<Schema>> {
  const parsed = schema.safeParse(query, { reportInput: true });
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, problem: problem('invalid_query', { errors: badMembersOf(parsed.error, schema) }) };
}

export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: Problem };

/** Parses at the edge: the value, or the 400 that says what is wrong with it. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): Parsed<z.output<Schema>> {
  // Only with the input at hand can a missing member be told from one of the wrong type.
  const parsed = schema.safeParse(body, { reportInput: true });
  return parsed.success
    ? { ok: true, value: parsed.data }
    : { ok: false, problem: problemOf(parsed.error, schema) };
}
