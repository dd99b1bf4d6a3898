import { confirmToken } from '#domain/consent/confirm-token';
import { proposedFailover } from '#domain/intent/proposed-action';
import { streamDigest } from '#domain/intent/question-context';
import type { LogReader } from '#domain/log';
import type { Placement } from '#domain/placement';
import { ERASED_QUESTION, failoverQuestion, type ShownFailover } from '#domain/watch/verdict-answer';
import type { StreamFinder } from '#event-log/find-stream';
import { type PlacementStates, viewAt } from '#event-log/placement-states';
import type { QuestionRenewal } from '#event-log/question-renewal';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { readEvent } from '#events/upcast';
import { isErasedSince } from './erased-since.ts';

export interface FailoverQuestionsOptions {
  readonly deployment: string;
  readonly streams: StreamFinder;
  readonly placements: PlacementStates;
  readonly log: LogReader;
  readonly renewal: QuestionRenewal;
}

type Prompted = Extract<KnownEvent, { readonly type: 'FailoverPrompted' }>;

/** A judgement brings a handful of facts in one command. */
const COMMAND_EVENTS_MAX = 32;

/** Shows failover questions, with the token that answers them (failover 4.8). */
export class FailoverQuestions {
  readonly #options: FailoverQuestionsOptions;

  constructor(options: FailoverQuestionsOptions) {
    this.#options = options;
  }

  /** The question that a judgement opened in its own command; null when it opened none. */
  async openedBy(judged: RecordedEvent, repeat: boolean): Promise<ShownFailover | null> {
    const { log } = this.#options;
    const behind = await log.readStream(judged.stream, judged.streamVersion, COMMAND_EVENTS_MAX);
    const prompt = behind.find(
      (row) => row.commandId === judged.commandId && row.type === 'FailoverPrompted',
    );
    return prompt === undefined ? null : this.#shown(promptOf(prompt), repeat);
  }

  /** The question that first stood under this id, as it can be answered now. */
  async asked(originId: string): Promise<ShownFailover> {
    const row = await this.#options.log.byEventId(originId);
    if (row === null) throw new Error('an open failover question without the event that asked it');
    return this.#shown(promptOf(row), true);
  }

  async #shown(prompt: Prompted, repeat: boolean): Promise<ShownFailover> {
    const { deployment, log, streams, renewal } = this.#options;
    const { row, data } = prompt;
    if (repeat && (await isErasedSince(log, row))) return ERASED_QUESTION;
    const { key, ref } = await streams.ofStream(row.stream);
    const state = await this.#placementWhenAsked(row);
    const action = proposedFailover(state, data.escalation, { ref, digestOf: streamDigest(key) });
    // Whoever accepted would agree to something else than what is recorded.
    if (action.digest !== data.actionDigest)
      throw new Error(`the action at position ${row.pos} is another one`);

    const questionId = repeat ? await renewal.newestIdOf(row.stream, row.eventId) : row.eventId;
    const token = confirmToken(key, { deployment, ref, actionDigest: data.actionDigest, questionId });
    return failoverQuestion(token, action);
  }

  /** The launch of then: a later one has another plan. */
  async #placementWhenAsked(row: RecordedEvent): Promise<Placement> {
    const { placements, log } = this.#options;
    const now = await placements.get(row.stream);
    if (now.launch !== null && now.launch.version < row.decisionVersion) return now;
    return (await viewAt(log, row.stream, row.streamVersion)).placement;
  }
}

function promptOf(row: RecordedEvent): Prompted {
  const event = readEvent(row);
  if (event.type !== 'FailoverPrompted') throw new Error(`${event.type} asks nothing about a failover`);
  return event;
}
