import { AttemptBody, CallerId } from '#domain/attempt/attempt-body';
import { type AttemptName, decisionIdOf } from '#domain/attempt/attempt-ids';
import type { KeyRing } from '#domain/key-ring';
import {
  type Parsed,
  PROBLEM_NAMES,
  type Problem,
  type ProblemName,
  parseBody,
  problem,
} from '#platform/problem';
import type { AttemptAnswer, AttemptAnswers } from './attempt-answers.ts';
import type { AttemptIntake } from './attempt-intake.ts';
import type { DecisionWaiter, DecisionWaiters } from './decision-waiters.ts';
import { attemptOfLocation, locationOf } from './location.ts';

/** What a call ends in; each way in (HTTP, bus) maps it to its own form. */
export type CallResult =
  | { readonly kind: 'answered'; readonly body: AttemptAnswer }
  | { readonly kind: 'undecided'; readonly body: UndecidedBody; readonly location: string }
  | { readonly kind: 'refused'; readonly problem: Problem };

export interface UndecidedBody {
  readonly ok: true;
  readonly attempt_event_id: string;
  readonly location: string;
}

export interface AttemptCallsOptions {
  readonly intake: AttemptIntake;
  readonly answers: AttemptAnswers;
  readonly waiters: DecisionWaiters;
  readonly ring: KeyRing;
  readonly decisionWaitMs: number;
  /** Told how each attempt ended and how long it took. */
  readonly onCall: (outcome: CallOutcome, tookMs: number) => void;
}

/** `answered`, `undecided`, or the name of the problem that refused the call. */
export type CallOutcome = 'answered' | 'undecided' | ProblemName;
export const CALL_OUTCOMES: readonly CallOutcome[] = ['answered', 'undecided', ...PROBLEM_NAMES];

export interface AttemptCall {
  readonly body: unknown;
  /** The id beside the body (header). */
  readonly sentId: string | null;
  /** Names the attempt when neither the body nor the header does: the message's place in the queue. */
  readonly messageName: AttemptName | null;
  readonly subject: string;
}

/** One attempt from its body to its answer, the same by HTTP and by the bus (fallback 1.1, 1.5). */
export class AttemptCalls {
  readonly #options: AttemptCallsOptions;

  constructor(options: AttemptCallsOptions) {
    this.#options = options;
  }

  /** Takes a body as it was sent. Rejects with LogUnavailable or LogBusy. */
  async attempt(call: AttemptCall): Promise<CallResult> {
    const beganMs = performance.now();
    const result = await this.#attempt(call);
    const outcome = result.kind === 'refused' ? result.problem.name : result.kind;
    this.#options.onCall(outcome, performance.now() - beganMs);
    return result;
  }

  async #attempt(call: AttemptCall): Promise<CallResult> {
    const { intake, waiters } = this.#options;
    const parsed = parseBody(AttemptBody, call.body);
    const id = attemptIdOf(parsed, call.sentId);
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    if (id.kind === 'refused') return id;

    const attempt = await intake.prepare(parsed.value, id.name ?? call.messageName, call.subject);
    // Begun before the append, or the decision may pass unseen.
    const waiter = waiters.waitFor(decisionIdOf(attempt.attemptEventId));
    try {
      const taken = await intake.take(attempt);
      if (taken === 'id_reused') return { kind: 'refused', problem: problem('id_reused') };
      return await this.#answer(attempt.attemptEventId, taken === 'repeat', waiter);
    } finally {
      waiter.giveUp();
    }
  }

  async #answer(attemptEventId: string, repeat: boolean, waiter: DecisionWaiter): Promise<CallResult> {
    const { answers, decisionWaitMs } = this.#options;
    const known = repeat ? await answers.decisionOf(attemptEventId) : null;
    const row = known ?? (await waiter.decided(decisionWaitMs));
    // The tail may lag behind the log that was asked to wait: look once more before saying "undecided".
    const decided = row ?? (await answers.decisionOf(attemptEventId));
    if (decided === null) return this.#undecided(attemptEventId);
    return { kind: 'answered', body: await answers.answer(attemptEventId, decided, repeat) };
  }

  /** The answer at a location: 202 while undecided, then exactly what the attempt would have answered. */
  async result(opaque: string): Promise<CallResult> {
    const attemptEventId = attemptOfLocation(opaque, this.#options.ring);
    if (attemptEventId === null) return { kind: 'refused', problem: problem('not_found') };
    const row = await this.#options.answers.decisionOf(attemptEventId);
    if (row === null) return this.#undecided(attemptEventId);
    return { kind: 'answered', body: await this.#options.answers.answer(attemptEventId, row, true) };
  }

  #undecided(attemptEventId: string): CallResult {
    const location = locationOf(attemptEventId, this.#options.ring);
    return { kind: 'undecided', location, body: { ok: true, attempt_event_id: attemptEventId, location } };
  }
}

/** The id of the body or beside it: both and different is a refusal of the member (fallback 1.1). */
function attemptIdOf(
  parsed: Parsed<AttemptBody>,
  sentId: string | null,
): { readonly kind: 'named'; readonly name: AttemptName | null } | (CallResult & { kind: 'refused' }) {
  const inBody = parsed.ok ? parsed.value.attempt_id : undefined;
  if (sentId === null)
    return { kind: 'named', name: inBody === undefined ? null : { kind: 'caller', id: inBody } };

  const sent = parseBody(CallerId, sentId);
  if (!sent.ok || (inBody !== undefined && inBody !== sent.value)) {
    const code = sent.ok ? 'mismatch' : 'invalid';
    return {
      kind: 'refused',
      problem: problem('invalid_body', { errors: [{ pointer: '/attempt_id', code }] }),
    };
  }
  return { kind: 'named', name: { kind: 'caller', id: sent.value } };
}
