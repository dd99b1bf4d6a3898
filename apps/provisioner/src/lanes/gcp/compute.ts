import type { LaneCall, LaneFailure } from '#domain/provision/lane';
import type { HttpExchange, HttpReply } from '../exchange.ts';
import { answeredFailure, type CallSite, localFailure, unansweredFailure } from '../failure.ts';
import { gcpVerdict, operationVerdict } from './failure-table.ts';
import { isDone, type Operation, readOperation } from './operation.ts';
import type { TokenReply, TokenSource } from './tokens.ts';

export const PROVIDER = 'gcp';

/** An answer with the token that asked for it, since no text may repeat it. */
export type ComputeReply =
  | { readonly kind: 'replied'; readonly reply: HttpReply; readonly token: string }
  | { readonly kind: 'failed'; readonly failure: LaneFailure };

export type Outcome<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'failed'; readonly failure: LaneFailure };

/** Requests to Compute REST, each with a fresh token, and what their answers mean. */
export class Compute {
  readonly #base: string;
  readonly #exchange: HttpExchange;
  readonly #tokens: TokenSource;

  constructor(options: {
    readonly base: string;
    readonly exchange: HttpExchange;
    readonly tokens: TokenSource;
  }) {
    this.#base = options.base;
    this.#exchange = options.exchange;
    this.#tokens = options.tokens;
  }

  async send(
    call: LaneCall,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    deadlineMs: number,
    body?: unknown,
  ): Promise<ComputeReply> {
    const untilMs = performance.now() + deadlineMs;
    const token = await within(deadlineMs, this.#tokens());
    if (token.kind === 'failed') {
      return { kind: 'failed', failure: localFailure(siteOf(call, ''), token.failure, token.text) };
    }
    const reply = await this.#exchange({
      method,
      url: `${this.#base}${path}`,
      headers: { authorization: `Bearer ${token.token}`, accept: 'application/json' },
      ...(body === undefined ? {} : { body }),
      // A login that took its time leaves the request less of it: nothing is sent after the deadline.
      deadlineMs: untilMs - performance.now(),
    });
    return { kind: 'replied', reply, token: token.token };
  }

  /** The value of a good answer, or the failure. `asked` is the call whose words count, where it is not `call`. */
  async ask<Value>(
    call: LaneCall,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    options: {
      readonly deadlineMs: number;
      readonly body?: unknown;
      readonly read: (json: unknown) => Value | null;
      readonly asked?: LaneCall;
    },
  ): Promise<Outcome<Value>> {
    const sent = await this.send(call, method, path, options.deadlineMs, options.body);
    if (sent.kind === 'failed') return sent;
    const { reply, token } = sent;
    const good = reply.kind === 'answered' && reply.status >= 200 && reply.status < 300;
    const value = good ? options.read(reply.json) : null;
    if (value !== null) return { kind: 'ok', value };
    const failure = failureOf(siteOf(options.asked ?? call, token), reply);
    return { kind: 'failed', failure: { ...failure, call } };
  }

  /** Follows an operation until it is done or the time is over; null = it is not done yet. */
  async follow(
    call: LaneCall,
    zone: string,
    begun: Operation,
    untilMs: number,
  ): Promise<Outcome<Operation | null>> {
    let operation = begun;
    while (!isDone(operation)) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return { kind: 'ok', value: null };
      const path = `/zones/${zone}/operations/${encodeURIComponent(operation.name)}/wait`;
      const next = await this.ask(call, 'POST', path, { deadlineMs: leftMs, read: readOperation });
      if (next.kind === 'failed') return next;
      // A server that answers at once that it is not done yet must not be asked without a pause.
      if (!isDone(next.value)) await pause(Math.min(PAUSE_MS, leftMs));
      operation = next.value;
    }
    return { kind: 'ok', value: operation };
  }
}

const PAUSE_MS = 250;

/** The failure of an operation that is done with errors. */
export function operationFailure(call: LaneCall, operation: Operation): LaneFailure {
  const errors = operation.error?.errors ?? [];
  return {
    ...operationVerdict(call, errors, operation.httpErrorStatusCode),
    provider: PROVIDER,
    call,
    status: operation.httpErrorStatusCode,
    text: errors.map(({ code, message }) => `${code}: ${message}`).join('\n'),
    retryAfterS: null,
    sent: true,
  };
}

/** The failure of an operation whose end was not seen. */
export function unfinished(call: LaneCall, operation: Operation): LaneFailure {
  return {
    kind: call === 'create' ? 'outcome_unknown' : 'unavailable',
    code: null,
    codeIsKnown: false,
    provider: PROVIDER,
    call,
    status: null,
    text: `operation ${operation.name} was not done within the deadline`,
    retryAfterS: null,
    sent: true,
  };
}

export function siteOf(call: LaneCall, token: string): CallSite {
  return { provider: PROVIDER, call, secrets: [token] };
}

function failureOf(site: CallSite, reply: HttpReply): LaneFailure {
  if (reply.kind === 'unanswered') return unansweredFailure(site, reply);
  return answeredFailure(site, reply, gcpVerdict(site.call, reply.status, reply.json));
}

/** The token, or that it did not come in time. A late one is kept by its source for the next request. */
async function within(deadlineMs: number, asked: Promise<TokenReply>): Promise<TokenReply> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<TokenReply>((resolve) => {
    timer = setTimeout(
      () => resolve({ kind: 'failed', failure: 'unavailable', text: 'no token came in time' }),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
