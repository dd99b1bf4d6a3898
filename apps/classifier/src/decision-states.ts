import type { Allocation } from '#domain/allocation';
import type { Standing } from '#domain/fact';
import type { Placement } from '#domain/placement';
import type { PlacementEvent } from '#domain/placement-event';
import { evolvePlacement } from '#domain/placement-fold';
import type { AllocationStates } from '#event-log/allocation-states';
import type { PlacementStates } from '#event-log/placement-states';
import type { RecordedEvent } from '#events/envelope';
import { LostPlace } from '#messaging/handler-failure';

/** A decision that is made and not seen in the log yet, with the version that it will have there. */
interface Ahead {
  readonly version: number;
  readonly event: PlacementEvent;
}

const TRIES_MAX = 5;

/**
 * Both halves of an allocation as the next decision of this process must see them: what is recorded, and what was
 * decided just before and is about to be appended with it (design 4). A wrong state costs a refused append, never
 * a wrong decision: whoever decides names the version that it saw.
 */
export class DecisionStates {
  readonly #records: AllocationStates;
  readonly #placements: PlacementStates;
  readonly #ahead = new Map<string, readonly Ahead[]>();
  #forgotten = 0;

  constructor(records: AllocationStates, placements: PlacementStates) {
    this.#records = records;
    this.#placements = placements;
  }

  /** Changes whenever something is forgotten: what was begun before must not be put back. */
  get generation(): number {
    return this.#forgotten;
  }

  /** The record alone: an attempt asks for nothing else, and never reads its whole stream. */
  record(stream: string): Promise<Allocation> {
    return this.#records.get(stream);
  }

  /**
   * Record and placement at one version. Rejects with LostPlace when there is none: somebody decides on and on, or
   * a decision that is about to be appended was lost from memory. What was decided so far is then appended first.
   */
  async standing(stream: string): Promise<Standing> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const [record, recorded] = await Promise.all([this.#records.get(stream), this.#placements.get(stream)]);
      const placement = this.#withAhead(stream, recorded);
      if (placement.version === record.version) return { record, placement };
      // The tail is behind the log, or the record fell out of its cache: read it again.
      this.#records.forget(stream);
    }
    throw new LostPlace('the allocation was decided on meanwhile');
  }

  /** The state after decisions that are about to be appended; `events` in order, the last one gave `after`. */
  decided(stream: string, after: Allocation, events: readonly PlacementEvent[], generation: number): void {
    // A call that hung and was given up comes here late: what it decided is never appended.
    if (generation !== this.#forgotten) {
      this.forget(stream);
      return;
    }
    this.#records.put(stream, after);
    const first = after.version - events.length + 1;
    const ahead = events.map((event, index) => ({ version: first + index, event }));
    this.#ahead.set(stream, [...this.#aheadOf(stream), ...ahead]);
  }

  /** A row that the tail has read, in the order of the log. */
  observe(row: RecordedEvent): void {
    if (row.decisionVersion === 0) this.#records.begins(row.stream);
    if (row.role !== 'decision') return;
    this.#records.observeRow(row);
    const ahead = this.#ahead.get(row.stream);
    if (ahead === undefined) return;
    const left = ahead.filter(({ version }) => version > row.decisionVersion);
    if (left.length > 0) this.#ahead.set(row.stream, left);
    else this.#ahead.delete(row.stream);
  }

  /** What is held of the stream may be wrong: the next question reads the log. */
  forget(stream: string): void {
    this.#forgotten += 1;
    this.#records.forget(stream);
    this.#placements.forget(stream);
    this.#ahead.delete(stream);
  }

  #aheadOf(stream: string): readonly Ahead[] {
    return this.#ahead.get(stream) ?? [];
  }

  #withAhead(stream: string, recorded: Placement): Placement {
    return this.#aheadOf(stream).reduce(
      (state, { version, event }) => (version === state.version + 1 ? evolvePlacement(state, event) : state),
      recorded,
    );
  }
}
