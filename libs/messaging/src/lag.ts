interface Mark {
  upTo: number;
  readonly sinceMs: number;
}

/** Growth within so long is one mark: memory stays bounded, and the lag is that much too high at most. */
const MARK_MS = 100;
const MARKS_MAX = 256;

/**
 * For how long the oldest thing that was not dealt with has been known. Not the time since everything was dealt
 * with: under steady load something new has always come, however little behind a consumer is.
 */
export class Lag {
  readonly #marks: Mark[] = [];
  #upTo = 0;

  /** Positions up to here are known to exist. `now` = monotonic milliseconds. */
  grew(upTo: number, now = performance.now()): void {
    if (upTo <= this.#upTo) return;
    this.#upTo = upTo;
    const last = this.#marks.at(-1);
    if (last !== undefined && (now - last.sinceMs < MARK_MS || this.#marks.length >= MARKS_MAX)) {
      last.upTo = upTo;
    } else {
      this.#marks.push({ upTo, sinceMs: now });
    }
  }

  dealtWith(pos: number): void {
    while ((this.#marks[0]?.upTo ?? Number.POSITIVE_INFINITY) <= pos) this.#marks.shift();
  }

  ms(now = performance.now()): number {
    return now - (this.#marks[0]?.sinceMs ?? now);
  }
}
