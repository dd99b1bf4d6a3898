/** The only source of time outside tests. Rules get time as a value (design 7). */
export interface Clock {
  /** RFC 3339 in UTC with milliseconds. May jump when the machine's clock is set. */
  now(): string;
  /** Milliseconds from an arbitrary start, never going back: for waits and ages within one process. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date().toISOString(),
  monotonicMs: () => performance.now(),
};

/** A clock that a test moves by hand. */
export class ManualClock implements Clock {
  #epochMs: number;
  #elapsedMs = 0;

  constructor(start: string) {
    this.#epochMs = Date.parse(start);
  }

  now(): string {
    return new Date(this.#epochMs).toISOString();
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  advance(milliseconds: number): void {
    this.#epochMs += milliseconds;
    this.#elapsedMs += milliseconds;
  }
}
