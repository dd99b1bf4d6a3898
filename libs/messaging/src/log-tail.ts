import type { LogFollower, LogReader } from '#domain/log';
import type { RecordedEvent } from '#events/envelope';

export interface LogTailOptions {
  readonly log: LogReader & LogFollower;
  /** Rows per read. */
  readonly batchMax: number;
  /** Told when a read failed: the tail goes on by itself. */
  readonly onReadFailed: (error: unknown) => void;
}

const RETRY_MS = 250;

/**
 * Reads the whole log once per process, from the head at the start on, and tells every subscriber of every
 * new row in order (design 6). A read that fails is repeated from where it stood: nothing is left out.
 */
export class LogTail {
  readonly #options: LogTailOptions;
  readonly #subscribers = new Set<(event: RecordedEvent) => void>();
  #pos = 0;
  #head = 0;
  #reading: Promise<void> | null = null;
  #stopFollowing: (() => void) | null = null;
  #stopped = false;

  constructor(options: LogTailOptions) {
    this.#options = options;
  }

  /** Position up to which every row has been told. */
  get pos(): number {
    return this.#pos;
  }

  /** Newest known position of the log. */
  get head(): number {
    return Math.max(this.#head, this.#pos);
  }

  /** Starts at the head of the log. Rejects when the log cannot be read: start again then. */
  async start(): Promise<void> {
    const head = await this.#options.log.head();
    this.#pos = head.pos;
    this.#head = head.pos;
    this.#stopFollowing = this.#options.log.follow((pos) => this.#grew(pos));
  }

  /** Calls back with every row after now. Returns the end of it. */
  subscribe(onEvent: (event: RecordedEvent) => void): () => void {
    this.#subscribers.add(onEvent);
    return () => this.#subscribers.delete(onEvent);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopFollowing?.();
    this.#subscribers.clear();
    await this.#reading;
  }

  #grew(pos: number): void {
    this.#head = Math.max(this.#head, pos);
    if (this.#reading !== null || this.#stopped) return;
    this.#reading = this.#readOn().finally(() => {
      this.#reading = null;
      // The log may have grown between the last read and here.
      if (this.#head > this.#pos && !this.#stopped) this.#grew(this.#head);
    });
  }

  async #readOn(): Promise<void> {
    while (this.#pos < this.#head && !this.#stopped) {
      const rows = await this.#readOnce();
      for (const event of rows) {
        this.#pos = event.pos;
        for (const tell of this.#subscribers) tell(event);
      }
      // A head that came by notice before its row is visible does not exist; a restored log may be shorter.
      if (rows.length === 0) this.#head = this.#pos;
    }
  }

  async #readOnce(): Promise<readonly RecordedEvent[]> {
    for (;;) {
      try {
        return await this.#options.log.readAfter(this.#pos, this.#options.batchMax);
      } catch (error) {
        if (this.#stopped) return [];
        this.#options.onReadFailed(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}
