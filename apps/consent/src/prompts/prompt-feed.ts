import { ALLOCATION_EVENTS } from '#domain/allocation';
import type { LogReader } from '#domain/log';
import { mayEndQuestion } from '#domain/prompt/notice';
import { openQuestionBefore } from '#event-log/open-question-before';
import type { QuestionReader } from '#event-log/question-reader';
import type { RecordedEvent } from '#events/envelope';
import { readEvent } from '#events/upcast';
import type { LogTail } from '#messaging/log-tail';
import type { Caller } from '#platform/auth';
import type { PromptViews } from './prompt-views.ts';

/** Where a page's events are written to. */
export interface FeedSink {
  write(text: string): void;
  /** Bytes that the other side has not taken yet. */
  buffered(): number;
  /** Ends it: what is on its way is sent, or with `now` is not. */
  end(now: boolean): void;
}

export interface PromptFeedOptions {
  readonly tail: Pick<LogTail, 'subscribe'>;
  readonly log: Pick<LogReader, 'newestDecisions'>;
  readonly reader: Pick<QuestionReader, 'byId'>;
  readonly views: Pick<PromptViews, 'of'>;
  readonly onFailure: (error: unknown) => void;
  readonly onCount: (pages: number) => void;
}

interface Page {
  readonly caller: Caller;
  readonly sink: FeedSink;
}

const PAGES_MAX = 200;
const PING_EVERY_MS = 15_000;
/** A page that takes this little is gone, or on a line that would hold up our memory. */
const BUFFERED_MAX_BYTES = 256 * 1024;
/** Changes that wait to be read; beyond it every page reads its lists again instead. */
const WAITING_MAX = 256;
const RETRY_MS = 1_000;

/**
 * Questions as they open, are renewed and close, to every page that is connected (design 4: each process tails and
 * keeps nothing). A page that connects reads its lists afterwards, so that nothing falls between the two.
 */
export class PromptFeed {
  readonly #options: PromptFeedOptions;
  readonly #pages = new Set<Page>();
  readonly #unsubscribe: () => void;
  readonly #pinging: NodeJS.Timeout;
  #telling: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: PromptFeedOptions) {
    this.#options = options;
    this.#unsubscribe = options.tail.subscribe((row) => this.#saw(row));
    this.#pinging = setInterval(() => this.#ping(), PING_EVERY_MS);
  }

  /** Connects a page; null when too many are. The result tells that it has gone. */
  connect(caller: Caller, sink: FeedSink): (() => void) | null {
    if (this.#pages.size >= PAGES_MAX) return null;
    const page = { caller, sink };
    this.#pages.add(page);
    this.#options.onCount(this.#pages.size);
    sink.write(`retry: ${RETRY_MS}\n\n${PING}`);
    return () => this.#remove(page);
  }

  /** Ends every page's stream: they connect again, to whoever serves them then. */
  stop(): void {
    this.#unsubscribe();
    clearInterval(this.#pinging);
    this.#endAll();
  }

  #saw(row: RecordedEvent): void {
    if (this.#pages.size === 0 || !ALLOCATION_EVENTS.some((type) => type === row.type)) return;
    if (this.#waiting >= WAITING_MAX) {
      this.#endAll();
      return;
    }
    this.#waiting += 1;
    this.#telling = this.#telling
      .then(() => this.#tell(row))
      .catch((error: unknown) => {
        this.#options.onFailure(error);
        // What could not be told would stay unknown to every page: they read their lists again.
        this.#endAll();
      })
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  async #tell(row: RecordedEvent): Promise<void> {
    for (const originId of await this.#changedBy(row)) {
      const question = await this.#options.reader.byId(originId);
      if (question === null) continue;
      // Whoever sees the same is told the same, read once.
      const texts = new Map<string, Promise<string>>();
      for (const page of this.#pages) {
        const key = JSON.stringify([page.caller.subject, page.caller.scopes]);
        const text =
          texts.get(key) ??
          this.#options.views
            .of(question, page.caller)
            .then((view) => `id: ${row.pos}\nevent: prompt\ndata: ${JSON.stringify(view)}\n\n`);
        texts.set(key, text);
        this.#send(page, await text);
      }
    }
  }

  /** First ids of the questions that this decision closed, opened or renewed, in this order. */
  async #changedBy(row: RecordedEvent): Promise<readonly string[]> {
    const event = readEvent(row);
    if (!mayEndQuestion(event)) return [];
    const after = event.data.after.openQuestion;
    const before = await openQuestionBefore(this.#options.log, row);
    if (before?.eventId === after?.eventId) return [];
    const closed = before !== null && before.originId !== after?.originId ? [before.originId] : [];
    return [...closed, ...(after === null ? [] : [after.originId])];
  }

  #send(page: Page, text: string): void {
    if (!this.#pages.has(page)) return;
    if (page.sink.buffered() > BUFFERED_MAX_BYTES) {
      this.#remove(page);
      page.sink.end(true);
      return;
    }
    page.sink.write(text);
  }

  #ping(): void {
    for (const page of this.#pages) this.#send(page, PING);
  }

  #remove(page: Page): void {
    this.#pages.delete(page);
    this.#options.onCount(this.#pages.size);
  }

  #endAll(): void {
    for (const page of this.#pages) {
      this.#remove(page);
      page.sink.end(false);
    }
  }
}

/** An event, not a comment: a page cannot see comments, and knows by this that it is still connected. */
const PING = 'event: ping\ndata: {}\n\n';
