import { ALLOCATION_EVENTS, type AllocationDecision, isAllocationDecision } from '#domain/allocation';
import type { LogReader } from '#domain/log';
import type { Placement } from '#domain/placement';
import {
  isQuestionAsked,
  type QuestionAsked,
  type QuestionEnd,
  type RecordedQuestion,
} from '#domain/prompt/recorded-question';
import type { KnownEvent } from '#events/catalogue';
import { EventId } from '#events/define-event';
import type { RecordedEvent } from '#events/envelope';
import type { OpenQuestion } from '#events/scalars';
import { readEvent, UnreadableEvent } from '#events/upcast';
import { type PlacementStates, viewAt } from './placement-states.ts';
import { FROM_NEWEST, type Questions } from './questions.ts';

export interface QuestionReaderOptions {
  readonly log: LogReader & { readonly questions: Questions };
  readonly placements: PlacementStates;
}

export interface QuestionPage {
  readonly questions: readonly RecordedQuestion[];
  /** Where the next page goes on; null = this was the last. */
  readonly nextBefore: number | null;
}

/** Events before the asking that are read: what led to it is the newest of them. */
const BEFORE_EVENTS_MAX = 60;
/** Most questions end within so many events; beyond it the end is searched for by halves. */
const AFTER_EVENTS_MAX = 100;
/** An answer to a failover question brings what follows from it in its own command. */
const BEHIND_EVENTS_MAX = 8;

/**
 * Questions with all that is recorded of them. Every read is bounded: neither the log nor a long stream is walked
 * through. What cannot be read (damaged, or of a newer version) is left out of what led to a question, and a
 * question that cannot be read is left out of lists: one of them must not hide all others from every approver.
 */
export class QuestionReader {
  readonly #log: QuestionReaderOptions['log'];
  readonly #placements: PlacementStates;

  constructor({ log, placements }: QuestionReaderOptions) {
    this.#log = log;
    this.#placements = placements;
  }

  /** A question by any id it ever had; null for what is no question. Throws UnreadableEvent. */
  async byId(id: string): Promise<RecordedQuestion | null> {
    // What cannot be an id may hold what no database takes.
    if (!EventId.safeParse(id).success) return null;
    const asked = await this.#askedUnder(await this.#log.byEventId(id));
    return asked === null ? null : this.#read(asked);
  }

  /** Open ones, by when they were asked or renewed, newest first. */
  async open(limit: number, before = FROM_NEWEST): Promise<QuestionPage> {
    const rows = await this.#log.questions.open(before, limit);
    const found = await Promise.all(
      rows.map((row) =>
        unlessUnreadable(async () => {
          const asked = await this.#askedUnder(row);
          return asked === null ? null : this.#read(asked);
        }),
      ),
    );
    // The list is a candidate list: one that was answered meanwhile is left out.
    const questions = found.filter((question) => question !== null && question.end === null);
    const last = rows.at(-1);
    return {
      questions: questions.filter((question) => question !== null),
      nextBefore: rows.length < limit || last === undefined ? null : last.pos,
    };
  }

  /** Closed ones, by when they were first asked, newest first. */
  async closed(limit: number, before = FROM_NEWEST): Promise<QuestionPage> {
    const questions: RecordedQuestion[] = [];
    let from = before;
    for (;;) {
      const rows = await this.#log.questions.asked(from, limit);
      const read = await Promise.all(rows.map((row) => unlessUnreadable(() => this.#read(askedOf(row)))));
      for (const question of read) {
        if (question === null || question.end === null) continue;
        questions.push(question);
        if (questions.length === limit) return { questions, nextBefore: question.asked.row.pos };
      }
      const last = rows.at(-1);
      if (rows.length < limit || last === undefined) return { questions, nextBefore: null };
      from = last.pos;
    }
  }

  /** The asking behind the event of an id: a renewal carries the first id on. */
  async #askedUnder(row: RecordedEvent | null): Promise<QuestionAsked | null> {
    if (row === null) return null;
    const event = readEvent(row);
    if (isQuestionAsked(event)) return event;
    if (event.type !== 'PromptRenewed') return null;
    const first = await this.#log.byEventId(event.data.after.openQuestion?.originId ?? '');
    if (first === null) throw new Error(`the renewal at position ${row.pos} renews nothing`);
    return askedOf(first);
  }

  async #read(asked: QuestionAsked): Promise<RecordedQuestion> {
    const { stream, streamVersion } = asked.row;
    const since = Math.max(0, streamVersion - 1 - BEFORE_EVENTS_MAX);
    const [standing, before, placement] = await Promise.all([
      this.#standing(asked),
      this.#log.readStream(stream, since, streamVersion - 1 - since),
      asked.type === 'FailoverPrompted' ? this.#placementWhenAsked(asked) : null,
    ]);
    const { question, end } = standing;
    const { eventId: id, expiresAt } = question;
    return { asked, id, expiresAt, end, before: readable(before), placement };
  }

  /** The question as it stands, or stood when it ended. */
  async #standing(asked: QuestionAsked): Promise<{ question: OpenQuestion; end: QuestionEnd | null }> {
    const newest = await this.#newest(asked.row.stream);
    const open = questionIn(newest, asked);
    return open === null ? this.#ended(asked, newest.row.decisionVersion) : { question: open, end: null };
  }

