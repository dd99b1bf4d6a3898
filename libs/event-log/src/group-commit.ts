import { type AppendResult, InvalidCommand, LogBusy, LogUnavailable } from '#domain/log';

/** What a failed sending tells about the commands. */
export type SendFailure =
  /** The content was refused: nothing of the batch was written. */
  | 'bad_content'
  /** Refused whatever the content, and will be again: no permission, no schema. Nothing was written. */
  | 'refused'
  /** No answer, or one that says nothing about the commands: they may have been written. */
  | 'unknown_outcome';

export interface GroupCommitOptions<Item> {
  /** One statement. `resent` = an earlier sending of some of these ended in `unknown_outcome`. */
  readonly send: (
    items: readonly Item[],
    timeoutMs: number,
    resent: boolean,
  ) => Promise<readonly AppendResult[]>;
  readonly failureOf: (error: unknown) => SendFailure;
  readonly bytesOf: (item: Item) => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly maxBatchCommands: number;
  readonly maxBatchBytes: number;
  readonly maxQueuedCommands: number;
  readonly maxQueuedBytes: number;
  /** From the call to LogUnavailable. */
  readonly deadlineMs: number;
  /** One sending without an answer counts as lost after this. */
  readonly attemptTimeoutMs: number;
}

interface Call<Item> {
  readonly items: readonly Item[];
  readonly bytes: number;
  readonly deadlineAt: number;
  maybeSent: boolean;
  readonly resolve: (results: readonly AppendResult[]) => void;
  readonly reject: (error: Error) => void;
}

const FIRST_BACK_OFF_MS = 20;
const LONGEST_BACK_OFF_MS = 250;

/**
 * One batch is in flight, the next one forms meanwhile: no timer, so a lone caller never waits for company
 * (measured: better than any timer at every number of callers). The items of one call stay together and in
 * order. Each call ends by its deadline, whatever the network does.
 */
export class GroupCommit<Item> {
  readonly #options: GroupCommitOptions<Item>;
  readonly #queue: Call<Item>[] = [];
  #queuedCommands = 0;
  #queuedBytes = 0;
  #running: Promise<void> | null = null;
  #closed = false;
  /** No call waits beyond it, whatever its own deadline is. */
  #endAt = Number.POSITIVE_INFINITY;

  constructor(options: GroupCommitOptions<Item>) {
    this.#options = options;
  }

