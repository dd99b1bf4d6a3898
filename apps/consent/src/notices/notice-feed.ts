import { isAllocationDecision } from '#domain/allocation';
import type { LogReader } from '#domain/log';
import {
  isNoticed,
  mayEndQuestion,
  type NoticeRules,
  noticesOf,
  type Told,
  type ToldStretch,
  withoutEnded,
} from '#domain/prompt/notice';
import type { NoticeReceiver, NoticeTable } from '#domain/prompt/notice-table';
import { openQuestionBefore } from '#event-log/open-question-before';
import type { RecordedEvent } from '#events/envelope';
import type { OpenQuestion } from '#events/scalars';
import { readEvent, UnreadableEvent } from '#events/upcast';
import type { Receiver } from '#platform/notice-variables';

export interface NoticeFeedOptions {
  readonly log: LogReader;
  readonly table: Pick<NoticeTable, 'receivers' | 'add'>;
  readonly receivers: readonly Receiver[];
  readonly rules: NoticeRules;
  readonly giveUpMs: number;
  /** An event whose body is damaged: nothing is told of it. */
  readonly onUnreadable: (pos: number) => void;
}

const PAGE_MAX_EVENTS = 500;

/**
 * Makes notices of the log, in its order, for each receiver from where it stands. What was made and how far the
 * receiver has come is one statement, so a feeder may be killed anywhere and several may run at once: whoever was
 * second finds that the receiver has moved, and reads on from there.
 */
export class NoticeFeed {
  readonly #options: NoticeFeedOptions;
  #stopped = false;

  constructor(options: NoticeFeedOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#stopped = true;
  }

  /**
   * Brings every receiver to the end of the log, those that stand furthest back first. Answers whether there was
   * anything to tell.
   */
  async catchUp(): Promise<boolean> {
    const { log } = this.#options;
    let hasTold = false;
    while (!this.#stopped) {
      const standing = await this.#standing();
      const from = Math.min(...standing.map(({ pos }) => pos));
      const page = standing.length === 0 ? [] : await log.readAfter(from, PAGE_MAX_EVENTS);
      if (page.length === 0) break;
      const told = withoutEnded(await this.#told(page));
      for (const { name, pos } of standing) {
        if (pos === from && (await this.#add(name, from, page, told))) hasTold = true;
      }
    }
    return hasTold;
  }

  /** What is gone keeps its place: it is told of the rest when an operator lets it come back. */
  async #standing(): Promise<readonly NoticeReceiver[]> {
    const { table, receivers } = this.#options;
    const configured = (await table.receivers()).filter((row) =>
      receivers.some(({ name }) => name === row.name),
    );
    return configured.filter(({ state }) => state === 'active');
  }

  /** False also when another process was faster: the next look finds the receiver further on. */
  async #add(
    name: string,
    from: number,
    page: readonly RecordedEvent[],
    { notices, ended }: ToldStretch,
  ): Promise<boolean> {
    const { table, receivers, giveUpMs } = this.#options;
    const events = receivers.find((receiver) => receiver.name === name)?.events ?? [];
    const wanted = notices.filter(({ type }) => events.includes(type));
    const to = page.at(-1)?.pos ?? from;
    const added = await table.add({ receiver: name, from, to, notices: wanted, ended, giveUpMs });
    return added && wanted.length > 0;
  }

  async #told(page: readonly RecordedEvent[]): Promise<readonly Told[]> {
    const open = new Map<string, OpenQuestion | null>();
    const told: Told[] = [];
    for (const row of page) {
      if (!isNoticed(row.type)) continue;
      const event = this.#readable(row);
      if (event === null) continue;
      const before = mayEndQuestion(event) ? await this.#openBefore(row, open) : null;
      told.push(noticesOf(event, before, this.#options.rules));
      if (isAllocationDecision(event)) open.set(row.stream, event.data.after.openQuestion);
    }
    return told;
  }

  /** As this page of the log tells it, else as the log does. */
  async #openBefore(
    row: RecordedEvent,
    open: ReadonlyMap<string, OpenQuestion | null>,
  ): Promise<OpenQuestion | null> {
    const known = open.get(row.stream);
    if (known !== undefined) return known;
    return openQuestionBefore(this.#options.log, row, (before) => this.#readable(before));
  }

  /** Null for a damaged body. Rejects for what a newer version wrote: that must not be passed over. */
  #readable(row: RecordedEvent) {
    try {
      return readEvent(row);
    } catch (error) {
      if (!(error instanceof UnreadableEvent) || error.why !== 'body') throw error;
      this.#options.onUnreadable(row.pos);
      return null;
    }
  }
}
