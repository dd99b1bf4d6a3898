import type { RecordedEvent } from '#events/envelope';
import type { LogTail } from '#messaging/log-tail';

export interface DecisionWaiter {
  /** The decision, or null after `waitMs`. */
  decided(waitMs: number): Promise<RecordedEvent | null>;
  /** Nobody waits any more. */
  giveUp(): void;
}

/**
 * Calls that wait for a decision, by the id that the decision will have. They live in memory only: a waiter
 * that is lost with its process is answered by `location` (fallback 1.1).
 */
export class DecisionWaiters {
  readonly #waiting = new Map<string, Set<(row: RecordedEvent) => void>>();
  readonly #unsubscribe: () => void;
  /** Ends of the waits that go on now; null once the process is ending. */
  #ends: Set<() => void> | null = new Set();

  constructor(tail: Pick<LogTail, 'subscribe'>) {
    this.#unsubscribe = tail.subscribe((row) => {
      const waiting = this.#waiting.get(row.eventId);
      if (waiting === undefined) return;
      this.#waiting.delete(row.eventId);
      for (const resolve of waiting) resolve(row);
    });
  }

  /** Begins to wait; begin before the input is appended, or its decision may pass unseen. */
  waitFor(decisionId: string): DecisionWaiter {
    let resolve: (row: RecordedEvent) => void = () => undefined;
    const seen = new Promise<RecordedEvent>((settle) => {
      resolve = settle;
    });
    const waiting = this.#waiting.get(decisionId) ?? new Set();
    waiting.add(resolve);
    this.#waiting.set(decisionId, waiting);

    const giveUp = () => {
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(decisionId) === waiting) this.#waiting.delete(decisionId);
    };
    return {
      giveUp,
      decided: async (waitMs) => {
        let timer: NodeJS.Timeout | undefined;
        let end = () => {};
        const late = new Promise<null>((settle) => {
          end = () => settle(null);
          timer = setTimeout(end, this.#ends === null ? 0 : waitMs);
          this.#ends?.add(end);
        });
        try {
          return await Promise.race([seen, late]);
        } finally {
          clearTimeout(timer);
          this.#ends?.delete(end);
          giveUp();
        }
      },
    };
  }

  /**
   * The process is ending: whoever waits is answered without the decision at once, as if its time were over, and so
   * is who comes from now on. Cut off by the end of the process it would learn nothing, not even its `location`.
   */
  hurry(): void {
    const ends = this.#ends ?? [];
    this.#ends = null;
    for (const end of ends) end();
  }

  stop(): void {
    this.#unsubscribe();
  }
}