  append(items: readonly Item[]): Promise<readonly AppendResult[]> {
    if (items.length === 0) return Promise.resolve([]);
    if (this.#closed) return Promise.reject(new LogUnavailable('the log is closed: nothing was sent'));
    const { maxQueuedCommands, maxQueuedBytes, maxBatchCommands, bytesOf, now, deadlineMs } = this.#options;
    if (items.length > maxBatchCommands) {
      return Promise.reject(
        new InvalidCommand(`${items.length} commands in a call, ${maxBatchCommands} are allowed`),
      );
    }
    const bytes = items.reduce((sum, item) => sum + bytesOf(item), 0);
    if (
      this.#queuedCommands + items.length > maxQueuedCommands ||
      this.#queuedBytes + bytes > maxQueuedBytes
    ) {
      return Promise.reject(
        new LogBusy(`${this.#queuedCommands} commands of ${this.#queuedBytes} bytes are waiting already`),
      );
    }

    this.#queuedCommands += items.length;
    this.#queuedBytes += bytes;
    return new Promise((resolve, reject) => {
      this.#queue.push({ items, bytes, deadlineAt: now() + deadlineMs, maybeSent: false, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Takes nothing new and waits for what was taken. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** From now on the log is given up: nothing new is taken, and what waits for an answer ends without one. */
  giveUp(): void {
    this.#closed = true;
    this.#endAt = this.#options.now();
  }

  async #run(): Promise<void> {
    // What callers of this turn of the event loop bring goes out together.
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#deliver(this.#nextBatch());
    this.#running = null;
  }

  #nextBatch(): readonly Call<Item>[] {
    const { maxBatchCommands, maxBatchBytes } = this.#options;
    let calls = 0;
    let commands = 0;
    let bytes = 0;
    for (const call of this.#queue) {
      const fits = commands + call.items.length <= maxBatchCommands && bytes + call.bytes <= maxBatchBytes;
      if (calls > 0 && !fits) break;
      calls++;
      commands += call.items.length;
      bytes += call.bytes;
    }
    this.#queuedCommands -= commands;
    this.#queuedBytes -= bytes;
    return this.#queue.splice(0, calls);
  }

  async #deliver(batch: readonly Call<Item>[]): Promise<void> {
    const { now, attemptTimeoutMs, send, failureOf } = this.#options;
    let open = batch;
    let backOffMs = FIRST_BACK_OFF_MS;
    for (let cause: unknown; ; ) {
      open = this.#endOverdue(open, cause);
      if (open.length === 0) return;

      // By the last to end: the first would leave the sending a few milliseconds at every turn, and what had waited
      // through an outage would end unanswered call by call, long after the log is back.
      const remainingMs = Math.min(this.#endAt, Math.max(...open.map((call) => call.deadlineAt))) - now();
      const resent = open.some((call) => call.maybeSent);
      const endWatch = this.#endInTime(open, cause);
      try {
        const items = open.flatMap((call) => call.items);
        settle(open, await send(items, Math.min(attemptTimeoutMs, remainingMs), resent));
        return;
      } catch (error) {
        cause = error;
      } finally {
        endWatch();
      }
      switch (failureOf(cause)) {
        case 'bad_content':
          await this.#refuseOrSplit(open, cause);
          return;
        case 'refused':
          for (const call of open) call.reject(new LogUnavailable('the log refuses to append', { cause }));
          return;
        case 'unknown_outcome':
          for (const call of open) call.maybeSent = true;
          await delay(Math.min(backOffMs, this.#untilFirstEndMs(open)));
          backOffMs = Math.min(backOffMs * 2, LONGEST_BACK_OFF_MS);
      }
    }
  }

  /** One bad call must not fail its neighbours: each goes alone, and only the bad one is refused. */
  async #refuseOrSplit(open: readonly Call<Item>[], cause: unknown): Promise<void> {
    const [only, ...others] = open;
    if (only && others.length === 0) {
      only.reject(new InvalidCommand('the log refused the content', { cause }));
      return;
    }
    for (const call of open) await this.#deliver([call]);
  }

  /** Ends the calls whose time is over while they are on their way. Returns the end of it. */
  #endInTime(calls: readonly Call<Item>[], cause: unknown): () => void {
    let timer: NodeJS.Timeout;
    const wait = (open: readonly Call<Item>[]): void => {
      timer = setTimeout(() => {
        const left = this.#endOverdue(open, cause, true);
        if (left.length > 0) wait(left);
      }, this.#untilFirstEndMs(open));
    };
    wait(calls);
    return () => clearTimeout(timer);
  }

  #untilFirstEndMs(calls: readonly Call<Item>[]): number {
    const firstEnd = Math.min(this.#endAt, ...calls.map((call) => call.deadlineAt));
    return Math.max(0, Math.ceil(firstEnd - this.#options.now()));
  }

  #endOverdue(calls: readonly Call<Item>[], cause: unknown, sending = false): readonly Call<Item>[] {
    const at = this.#options.now();
    return calls.filter((call) => {
      if (at < Math.min(call.deadlineAt, this.#endAt)) return true;
      const unproven = call.maybeSent || sending;
      const proof = unproven ? 'whether it was recorded is unproven' : 'nothing was sent';
      call.reject(
        new LogUnavailable(`no answer from the log in time: ${proof}`, {
          cause,
        }),
      );
      return false;
    });
  }
}

function settle<Item>(calls: readonly Call<Item>[], results: readonly AppendResult[]): void {
  let start = 0;
  for (const call of calls) {
    call.resolve(results.slice(start, start + call.items.length));
    start += call.items.length;
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
