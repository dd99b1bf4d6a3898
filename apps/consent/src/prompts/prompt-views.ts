import { z } from 'zod';
import { actorOf } from '#domain/actor';
import { invariantMembers } from '#domain/attempt/attempt-body';
import type { Invariants } from '#domain/attempt/invariants';
import type { PromptView } from '#domain/audit/views';
import { promptView, requestDigestOf } from '#domain/prompt/prompt-view';
import type { RecordedQuestion } from '#domain/prompt/recorded-question';
import type { FoundStream, StreamFinder } from '#event-log/find-stream';
import { type Caller, mayDo } from '#platform/auth';
import type { Clock } from '#platform/clock';
import type { Sealer } from '#platform/sealer';

export interface PromptViewsOptions {
  readonly streams: StreamFinder;
  readonly sealer: Sealer;
  readonly clock: Clock;
}

const SealedInvariants = z.object(invariantMembers);

/** Questions as a caller may see them (fallback 7). */
export class PromptViews {
  readonly #options: PromptViewsOptions;

  constructor(options: PromptViewsOptions) {
    this.#options = options;
  }

  async of(question: RecordedQuestion, caller: Caller): Promise<PromptView> {
    const { streams, clock } = this.#options;
    const place = await streams.ofStream(question.asked.row.stream);
    const [name, invariants] = await Promise.all([
      mayDo(caller, 'unseal') ? { name: await this.#nameOf(place) } : {},
      seesInvariants(question, caller) ? { invariants: await this.#invariantsOf(question) } : {},
    ]);
    const viewer = actorOf(caller.subject, place.key);
    return promptView(question, { now: clock.now(), viewer, ...name, ...invariants });
  }

  #nameOf({ stream, ref }: FoundStream): Promise<string | null> {
    return this.#options.sealer.open(stream, 'name', ref);
  }

  /** A launch may be given no request: then nothing is stated, which is not the same as erased. */
  async #invariantsOf(question: RecordedQuestion): Promise<Invariants | null> {
    const digest = requestDigestOf(question);
    if (digest === null) return {};
    const text = await this.#options.sealer.open(question.asked.row.stream, 'invariants', digest);
    return text === null ? null : SealedInvariants.parse(JSON.parse(text));
  }
}

/** They are part of what is proposed while the pool question is open: whoever may answer it sees them (fallback 7). */
function seesInvariants({ asked, end }: RecordedQuestion, caller: Caller): boolean {
  const proposed = asked.type === 'FallbackPrompted' && end === null;
  return mayDo(caller, 'unseal') || (proposed && mayDo(caller, 'consent'));
}
