import { LRUCache } from 'lru-cache';
import { type Allocation, evolveRecorded, UNKNOWN_ALLOCATION } from '#domain/allocation';
import type { LogReader } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { readEvent } from '#events/upcast';
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

  /** An input before every decision of its stream: there is nothing to load. */
  begins(stream: string): void {
    if (!this.#states.has(stream)) this.#states.set(stream, UNKNOWN_ALLOCATION);
  }

  /**
   * A decision or fact as the tail brings it, in the order of the log; every one counts a version, also one that
   * says nothing about the record. It is read only where a state is held.
   */
  observeRow(row: RecordedEvent): void {
    const cached = this.#states.get(row.stream);
    if (cached === undefined || row.decisionVersion <= cached.version) return;
    const event = row.decisionVersion === cached.version + 1 ? readable(row) : null;
    if (event === null) this.#states.delete(row.stream);
    else this.#states.set(row.stream, evolveRecorded(cached, event));
  }

  forget(stream: string): void {
    this.#states.delete(stream);
  }
}

/** Null for a row that this version cannot read: whoever decides on that stream meets it, the others do not. */
function readable(row: RecordedEvent): KnownEvent | null {
  try {
    return readEvent(row);
  } catch {
    return null;
  }
}
