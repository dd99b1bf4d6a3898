import { Agent, request } from 'undici';

/** One request to a provider. */
export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** From the start to the last byte of the answer. */
  readonly deadlineMs: number;
}

/** What came back. Redirects are answers as well: they are not followed. */
export type HttpReply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfterS: number | null;
      readonly text: string;
      /** The parsed body; undefined when it is no JSON. */
      readonly json: unknown;
    }
  | {
      readonly kind: 'unanswered';
      /** Whether the request can have reached the other side. */
      readonly sent: boolean;
      readonly text: string;
    };

export type HttpExchange = (call: HttpCall) => Promise<HttpReply>;

const CONNECT_TIMEOUT_MS = 5_000;
/** A listing of ten thousand machines is some 20 MiB. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/**
 * Sends a request once, whatever happens: no retry, no redirect, and a connection of its own. On a kept one
 * that the other side has just closed, a create would end as "may have taken effect" for nothing.
 */
export function httpExchange(): HttpExchange {
  const dispatcher = new Agent({
    pipelining: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    maxResponseSize: ANSWER_MAX_BYTES,
  });
  return async ({ method, url, headers, body, deadlineMs }) => {
    try {
      const response = await request(url, {
        dispatcher,
        method,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(Math.max(1, Math.ceil(deadlineMs))),
      });
      const text = await response.body.text();
      return {
        kind: 'answered',
        status: response.statusCode,
        retryAfterS: retryAfterS(response.headers),
        text,
        json: jsonOf(text),
      };
    } catch (error) {
      return { kind: 'unanswered', sent: !failedBeforeSending(error), text: describe(error) };
    }
  };
}

// Each of these is raised while the connection is being made; everything else may have sent something.
const BEFORE_SENDING = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_INVALID_URL',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** True only if the request certainly never left: name not resolved, connection refused or not made. */
export function failedBeforeSending(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.every(failedBeforeSending);
  }
  const code = codeOf(error);
  if (code !== null) return BEFORE_SENDING.has(code);
  return error instanceof Error && error.cause !== undefined && failedBeforeSending(error.cause);
}

/** Seconds of a `Retry-After`: a number, or a date against the answer's own `Date`. Null when absent or unreadable. */
export function retryAfterS(headers: Readonly<Record<string, string | string[] | undefined>>): number | null {
  const value = headers['retry-after'];
  if (typeof value !== 'string') return null;
  if (/^\d{1,9}(\.\d+)?$/.test(value.trim())) return Math.ceil(Number(value));
  const sent = headers.date;
  const waitMs = typeof sent === 'string' ? Date.parse(value) - Date.parse(sent) : Number.NaN;
  return Number.isFinite(waitMs) ? Math.max(0, Math.ceil(waitMs / 1_000)) : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const code = codeOf(error);
  return code === null ? `${error.name}: ${error.message}` : `${code}: ${error.message}`;
}
