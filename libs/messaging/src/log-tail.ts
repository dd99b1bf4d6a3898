import type { LogFollower, LogReader } from '#domain/log';
import { type RecordedEvent, ZERO_HASH } from '#events/envelope';

export interface LogTailOptions {
  readonly log: LogReader & LogFollower;
  /** Rows per read. */
  readonly batchMax?: number;
  /** Told when a read failed: the tail goes on by itself. */
  readonly onReadFailed: (error: unknown) => void;
  /**
   * The log is not the one that was read: it was restored from an older backup under this process, whose memory
   * (states, keys, texts that it believes stored) is of a log that is gone. The tail has ended; start anew.
   */
  readonly onWentBack: () => void;
  /** The head is asked for at least this often, notice or not. */
  readonly checkMs?: number;
  /**
   * At least so long from one read to the next, 0 unless given. Where nobody waits for a row, those of many notices
   * are read at once: every process reads all of the log, so each read costs as many processes as there are.
   */
  readonly gapMs?: number;
}

const RETRY_MS = 250;
const CHECK_MS = 1_000;
const BATCH_MAX = 512;

/**
 * Reads the whole log once per process, from the head at the start on, and tells every subscriber of every
 * new row in order (design 6). A read that fails is repeated from where it stood: nothing is left out.
 */
export class LogTail {
  readonly #options: LogTailOptions;
  readonly #subscribers = new Set<(event: RecordedEvent) => void>();
  #told = { pos: 0, hash: ZERO_HASH };
  #head = 0;
  #reading: Promise<void> | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #stopFollowing: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: LogTailOptions) {
    this.#options = options;
  }

  /** Position up to which every row has been told. */
  get pos(): number {
    return this.#told.pos;
  }

  /** Newest known position of the log. */
  get head(): number {
    return Math.max(this.#head, this.#told.pos);
  }

  /** Starts at the head of the log. Rejects when the log cannot be read: start again then. */
  async start(): Promise<void> {
    this.#told = await this.#options.log.head();
    this.#head = this.#told.pos;
    this.#stopFollowing = this.#options.log.follow((pos) => this.#grew(pos));
    this.#timer = setInterval(() => this.#read(() => this.#check()), this.#options.checkMs ?? CHECK_MS);
  }

  /** Calls back with every row after now. Returns the end of it. */
  subscribe(onEvent: (event: RecordedEvent) => void): () => void {
    this.#subscribers.add(onEvent);
    return () => this.#subscribers.delete(onEvent);
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#reading;
  }

  #end(): void {
    this.#stopped = true;
    this.#stopFollowing?.();
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#subscribers.clear();
  }

  #grew(pos: number): void {
    this.#head = Math.max(this.#head, pos);
    this.#read(() => this.#readOn());
  }

  #read(read: () => Promise<void>): void {
    if (this.#reading !== null || this.#stopped) return;
    this.#reading = read().finally(() => {
      this.#reading = null;
      // The log may have grown between the last read and here.
      if (this.#head > this.#told.pos) this.#grew(this.#head);
    });
  }

  async #readOn(): Promise<void> {
    while (this.#told.pos < this.#head && !this.#stopped) {
      await this.#untilGap();
      const rows = await this.#readOnce();
      for (const event of rows) {
        if (event.prevHash !== this.#told.hash) return this.#wentBack();
        this.#told = { pos: event.pos, hash: event.hash };
        for (const tell of this.#subscribers) tell(event);
      }
      // A head of which the log shows nothing is one of a log that is gone: the next check tells.
      if (rows.length === 0) this.#head = this.#told.pos;
    }
  }

  async #untilGap(): Promise<void> {
    const waitMs = this.#readAtMs + (this.#options.gapMs ?? 0) - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    this.#readAtMs = performance.now();
  }

  /** A log that went back is silent, since whoever follows it has heard of a higher head. */
  async #check(): Promise<void> {
    const { pos, hash } = this.#told;
    const head = await this.#options.log.head().catch(() => null);
    if (head === null || this.#stopped) return;
    if (head.pos < pos || (head.pos === pos && head.hash !== hash)) return this.#wentBack();
    this.#head = Math.max(this.#head, head.pos);
  }

  #wentBack(): void {
    this.#end();
    this.#options.onWentBack();
  }

  async #readOnce(): Promise<readonly RecordedEvent[]> {
    for (;;) {
      try {
        return await this.#options.log.readAfter(this.#told.pos, this.#options.batchMax ?? BATCH_MAX);
      } catch (error) {
        if (this.#stopped) return [];
        this.#options.onReadFailed(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}
