/** The same trouble again is written at most this often: a fault of the world that lasts comes with every try. */
export const SAME_LINE_EVERY_MS = 10_000;
const REMEMBERED_MAX = 500;

interface Said {
  readonly atMs: number;
  leftOut: number;
}

/** Knows which lines say again what was written a moment ago. Bounded in memory. */
export class RepeatedLines {
  readonly #said = new Map<string, Said>();

  /** `now` = monotonic milliseconds. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Null when the line is to be left out, else how many like it were left out since the last one. */
  leftOutBefore(line: string): number | null {
    const atMs = this.now();
    const said = this.#said.get(line);
    if (said !== undefined && atMs - said.atMs < SAME_LINE_EVERY_MS) {
      said.leftOut += 1;
      return null;
    }
    this.#said.delete(line);
    this.#said.set(line, { atMs, leftOut: 0 });
    const [oldest] = this.#said.keys();
    if (this.#said.size > REMEMBERED_MAX && oldest !== undefined) this.#said.delete(oldest);
    return said?.leftOut ?? 0;
  }
}
