import type { VirtualClock } from './virtual-clock.ts';

/** A readable story of one simulation: who called what, what was recorded, what really happened. */
export class Trace {
  readonly #lines: { readonly atMs: number; readonly text: () => string }[] = [];
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** The text is made only if somebody reads it: most stories end well. */
  add(text: () => string): void {
    this.#lines.push({ atMs: this.#clock.monotonicMs(), text });
  }

  get lines(): readonly string[] {
    return this.#lines.map(({ atMs, text }) => `${(atMs / 1000).toFixed(1).padStart(9)} s  ${text()}`);
  }
}
