import { z } from 'zod';
import { AttemptAnswerBody, ConsentAnswerBody, UndecidedAnswerBody } from '#domain/attempt/answer-schema';
import {
  LaunchResultBody,
  LaunchTakenBody,
  LaunchUndecidedBody,
  ObservationAnswerBody,
} from '#domain/watch/answer-schema';
import { HealthBody, ProblemBodySchema } from '#platform/openapi/schemas';
import { waitUntil } from '../up/infra/chain.ts';
import type { SentAttempt } from './bodies.ts';
import type { SentLaunch, SentObservation } from './failover-bodies.ts';

export type AttemptAnswer = z.output<typeof AttemptAnswerBody>;
export type ConsentAnswer = z.output<typeof ConsentAnswerBody>;
export type LaunchTaken = z.output<typeof LaunchTakenBody>;
export type LaunchResult = z.output<typeof LaunchResultBody>;
export type ObservationAnswer = z.output<typeof ObservationAnswerBody>;
export type Refusal = z.output<typeof ProblemBodySchema>;

/** What came back, read by the described form: an answer of another form is an error of the demo. */
export type Reply<Body> =
  | { readonly kind: 'answered'; readonly status: number; readonly body: Body }
  | { readonly kind: 'refused'; readonly status: number; readonly body: Refusal };

const API = '/api/agent/gpu-allocation';
const CALL_DEADLINE_MS = 20_000;
const DECISION_DEADLINE_MS = 60_000;

/** The calls of a poller and of an approver, over HTTP. */
export class Calls {
  constructor(readonly url: string) {}

  /** Reports an attempt and waits for its decision, at its location when it takes longer. */
  async attempt(body: SentAttempt): Promise<Reply<AttemptAnswer>> {
    const sent = await this.#post(`${API}/attempt`, body);
    if (sent.status !== 202) return reply(AttemptAnswerBody, sent);

    const { location } = UndecidedAnswerBody.parse(sent.json);
    let decided = sent;
    await waitUntil('the attempt is decided', DECISION_DEADLINE_MS, async () => {
      decided = await this.#call('GET', location);
      return decided.status !== 202;
    });
    return reply(AttemptAnswerBody, decided);
  }

  async consent(body: {
    readonly logical_allocation: string;
    readonly accept: boolean;
    readonly confirm_token?: string | undefined;
  }): Promise<Reply<ConsentAnswer>> {
    return reply(ConsentAnswerBody, await this.#post(`${API}/consent`, body));
  }

  /** Launches an allocation. Provisioning is not waited for. */
  async launch(body: SentLaunch): Promise<Reply<LaunchTaken>> {
    return reply(LaunchTakenBody, await this.#post(`${API}/launch`, body), 202);
  }

  /** The latest decision of a launch; null while there is none. */
  async launchResult(location: string): Promise<LaunchResult | null> {
    const { status, json } = await this.#call('GET', location);
    if (status !== 202) return LaunchResultBody.parse(json);
    LaunchUndecidedBody.parse(json);
    return null;
  }

  async observation(body: SentObservation): Promise<Reply<ObservationAnswer>> {
    return reply(ObservationAnswerBody, await this.#post(`${API}/observation`, body));
  }

  /** Whether Spillway answers here, and takes attempts. */
  async isUp(): Promise<boolean> {
    try {
      const { json } = await this.#call('GET', '/api/health');
      return HealthBody.parse(json).ok;
    } catch {
      return false;
    }
  }

  #post(path: string, body: unknown) {
    return this.#call('POST', path, JSON.stringify(body));
  }

  async #call(method: 'GET' | 'POST', path: string, body?: string) {
    const response = await fetch(new URL(path, this.url), {
      method,
      signal: AbortSignal.timeout(CALL_DEADLINE_MS),
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    });
    const json: unknown = await response.json();
    return { status: response.status, json };
  }
}

function reply<Schema extends z.ZodType>(
  schema: Schema,
  { status, json }: { readonly status: number; readonly json: unknown },
  expected = 200,
): Reply<z.output<Schema>> {
  if (status === expected) return { kind: 'answered', status, body: schema.parse(json) };
  return { kind: 'refused', status, body: ProblemBodySchema.parse(json) };
}
