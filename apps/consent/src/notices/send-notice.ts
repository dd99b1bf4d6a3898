import { Webhook } from 'standardwebhooks';
import { Agent, type Dispatcher, request } from 'undici';
import type { ClaimedNotice } from '#domain/prompt/notice-table';
import type { Receiver } from '#platform/notice-variables';

/** How one try ended. What the receiver said beside its status is not looked at. */
export type Sent =
  | { readonly outcome: 'delivered'; readonly status: number }
  | { readonly outcome: 'refused'; readonly status: number; readonly retryAfterS: number | null }
  | { readonly outcome: 'timeout' | 'unreachable' };

export interface Sending {
  readonly dispatcher: Dispatcher;
  /** For the whole exchange, the connecting too. */
  readonly timeoutMs: number;
  /** Ends the try, as at a shutdown. */
  readonly signal: AbortSignal;
  /** When it is sent: RFC 3339. Receivers refuse what is too old. */
  readonly now: string;
}

/** What of an answer's body is read, so that the connection can be used again; more of it closes the connection. */
const BODY_READ_MAX_BYTES = 16 * 1024;
const CONNECTIONS_MAX = 8;
const GONE = 410;
/** Only these say when to come back (RFC 9110). */
const RETRY_AFTER_STATUSES: readonly number[] = [429, 503];

/** Connections to one receiver: bounded, and never shared with another one's. */
export function receiverAgent(timeoutMs: number): Agent {
  return new Agent({
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    connect: { timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
}

/**
 * Sends one notice in the form of Standard Webhooks, signed under every key of the receiver. Redirects are not
 * followed: they would hand the notice to somebody who was not configured. Rejects only when `signal` ended it.
 */
export async function sendNotice(notice: ClaimedNotice, receiver: Receiver, sending: Sending): Promise<Sent> {
  const { dispatcher, timeoutMs, signal, now } = sending;
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await request(receiver.url.reveal(), {
      method: 'POST',
      dispatcher,
      signal: AbortSignal.any([late, signal]),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'spillway',
        ...signedHeaders(notice, receiver.keys.reveal(), now),
      },
      body: notice.body,
    });
    // The status has said it all: what becomes of the body changes nothing.
    await answer.body.dump({ limit: BODY_READ_MAX_BYTES }).catch(() => undefined);
    const status = answer.statusCode;
    if (status >= 200 && status < 300) return { outcome: 'delivered', status };
    return {
      outcome: 'refused',
      status,
      retryAfterS: retryAfterOf(status, answer.headers['retry-after'], now),
    };
  } catch (error) {
    signal.throwIfAborted();
    return { outcome: late.aborted || isTimeout(error) ? 'timeout' : 'unreachable' };
  }
}

/** The receiver wants nothing more (Standard Webhooks). */
export function saysGone(sent: Sent): boolean {
  return sent.outcome === 'refused' && sent.status === GONE;
}

/** `webhook-id`, `-timestamp` and `-signature`; several keys give several signatures, the newest first. */
export function signedHeaders(
  { id, body }: Pick<ClaimedNotice, 'id' | 'body'>,
  keys: readonly string[],
  now: string,
): Readonly<Record<string, string>> {
  const at = new Date(now);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': keys.map((key) => new Webhook(key).sign(id, at, body)).join(' '),
  };
}

function retryAfterOf(status: number, header: string | string[] | undefined, now: string): number | null {
  if (!RETRY_AFTER_STATUSES.includes(status) || typeof header !== 'string') return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  // An HTTP date begins with a day's name; what else Date.parse would make of a text is no date of theirs.
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.parse(now)) / 1_000));
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /TIMEOUT$|ETIMEDOUT/.test(String(error.code));
}