  /** `endedBy` = a decision version by which it was no longer open. */
  async #ended(asked: QuestionAsked, endedBy: number): Promise<{ question: OpenQuestion; end: QuestionEnd }> {
    const { stream, streamVersion, decisionVersion } = asked.row;
    const rows = await this.#log.readStream(stream, streamVersion, AFTER_EVENTS_MAX);
    let last = decisionVersion;
    let first = endedBy;
    for (const event of readable(rows).filter(isAllocationDecision)) {
      if (questionIn(event, asked) === null) {
        first = event.row.decisionVersion;
        break;
      }
      last = event.row.decisionVersion;
    }
    // Once it is gone it never comes back, so that halves may be told apart by one decision each.
    while (first - last > 1) {
      const middle = await this.#newest(stream, Math.floor((first + last) / 2));
      if (questionIn(middle, asked) === null) first = middle.row.decisionVersion;
      else if (middle.row.decisionVersion > last) last = middle.row.decisionVersion;
      else last = Math.floor((first + last) / 2);
    }
    const [by, stood] = await Promise.all([this.#newest(stream, first), this.#newest(stream, first - 1)]);
    const question = questionIn(stood, asked);
    if (question === null) throw new Error(`the question at position ${asked.row.pos} was never open`);
    return { question, end: { by, behind: await this.#behind(by.row) } };
  }

  async #behind(by: RecordedEvent) {
    const rows = await this.#log.readStream(by.stream, by.streamVersion, BEHIND_EVENTS_MAX);
    return readable(rows.filter(({ commandId }) => commandId === by.commandId));
  }

  async #newest(stream: string, upTo?: number): Promise<AllocationDecision> {
    const [row] = await this.#log.newestDecisions(stream, ALLOCATION_EVENTS, 1, upTo);
    const event = row === undefined ? null : readEvent(row);
    if (event === null || !isAllocationDecision(event))
      throw new Error('a question in a stream without decisions');
    return event;
  }

  /** The launch of then: a later one has another plan. */
  async #placementWhenAsked({ row }: QuestionAsked): Promise<Placement> {
    const now = await this.#placements.get(row.stream);
    if (now.launch !== null && now.launch.version < row.decisionVersion) return now;
    return (await viewAt(this.#log, row.stream, row.streamVersion)).placement;
  }
}

function readable(rows: readonly RecordedEvent[]): readonly KnownEvent[] {
  return rows.flatMap((row) => {
    try {
      return [readEvent(row)];
    } catch (error) {
      if (error instanceof UnreadableEvent) return [];
      throw error;
    }
  });
}

/** `read` is called within, so that a throw of its first line counts as well. */
async function unlessUnreadable<Found>(read: () => Promise<Found>): Promise<Found | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UnreadableEvent) return null;
    throw error;
  }
}

function askedOf(row: RecordedEvent): QuestionAsked {
  const event = readEvent(row);
  if (!isQuestionAsked(event)) throw new Error(`${event.type} asks no question`);
  return event;
}

/** The question as this decision left it; null = it was no longer open. */
function questionIn({ data }: AllocationDecision, asked: QuestionAsked): OpenQuestion | null {
  const { openQuestion } = data.after;
  return openQuestion?.originId === asked.row.eventId ? openQuestion : null;
}
