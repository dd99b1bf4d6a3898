import { allocationRowOf, isAttemptDecision } from '#domain/allocation';
import { attemptAnswer, type ShownQuestion } from '#domain/attempt/answer';
import { decisionIdOf } from '#domain/attempt/attempt-ids';
import { invariantsOf } from '#domain/attempt/invariants';
import { commandDigest } from '#domain/command-digest';
import { confirmToken } from '#domain/consent/confirm-token';
import { type AppendPort, LogBusy, type LogReader } from '#domain/log';
import { isExpired, renewPrompt } from '#domain/prompt/renewal';
import type { StreamFinder } from '#event-log/find-stream';
import { loadAllocation } from '#event-log/load-allocation';
import type { KnownEvent } from '#events/catalogue';
import { eventIdOf, type RecordedEvent } from '#events/envelope';
import { PromptRenewed } from '#events/prompt.events';
import { readEvent } from '#events/upcast';
import type { Clock } from '#platform/clock';
import type { Sealer } from '#platform/sealer';
import type { AnswerStates } from './answer-states.ts';

export interface AttemptAnswersOptions {
  readonly deployment: string;
  readonly streams: StreamFinder;
  readonly states: AnswerStates;
  readonly log: AppendPort & LogReader;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly tokenLifeS: number;
}

type Prompted = Extract<KnownEvent, { type: 'FallbackPrompted' }>;
export type AttemptAnswer = ReturnType<typeof attemptAnswer>;

const RENEWAL_TRIES_MAX = 5;

/** Turns recorded decisions into answers: the same one for every repeat (fallback 1.1). */
export class AttemptAnswers {
  readonly #options: AttemptAnswersOptions;

  constructor(options: AttemptAnswersOptions) {
    this.#options = options;
  }

  /** The recorded decision about an attempt; null while undecided. */
  async decisionOf(attemptEventId: string): Promise<RecordedEvent | null> {
    return this.#options.log.byEventId(decisionIdOf(attemptEventId));
  }

  /**
   * The 200 body. `repeat` = the decision may be old: its question may have been renewed, or have to be renewed
   * now (fallback 6).
   */
  async answer(attemptEventId: string, row: RecordedEvent, repeat: boolean): Promise<AttemptAnswer> {
    const { states, streams } = this.#options;
    const decision = readEvent(row);
    const { ref } = await streams.ofStream(row.stream);
    if (!isAttemptDecision(decision)) throw new Error(`${decision.type} decides no attempt`);
    const [after, question] = await Promise.all([
      states.at(row),
      decision.type === 'FallbackPrompted' ? this.#question(decision, repeat) : null,
    ]);
    return attemptAnswer({ ref, attemptEventId, decision, after, question });
  }

  async #question(decision: Prompted, repeat: boolean): Promise<ShownQuestion> {
    const { streams, sealer, deployment } = this.#options;
    const { row, data } = decision;
    const invariants = await sealer.open(row.stream, 'invariants', data.requestDigest);
    if (invariants === null) return { kind: 'erased' };

    const questionId = repeat ? await this.#newestIdOf(decision) : row.eventId;
    const { key, ref } = await streams.ofStream(row.stream);
    const token = confirmToken(key, {
      deployment,
      ref,
      actionDigest: data.actionDigest,
      questionId,
    });
    return {
      kind: 'shown',
      token,
      // In the order of fallback 4: the sealed text has them in that of canonical JSON.
      invariants: invariantsOf(JSON.parse(invariants)),
      renewed: questionId !== row.eventId,
    };
  }

  /** The id under which the question may be answered now: renewed when it has outlived its token. */
  async #newestIdOf(decision: Prompted): Promise<string> {
    const { log, clock, tokenLifeS } = this.#options;
    const { stream, eventId } = decision.row;
    for (let tries = 0; tries < RENEWAL_TRIES_MAX; tries += 1) {
      const state = await loadAllocation(log, stream);
      const open = state?.scalars.openQuestion ?? null;
      if (state === null || open === null || open.originId !== eventId) return eventId;
      const at = clock.now();
      if (!isExpired(open, at)) return open.eventId;

      const commandId = `renew-${open.eventId}`;
      const decisionId = eventIdOf(commandId, 0);
      const renewal = renewPrompt(state, { at, decisionId, tokenLifeS });
      if (renewal === null) return open.eventId;
      const [result] = await log.append([
        {
          commandId,
          digest: commandDigest('renew', open.eventId),
          stream,
          expected: { decisionVersion: state.version },
          occurredAt: at,
          events: [
            {
              event: PromptRenewed.create(renewal.data),
              meta: { causedBy: open.eventId, saw: state.version },
            },
          ],
          allocation: allocationRowOf(renewal.state.scalars),
        },
      ]);
      if (result?.outcome === 'appended' || result?.outcome === 'duplicate') return decisionId;
      // Another reader renewed it first, or it was answered meanwhile: read again and show what is true then.
    }
    // Any token shown now might be dead already: the caller repeats, and nothing is lost.
    throw new LogBusy('every renewal met a newer decision');
  }
}
