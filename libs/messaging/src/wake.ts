/** A bell that one loop waits for, with a bound. A ring while nobody waits is kept for the next wait. */
export class Wake {
  #rung = false;
  #ring: (() => void) | null = null;

  ring(): void {
    this.#rung = true;
    this.#ring?.();
  }

  /** True when it was rung, false after `timeoutMs` without a ring. */
  wait(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (rung: boolean) => {
        clearTimeout(timer);
        this.#ring = null;
        this.#rung = false;
        resolve(rung);
      };
      const timer = setTimeout(() => end(false), timeoutMs);
      this.#ring = () => end(true);
      if (this.#rung) end(true);
    });
  }
}

/** Doubles from `minMs` to `maxMs` while nothing goes well; `reset` starts again. */
export class BackOff {
  #nextMs: number;

  constructor(
    private readonly minMs: number,
    private readonly maxMs: number,
  ) {
    this.#nextMs = minMs;
  }

  nextMs(): number {
    const now = this.#nextMs;
    this.#nextMs = Math.min(this.maxMs, now * 2);
    return now;
  }

  reset(): void {
    this.#nextMs = this.minMs;
  }
}
