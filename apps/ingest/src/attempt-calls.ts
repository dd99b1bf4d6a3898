import { AttemptBody, CallerId } from '#domain/attempt/attempt-body';
import { type AttemptName, decisionIdOf } from '#domain/attempt/attempt-ids';
import type { KeyRing } from '#domain/key-ring';
import { locationOf } from '#domain/location';
import { parseBody, problem } from '#platform/problem';
import type { AttemptAnswers } from './attempt-answers.ts';
import type { AttemptIntake, PreparedAttempt } from './attempt-intake.ts';
import { type CallResult, type OnCall, told } from './call-result.ts';
import type { DecisionWaiter, DecisionWaiters } from './decision-waiters.ts';
import { sentId } from './sent-id.ts';

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
  readonly onCall: OnCall;
}

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
  attempt(call: AttemptCall): Promise<CallResult> {
    return told(this.#options.onCall, () => this.#attempt(call));
  }

  async #attempt(call: AttemptCall): Promise<CallResult> {
    const { intake, waiters } = this.#options;
    const parsed = parseBody(AttemptBody, call.body);
    const inBody = parsed.ok ? parsed.value.attempt_id : undefined;
    const id = sentId({ inBody, beside: call.sentId, form: CallerId, pointer: '/attempt_id' });
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    if (id.kind === 'refused') return id;

    const attempt = await intake.prepare(parsed.value, id.name ?? call.messageName, call.subject);
    // Begun before the append, or the decision may pass unseen.
    const waiter = waiters.waitFor(decisionIdOf(attempt.attemptEventId));
    try {
      const taken = await intake.take(attempt);
      if (taken === 'id_reused') return { kind: 'refused', problem: problem('id_reused') };
      return await this.#answer(attempt, taken === 'repeat', waiter);
    } finally {
      waiter.giveUp();
    }
  }

  async #answer(attempt: PreparedAttempt, repeat: boolean, waiter: DecisionWaiter): Promise<CallResult> {
    const { attemptEventId, invariants } = attempt;
    const { answers, decisionWaitMs } = this.#options;
    const known = repeat ? await answers.decisionOf(attemptEventId) : null;
    const row = known ?? (await waiter.decided(decisionWaitMs));
    // The tail may lag behind the log that was asked to wait: look once more before saying "undecided".
    const decided = row ?? (await answers.decisionOf(attemptEventId));
    if (decided === null) return this.#undecided(attemptEventId);
    return {
      kind: 'answered',
      body: await answers.answer(attemptEventId, decided, repeat ? null : invariants),
    };
  }

  #undecided(attemptEventId: string): CallResult {
    return undecidedAttempt(attemptEventId, this.#options.ring);
  }
}

/** Recorded and not decided yet: the same answer to the call and at its location (fallback 1.1). */
export function undecidedAttempt(attemptEventId: string, ring: KeyRing): CallResult {
  const location = locationOf(attemptEventId, ring);
  const body: UndecidedBody = { ok: true, attempt_event_id: attemptEventId, location };
  return { kind: 'undecided', location, body };
}
