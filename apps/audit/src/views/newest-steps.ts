import type { StreamStep } from './stream-states.ts';

/** The newest steps of a stream before a position, at most `limit` of them; offered oldest first. */
export class NewestSteps<Step extends Pick<StreamStep, 'row'>> {
  readonly #limit: number;
  readonly #before: number;
  #steps: Step[] = [];
  #leftOut = false;

  constructor(limit = Number.POSITIVE_INFINITY, before = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
    this.#before = before;
  }

  /** Older steps before the position were not kept. */
  get leftOut(): boolean {
    this.#cut();
    return this.#leftOut;
  }

  offer(step: Step): void {
    if (step.row.pos >= this.#before) return;
    this.#steps.push(step);
    // Cut now and then, not at every step: moving a list costs its length.
    if (this.#steps.length >= 2 * this.#limit) this.#cut();
  }

  steps(): readonly Step[] {
    this.#cut();
    return this.#steps;
  }

  #cut(): void {
    if (this.#steps.length <= this.#limit) return;
    this.#leftOut = true;
    this.#steps = this.#steps.slice(-this.#limit);
  }
}
