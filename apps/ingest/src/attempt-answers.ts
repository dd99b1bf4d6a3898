import { isAttemptDecision } from '#domain/allocation';
import { attemptAnswer, type ShownInvariants, type ShownQuestion } from '#domain/attempt/answer';
import { decisionIdOf } from '#domain/attempt/attempt-ids';
import { invariantsOf } from '#domain/attempt/invariants';
import { confirmToken } from '#domain/consent/confirm-token';
import type { LogReader } from '#domain/log';
import type { StreamFinder } from '#event-log/find-stream';
import type { QuestionRenewal } from '#event-log/question-renewal';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { readEvent } from '#events/upcast';
import type { Sealer } from '#platform/sealer';
import type { AnswerStates } from './answer-states.ts';
import { isErasedSince } from './erased-since.ts';

export interface AttemptAnswersOptions {
  readonly deployment: string;
  readonly streams: StreamFinder;
  readonly states: AnswerStates;
  readonly log: Pick<LogReader, 'byEventId' | 'newestDecisions'>;
  readonly sealer: Sealer;
  readonly renewal: QuestionRenewal;
}

type Prompted = Extract<KnownEvent, { type: 'FallbackPrompted' }>;
export type AttemptAnswer = ReturnType<typeof attemptAnswer>;

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
   * The 200 body. `reported` is what the attempt says when this very call has recorded it. Null = the decision may
   * be old: its question may have been renewed, or have to be renewed now (fallback 6).
   */
  async answer(
    attemptEventId: string,
    row: RecordedEvent,
    reported: ShownInvariants | null,
  ): Promise<AttemptAnswer> {
    const { states, streams } = this.#options;
    const decision = readEvent(row);
    const { ref } = await streams.ofStream(row.stream);
    if (!isAttemptDecision(decision)) throw new Error(`${decision.type} decides no attempt`);
    const [after, question] = await Promise.all([
      states.at(row),
      decision.type === 'FallbackPrompted' ? this.#question(decision, reported) : null,
    ]);
    return attemptAnswer({ ref, attemptEventId, decision, after, question });
  }

  async #question(decision: Prompted, reported: ShownInvariants | null): Promise<ShownQuestion> {
    const { streams, deployment, renewal } = this.#options;
    const { row, data } = decision;
    const invariants = reported ?? (await this.#invariantsOf(decision));
    if (invariants === null) return { kind: 'erased' };

    const questionId = reported === null ? await renewal.newestIdOf(row.stream, row.eventId) : row.eventId;
    const { key, ref } = await streams.ofStream(row.stream);
    const token = confirmToken(key, {
      deployment,
      ref,
      actionDigest: data.actionDigest,
      questionId,
    });
    return { kind: 'shown', token, invariants, renewed: questionId !== row.eventId };
  }

  /** As they were sealed; null when they are erased, also when the same were reported anew since (fallback 7). */
  async #invariantsOf({ row, data }: Prompted): Promise<ShownInvariants | null> {
    const { log, sealer } = this.#options;
    if (await isErasedSince(log, row)) return null;
    const text = await sealer.open(row.stream, 'invariants', data.requestDigest);
    // In the order of fallback 4: the sealed text has them in that of canonical JSON.
    return text === null ? null : invariantsOf(JSON.parse(text));
  }
}
