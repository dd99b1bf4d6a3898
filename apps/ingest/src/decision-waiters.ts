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

  constructor(tail: LogTail) {
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
        const late = new Promise<null>((settle) => {
          timer = setTimeout(() => settle(null), waitMs);
        });
        try {
          return await Promise.race([seen, late]);
        } finally {
          clearTimeout(timer);
          giveUp();
        }
      },
    };
  }

  stop(): void {
    this.#unsubscribe();
  }
}
