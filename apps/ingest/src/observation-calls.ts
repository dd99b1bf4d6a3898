import { decisionIdOf } from '#domain/attempt/attempt-ids';
import type { KeyRing } from '#domain/key-ring';
import { locationOf } from '#domain/location';
import type { LogReader } from '#domain/log';
import { MessageId } from '#domain/provision/launch-body';
import { observationBody } from '#domain/watch/observation-body';
import { verdictAnswer } from '#domain/watch/verdict-answer';
import type { RecordedEvent } from '#events/envelope';
import { readEvent } from '#events/upcast';
import type { Clock } from '#platform/clock';
import { randomId } from '#platform/ids';
import { parseBody, problem } from '#platform/problem';
import { type CallResult, type OnCall, told } from './call-result.ts';
import type { DecisionWaiter, DecisionWaiters } from './decision-waiters.ts';
import type { FailoverQuestions } from './failover-questions.ts';
import type { MessageSent } from './launch-calls.ts';
import type { ObservationIntake } from './observation-intake.ts';
import { sentId } from './sent-id.ts';

export interface ObservationCallsOptions {
  readonly intake: ObservationIntake;
  readonly questions: FailoverQuestions;
  readonly waiters: DecisionWaiters;
  readonly log: Pick<LogReader, 'byEventId'>;
  readonly ring: KeyRing;
  readonly clock: Clock;
  readonly decisionWaitMs: number;
  readonly onCall: OnCall;
}

/** One observation from its body to its answer, the same by HTTP and by the bus (failover 2.2). */
export class ObservationCalls {
  readonly #options: ObservationCallsOptions;

  constructor(options: ObservationCallsOptions) {
    this.#options = options;
  }

  /** Takes a body as it was sent. Rejects with LogUnavailable or LogBusy. */
  observe(sent: MessageSent): Promise<CallResult> {
    return told(this.#options.onCall, () => this.#observe(sent));
  }

  /** The answer to a recorded observation, from the judgement about it. */
  async answer(row: RecordedEvent, repeat: boolean): Promise<CallResult> {
    const event = readEvent(row);
    if (event.type !== 'ObservationJudged') throw new Error(`${event.type} judges no observation`);
    const { verdict } = event.data;
    const question =
      verdict.outcome === 'awaiting_consent' ? await this.#options.questions.openedBy(row, repeat) : null;
    return { kind: 'answered', body: { ...verdictAnswer(verdict, row.pos), ...question } };
  }

  async #observe(sent: MessageSent): Promise<CallResult> {
    const { intake, waiters, clock } = this.#options;
    const parsed = parseBody(observationBody(clock.now()), sent.body);
    const inBody = parsed.ok ? parsed.value.message_id : undefined;
    const id = sentId({ inBody, beside: sent.sentId, form: MessageId, pointer: '/message_id' });
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    if (id.kind === 'refused') return id;

    const name = id.name ?? sent.messageName ?? ({ kind: 'random', id: randomId() } as const);
    // Begun before the append, or the decision may pass unseen.
    const waiter = waiters.waitFor(decisionIdOf(intake.eventIdOf(name)));
    try {
      const taken = await intake.take(parsed.value, name, sent.subject);
      switch (taken.kind) {
        case 'refused':
          return { kind: 'refused', problem: problem(taken.why) };
        case 'unchanged':
          return { kind: 'answered', body: verdictAnswer(taken.verdict, taken.position) };
        case 'recorded':
          return await this.#judged(taken.observationEventId, waiter, false);
        case 'repeat':
          return await this.#judged(taken.observationEventId, waiter, true);
      }
    } finally {
      waiter.giveUp();
    }
  }

  async #judged(observationEventId: string, waiter: DecisionWaiter, repeat: boolean): Promise<CallResult> {
    const { log, decisionWaitMs, ring } = this.#options;
    const decisionId = decisionIdOf(observationEventId);
    const known = repeat ? await log.byEventId(decisionId) : null;
    const row = known ?? (await waiter.decided(decisionWaitMs));
    // The tail may lag behind the log that was asked to wait: look once more before saying "undecided".
    const decided = row ?? (await log.byEventId(decisionId));
    return decided === null ? undecidedObservation(observationEventId, ring) : this.answer(decided, repeat);
  }
}

/** Recorded and not judged yet: the same answer to the call and at its location (failover 2.2). */
export function undecidedObservation(observationEventId: string, ring: KeyRing): CallResult {
  const location = locationOf(observationEventId, ring);
  return { kind: 'undecided', location, body: { location } };
}
