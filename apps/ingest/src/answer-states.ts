import { LRUCache } from 'lru-cache';
import { type Allocation, evolveRecorded, UNKNOWN_ALLOCATION } from '#domain/allocation';
import type { LogReader } from '#domain/log';
import { allocationAt } from '#event-log/load-allocation';
import type { RecordedEvent } from '#events/envelope';
import { isFromNewerVersion, readEvent } from '#events/upcast';

const CACHED_MAX = 20_000;

/**
 * Records as answers show them, kept up by the decisions that pass in the tail, so that an ordinary answer reads
 * nothing. For showing only: the declined evidence, which no answer shows, is not loaded.
 */
export class AnswerStates {
  readonly #log: Pick<LogReader, 'newestDecisions' | 'decisionVersion'>;
  readonly #states = new LRUCache<string, Allocation>({ max: CACHED_MAX });

  constructor(log: Pick<LogReader, 'newestDecisions' | 'decisionVersion'>) {
    this.#log = log;
  }

  /** A row that the tail has read, in the order of the log. */
  observe(row: RecordedEvent): void {
    if (row.role !== 'decision' || isFromNewerVersion(row)) return;
    const before = row.decisionVersion === 1 ? UNKNOWN_ALLOCATION : this.#states.get(row.stream);
    if (before === undefined) return;
    if (before.version >= row.decisionVersion) return;
    const after = before.version + 1 === row.decisionVersion ? folded(before, row) : null;
    if (after === null) this.#states.delete(row.stream);
    else this.#states.set(row.stream, after);
  }

  /** The record as this decision left it. */
  async at(decision: RecordedEvent): Promise<Allocation> {
    const kept = this.#states.get(decision.stream);
    if (kept?.version === decision.decisionVersion) return kept;
    const loaded = await allocationAt(this.#log, decision);
    const newest = this.#states.get(decision.stream);
    if (newest === undefined || newest.version < loaded.version) this.#states.set(decision.stream, loaded);
    return loaded;
  }
}

/** Null for a damaged row: whoever asks for that answer meets the damage, the others do not. */
function folded(before: Allocation, row: RecordedEvent): Allocation | null {
  try {
    return evolveRecorded(before, readEvent(row));
  } catch {
    return null;
  }
}
