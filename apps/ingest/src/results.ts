import { decisionIdOf } from '#domain/attempt/attempt-ids';
import type { KeyRing } from '#domain/key-ring';
import { inputOfLocation } from '#domain/location';
import type { LogReader } from '#domain/log';
import { problem } from '#platform/problem';
import type { AttemptAnswers } from './attempt-answers.ts';
import { undecidedAttempt } from './attempt-calls.ts';
import type { CallResult } from './call-result.ts';
import type { LaunchResults } from './launch-results.ts';
import { type ObservationCalls, undecidedObservation } from './observation-calls.ts';

export interface ResultsOptions {
  readonly ring: KeyRing;
  readonly log: Pick<LogReader, 'byEventId'>;
  readonly attempts: AttemptAnswers;
  readonly observations: ObservationCalls;
  readonly launches: LaunchResults;
}

const NOT_FOUND: CallResult = { kind: 'refused', problem: problem('not_found') };

/** Answers by their location: exactly what the call would have answered, or the state of a launch. */
export class Results {
  readonly #options: ResultsOptions;

  constructor(options: ResultsOptions) {
    this.#options = options;
  }

  /** Rejects with LogUnavailable or LogBusy. */
  async at(opaque: string): Promise<CallResult> {
    const { ring, log, attempts, observations } = this.#options;
    const inputId = inputOfLocation(opaque, ring);
    if (inputId === null) return NOT_FOUND;
    const decision = await log.byEventId(decisionIdOf(inputId));
    if (decision === null) return this.#undecided(inputId);
    if (decision.type === 'ObservationJudged') return observations.answer(decision, true);
    return { kind: 'answered', body: await attempts.answer(inputId, decision, null) };
  }

  async #undecided(inputId: string): Promise<CallResult> {
    const { ring, log, launches } = this.#options;
    const input = await log.byEventId(inputId);
    switch (input?.type) {
      case 'LaunchRequested':
        return launches.result(input);
      case 'ObservationReported':
        return undecidedObservation(inputId, ring);
      case 'AttemptReported':
        return undecidedAttempt(inputId, ring);
      default:
        return NOT_FOUND;
    }
  }
}
