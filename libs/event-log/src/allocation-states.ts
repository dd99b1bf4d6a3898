import { LRUCache } from 'lru-cache';
import { type Allocation, evolveRecorded, UNKNOWN_ALLOCATION } from '#domain/allocation';
import type { LogReader } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import { loadAllocation } from './load-allocation.ts';

type StateLog = Pick<LogReader, 'newestDecisions' | 'decisionVersion'>;

/**
 * The newest known state of allocations, a bounded cache rebuilt from the log (fallback 8). A wrong entry costs
 * a refused append, never a wrong decision: whoever decides names the version that it saw.
 */
export class AllocationStates {
  readonly #log: StateLog;
  readonly #states: LRUCache<string, Allocation>;

  constructor(log: StateLog, max: number) {
    this.#log = log;
    this.#states = new LRUCache({ max });
  }

  async get(stream: string): Promise<Allocation> {
    const cached = this.#states.get(stream);
    if (cached !== undefined) return cached;
    const loaded = (await loadAllocation(this.#log, stream)) ?? UNKNOWN_ALLOCATION;
    this.#states.set(stream, loaded);
    return loaded;
  }

  /** The state after a decision that is about to be appended. */
  put(stream: string, state: Allocation): void {
    this.#states.set(stream, state);
  }

  /** A decision that somebody else appended, in the order of the log. */
  observe(event: KnownEvent): void {
    const { stream, decisionVersion } = event.row;
    const cached = this.#states.get(stream);
    if (cached === undefined || decisionVersion <= cached.version) return;
    if (decisionVersion === cached.version + 1) this.#states.set(stream, evolveRecorded(cached, event));
    else this.#states.delete(stream);
  }

  forget(stream: string): void {
    this.#states.delete(stream);
  }
}
