import type { Clock } from '#platform/clock';

/** Time that passes only when somebody waits. Workers and the store read the same one, each with an error of its own. */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  #nowMs: number;

  constructor(start: string) {
    this.#startMs = Date.parse(start);
    this.#nowMs = this.#startMs;
  }

  now(): string {
    return new Date(this.#nowMs).toISOString();
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  /** Milliseconds since 1970: the store's clock. */
  readonly storeMs = (): number => this.#nowMs;

  /** Never back: a step whose time is over happens now. */
  moveTo(ms: number): void {
    this.#nowMs = Math.max(this.#nowMs, ms);
  }

  /** The moment that many seconds after the start, in milliseconds since 1970. */
  atSeconds(seconds: number): number {
    return this.#startMs + Math.round(seconds * 1000);
  }

  /** That moment in the log's form. */
  instantAt(seconds: number): string {
    return new Date(this.atSeconds(seconds)).toISOString();
  }

  /** A worker's own clock, which is wrong by so much (failover 3.4: nothing that spends may depend on it). */
  skewed(byMs: number): Clock {
    return {
      now: () => new Date(this.#nowMs + byMs).toISOString(),
      monotonicMs: () => this.monotonicMs(),
    };
  }
}
