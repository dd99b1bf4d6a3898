import type { Leases } from '#domain/log-tables';
import { instantMs } from '#events/instant';
import type { Clock } from './clock.ts';
import { every } from './every.ts';

/**
 * The store's clock, as all apps go by it: what is written on a fact, the UTC day on which it counts, and whether a
 * token has expired, does not depend on which machine's clock is wrong (fallback 6, failover 3.4, 5.2). Between two readings it is carried on by a clock that
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

/** A process's own clock is off by some seconds a day: asked so often, the difference is no matter. */
const READ_EVERY_MS = 5_000;

/**
 * A store clock that reads itself again and again; without the store it is carried on. Rejects when it cannot be read
 * at the start. `stop` ends the reading.
 */
export async function keptStoreClock(
  leases: Pick<Leases, 'clock'>,
  local: Pick<Clock, 'monotonicMs'>,
  onError: (error: unknown) => void,
): Promise<{ readonly clock: StoreClock; readonly stop: () => Promise<void> }> {
  const clock = new StoreClock(leases, local);
  await clock.read();
  return { clock, stop: every(READ_EVERY_MS, () => clock.read(), onError) };
}
