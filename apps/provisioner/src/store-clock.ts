import type { Leases } from '#domain/log-tables';
import { instantMs } from '#events/instant';
import type { Clock } from '#platform/clock';

/**
 * The store's clock, as all workers go by it: what is written on a fact, and the UTC day on which it counts, does not
 * depend on which worker's clock is wrong (failover 3.4, 5.2). Between two readings it is carried on by a clock that
 * never jumps; it is never ahead of the store, and behind it by as long as an answer took.
 */
export class StoreClock implements Clock {
  readonly #leases: Pick<Leases, 'clock'>;
  readonly #local: Pick<Clock, 'monotonicMs'>;
  #aheadMs: number | null = null;

  constructor(leases: Pick<Leases, 'clock'>, local: Pick<Clock, 'monotonicMs'>) {
    this.#leases = leases;
    this.#local = local;
  }

  /** Asks the store for its time. */
  async read(): Promise<string> {
    const now = await this.#leases.clock();
    this.#aheadMs = instantMs(now) - this.#local.monotonicMs();
    return now;
  }

  /** Throws before the first reading: there is no time to go by then. */
  now(): string {
    if (this.#aheadMs === null) throw new Error("the store's clock was never read");
    return new Date(this.#aheadMs + this.#local.monotonicMs()).toISOString();
  }

  monotonicMs(): number {
    return this.#local.monotonicMs();
  }
}
