import type { VirtualClock } from './virtual-clock.ts';

/** A readable story of one simulation: what was recorded, what really happened, and who called what. */
export class Trace {
  readonly #lines: { readonly atMs: number; readonly isCall: boolean; readonly text: () => string }[] = [];
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** The text is made only if somebody reads it: most stories end well. */
  add(text: () => string): void {
    this.#lines.push({ atMs: this.#clock.monotonicMs(), isCall: false, text });
  }

  /** A call of a port: of interest to whoever wants to see every step. */
  call(text: () => string): void {
    this.#lines.push({ atMs: this.#clock.monotonicMs(), isCall: true, text });
  }

  get lines(): readonly string[] {
    return this.#shown(() => true);
  }

  /** Without the calls. */
  get story(): readonly string[] {
    return this.#shown(({ isCall }) => !isCall);
  }

  #shown(keep: (line: { readonly isCall: boolean }) => boolean): readonly string[] {
    return this.#lines
      .filter(keep)
      .map(({ atMs, text }) => `${(atMs / 1000).toFixed(1).padStart(9)} s  ${text()}`);
  }
}
