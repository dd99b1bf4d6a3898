import type { LaneFailureKind } from '#domain/provision/lane';

/** What a simulated lane answers to one call after the other. */
export type Answers<Value> = () => Value;

/** In the order given; the last one repeats. */
export function inOrder<Value>(values: readonly Value[], otherwise: Value): Answers<Value> {
  let used = 0;
  return () => {
    const value = values[Math.min(used, values.length - 1)];
    used += 1;
    return value ?? otherwise;
  };
}

/** The value of the first, second, third ... call. */
export function counted<Value>(answerTo: (call: number) => Value): Answers<Value> {
  let calls = 0;
  return () => {
    calls += 1;
    return answerTo(calls);
  };
}

/** What becomes of any other call: `fails` is a provider that is away. */
export type CallScript = 'ok' | 'fails' | LaneFailureKind;

/** What becomes of one create. */
export type CreateScript =
  | { readonly kind: 'ok'; readonly id: string }
  /** The reply is lost: after the effect, or without any (`id` null). */
  | {
      readonly kind: 'lost';
      readonly id: string | null;
      readonly status: number | null;
      readonly text: string;
    }
  | {
      readonly kind: 'refused';
      readonly failure: LaneFailureKind;
      readonly status: number | null;
      readonly retryAfterS?: number;
    }
  /** The workload itself failed while placing; primary lanes only. */
  | { readonly kind: 'workload_error' }
  /** The state of the rung cannot be read: nothing is sent; primary and batch lanes only. */
  | { readonly kind: 'probe_error' };

const PLAIN: Readonly<Record<string, CreateScript>> = {
  stockout: { kind: 'refused', failure: 'capacity', status: 503 },
  capacity: { kind: 'refused', failure: 'capacity', status: 503 },
  quota: { kind: 'refused', failure: 'quota', status: 403 },
  rejected: { kind: 'refused', failure: 'rejected', status: 422 },
  balance: { kind: 'refused', failure: 'balance', status: 402 },
  rate_limited: { kind: 'refused', failure: 'rate_limited', status: 429 },
  auth: { kind: 'refused', failure: 'auth', status: 401 },
  unavailable: { kind: 'refused', failure: 'unavailable', status: null },
  timeout_nothing: { kind: 'lost', id: null, status: null, text: 'the reply did not come in time' },
  /** A server error that speaks of missing room, and nothing was made (failover 9.2). */
  http_500_capacity: { kind: 'lost', id: null, status: 500, text: 'no capacity available right now' },
  workload_error: { kind: 'workload_error' },
  probe_error: { kind: 'probe_error' },
};

/** Reads an answer of a scenario's create list. Throws for one that the schema lets through by mistake. */
export function createScript(text: string): CreateScript {
  const [name = '', id] = text.split(':');
  if (id !== undefined) {
    switch (name) {
      case 'ok':
        return { kind: 'ok', id };
      case 'http_500_created':
        return { kind: 'lost', id, status: 500, text: 'internal error' };
      case 'timeout_created':
        return { kind: 'lost', id, status: null, text: 'the reply did not come in time' };
    }
  }
  const plain = PLAIN[text];
  if (plain === undefined) throw new Error(`no lane answers "${text}" to a create`);
  return plain;
}
