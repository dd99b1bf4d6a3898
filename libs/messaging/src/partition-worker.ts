import type { BusDelivery } from '#domain/bus';
import type { Command, Partition } from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { RecordedEvent } from '#events/envelope';
import { Halted, HandlerDeadline, isPassing, withDeadline } from './handler-failure.ts';
import { ParkedHere } from './parked-here.ts';
import { Wake } from './wake.ts';

/** What a consumer does with one event: what to append, or null when nothing follows from it. */
export type HandleEvent = (event: RecordedEvent) => Promise<Command | null>;

export interface PartitionWorkerOptions {
  readonly consumer: string;
  readonly partition: Partition;
  readonly log: Log;
  /** True for events that the consumer handles; the rest only move the checkpoint. */
  readonly handles: (event: RecordedEvent) => boolean;
  /**
   * True for events whose handling always ends in an append: only they may be taken from the bus before the
   * log has shown them, since the append checks the event's hash. Anything else the bus could make up.
   */
  readonly provesItself: (event: RecordedEvent) => boolean;
  readonly handle: HandleEvent;
  /** What the handlers hold in memory of a stream may be wrong: forget it. */
  readonly forget: (stream: string) => void;
  readonly report: (report: WorkerReport) => void;
  readonly bounds: WorkerBounds;
}

/** Every bound of a worker, with its unit. */
export interface WorkerBounds {
  /** Events decided in memory and appended in one call. */
  readonly batchMax: number;
  /** Deliveries kept ahead of the checkpoint; what is above it is read from the log later. */
  readonly bufferMax: number;
  readonly handlerDeadlineMs: number;
  /** Tries of one event before its allocation is parked. */
  readonly triesMax: number;
  /** Events that changed nothing move the stored checkpoint at least this often. */
  readonly lazyCheckpointMs: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

export const WORKER_BOUNDS: WorkerBounds = {
  batchMax: 64,
  bufferMax: 2_048,
  handlerDeadlineMs: 10_000,
  triesMax: 5,
  lazyCheckpointMs: 500,
  retryMinMs: 20,
  retryMaxMs: 2_000,
};

/** What operators should see; a closed union, without any text of a caller. */
export type WorkerReport =
  | { readonly kind: 'parked'; readonly stream: string; readonly pos: number; readonly tries: number }
  | { readonly kind: 'requeue_done'; readonly stream: string; readonly pos: number }
  /** A message of the bus is not what the log holds: it changed nothing. */
  | { readonly kind: 'foreign_message'; readonly pos: number }
  | { readonly kind: 'halted'; readonly pos: number; readonly why: 'unknown_type' | 'newer_version' | 'body' }
  | { readonly kind: 'handler_failed'; readonly pos: number; readonly tries: number; readonly error: unknown }
  | { readonly kind: 'retrying'; readonly error: unknown };

interface Batch {
  readonly events: readonly RecordedEvent[];
  /** The log holds nothing more of this partition up to here; 0 = unknown. */
  readonly seenUpTo: number;
}

interface Place {
  readonly pos: number;
  readonly hash: string;
}

/**
 * One consumer's share of the log: takes events from the bus or from the log, whichever comes first, in order,
 * hands them to the handlers, and appends what they return together with the step of the checkpoint (design 6).
 * Killed anywhere it starts again at the stored checkpoint; what was appended is then a duplicate.
 */
export class PartitionWorker {
  readonly #options: PartitionWorkerOptions;
  readonly #wake = new Wake();
  /** Deliveries above the cursor, by the position they follow. */
  readonly #ahead = new Map<number, { readonly event: RecordedEvent; readonly source: 'bus' | 'log' }>();
  readonly #unacked: BusDelivery[] = [];
  readonly #parked: ParkedHere;
  /** Handled in memory. */
  #cursor: Place = { pos: 0, hash: '' };
  /** Stored in Postgres. */
  #stored: Place = { pos: 0, hash: '' };
  #storedAtMs = 0;
  /** The log is known to hold nothing of this partition between the cursor and here. */
  #seenUpTo = 0;
  #head = 0;
  /** Events still to be taken one by one, each counted first: after a start or a failure (pitfall 19). */
  #cautious = 0;
  #distrustBus = false;
  #retryMs = 0;
  #lostRaces = 0;
  #behindSinceMs: number | null = null;
  #stopped = false;
  #halted: WorkerReport | null = null;

  constructor(options: PartitionWorkerOptions) {
    this.#options = options;
    this.#parked = new ParkedHere(options);
  }

  /** Last position that has been dealt with: nothing of this partition lies between the cursor and here. */
  get pos(): number {
    return Math.max(this.#cursor.pos, this.#seenUpTo);
  }

  /** For how long the log has been known to hold more than was dealt with; 0 when caught up. */
  lagMs(): number {
    return this.#behindSinceMs === null ? 0 : performance.now() - this.#behindSinceMs;
  }

  get halted(): boolean {
    return this.#halted !== null;
  }

  /** The log has grown to here. */
  grewTo(head: number): void {
    if (head <= this.#head) return;
    this.#head = head;
    this.#noteProgress();
    this.#wake.ring();
  }

  /** An event of this partition that the process's tail of the log has read. */
  tailed(event: RecordedEvent, previousPos: number): void {
    this.#head = Math.max(this.#head, event.pos);
    this.#keepAhead(event, previousPos, 'log');
    this.#noteProgress();
    this.#wake.ring();
  }

  /** An event of this partition as the bus brought it: acknowledged once the checkpoint has passed it. */
  deliver(delivery: BusDelivery): void {
    if (delivery.event.pos <= this.#cursor.pos) {
      delivery.ack();
      return;
    }
    this.#unacked.push(delivery);
    if (this.#unacked.length > this.#options.bounds.bufferMax) this.#unacked.shift();
    if (this.#distrustBus || !this.#options.provesItself(delivery.event)) return;
    this.#keepAhead(delivery.event, delivery.previousPos, 'bus');
    this.#wake.ring();
  }

  #keepAhead(event: RecordedEvent, previousPos: number, source: 'bus' | 'log'): void {
    if (event.pos <= this.#cursor.pos) return;
    const known = this.#ahead.get(previousPos);
    if (known === undefined && this.#ahead.size >= this.#options.bounds.bufferMax) return;
    if (known === undefined || source === 'log') this.#ahead.set(previousPos, { event, source });
  }

  stop(): void {
    this.#stopped = true;
    this.#wake.ring();
  }

  /** Runs until stopped or until the checkpoint turns out to be another worker's. Never throws. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#begin();
        while (!this.#stopped) await this.#turn();
      } catch (error) {
        if (this.#stopped) break;
        this.#options.report({ kind: 'retrying', error });
        await this.#backOff();
      }
    }
    try {
      await this.#storeCheckpoint(0);
    } catch {
      // The next owner meets the ignored events again and ignores them again.
    }
    for (const delivery of this.#unacked.splice(0))
      if (delivery.event.pos <= this.#stored.pos) delivery.ack();
  }

  async #begin(): Promise<void> {
    const { log, consumer, partition, bounds } = this.#options;
    const checkpoint = await log.checkpoints.ensure(consumer, partition);
    this.#stored = { pos: checkpoint.pos, hash: checkpoint.hash };
    this.#cursor = this.#stored;
    this.#seenUpTo = checkpoint.pos;
    this.#dropPassed(checkpoint.pos);
    this.#head = Math.max(this.#head, (await log.head()).pos);
    this.#cautious = bounds.batchMax;
    await this.#parked.load();
  }

  async #turn(): Promise<void> {
    await this.#parked.workOff(this.#cursor.pos);
    const batch = await this.#nextBatch();
    if (batch.events.length > 0 && !(await this.#take(batch.events))) return;
    this.#seenUpTo = Math.max(this.#seenUpTo, batch.seenUpTo);
    this.#noteProgress();
    if (batch.events.length > 0) return;
    await this.#storeCheckpoint(this.#options.bounds.lazyCheckpointMs);
    await this.#wake.wait(this.#options.bounds.lazyCheckpointMs);
  }

  /** Events right behind the cursor, without a gap: what was delivered, else what the log holds. */
  async #nextBatch(): Promise<Batch> {
    const max = this.#cautious > 0 ? 1 : this.#options.bounds.batchMax;
    const delivered: RecordedEvent[] = [];
    for (let pos = this.#cursor.pos; delivered.length < max; ) {
      const next = this.#ahead.get(pos);
      if (next === undefined) break;
      this.#ahead.delete(pos);
      delivered.push(next.event);
      pos = next.event.pos;
    }
    if (delivered.length > 0) return { events: delivered, seenUpTo: 0 };
    if (this.#head <= this.pos) return { events: [], seenUpTo: 0 };

    const head = this.#head;
    const { log, partition } = this.#options;
    const events = await log.readAfter(this.#cursor.pos, max, partition);
    this.#distrustBus = false;
    return { events, seenUpTo: events.length < max ? head : 0 };
  }

  /** False when a command was not taken: the rest of the batch is read again. */
  async #take(batch: readonly RecordedEvent[]): Promise<boolean> {
    const commands: { readonly command: Command; readonly event: RecordedEvent }[] = [];
    let from = this.#stored;
    let reached = this.#cursor;
    try {
      for (const event of batch) {
        const command = await this.#handleOnce(event);
        reached = event;
        if (command === null) continue;
        commands.push({
          event,
          command: { ...command, checkpoint: this.#step(from, event) },
        });
        from = event;
      }
    } catch (error) {
      // What came before the failing event is good: append it, then deal with the failure from there.
      await this.#appendAll(commands, reached);
      if (isPassing(error) || error instanceof Halted) throw this.#noteHalt(error);
      this.#cautious = this.#options.bounds.batchMax;
      throw error;
    }
    if (!(await this.#appendAll(commands, reached))) return false;
    this.#dropPassed(this.#cursor.pos);
    this.#retryMs = 0;
    this.#lostRaces = 0;
    this.#halted = null;
    return true;
  }

  /** Runs the handler; a failing event is counted, and parked with its allocation when its tries are used up. */
  async #handleOnce(event: RecordedEvent): Promise<Command | null> {
    const { consumer, partition, log, bounds, report } = this.#options;
    if (!this.#options.handles(event) || this.#parked.holds(event.stream)) return null;

    let tries = 1;
    if (this.#cautious > 0) {
      this.#cautious -= 1;
      tries = await log.tries.count(consumer, partition.index, event.pos);
      if (tries > bounds.triesMax) {
        await this.#parked.park(event, tries - 1, 'poison');
        report({ kind: 'parked', stream: event.stream, pos: event.pos, tries: tries - 1 });
        return null;
      }
    }
    try {
      return await withDeadline(this.#options.handle(event), bounds.handlerDeadlineMs);
    } catch (error) {
      this.#options.forget(event.stream);
      if (isPassing(error) || error instanceof Halted) throw error;
      report({ kind: 'handler_failed', pos: event.pos, tries, error });
      if (tries >= bounds.triesMax) {
        await this.#parked.park(event, tries, error instanceof HandlerDeadline ? 'deadline' : 'poison');
        report({ kind: 'parked', stream: event.stream, pos: event.pos, tries });
        return null;
      }
      throw error;
    }
  }

  async #appendAll(
    commands: readonly { readonly command: Command; readonly event: RecordedEvent }[],
    reached: Place,
  ): Promise<boolean> {
    const { log, forget, report, consumer, partition } = this.#options;
    const wasCautious = this.#cautious > 0 || this.#retryMs > 0;
    if (commands.length > 0) {
      const results = await log.append(commands.map(({ command }) => command)).catch((error: unknown) => {
        for (const { command } of commands) forget(command.stream);
        throw error;
      });
      for (const [index, { event, command }] of commands.entries()) {
        const result = results[index];
        if (result?.outcome === 'appended' || result?.outcome === 'duplicate') {
          this.#advance(event, true);
          // Decided on a state that another worker has replaced by the same decision: read it again.
          if (result.outcome === 'duplicate') forget(command.stream);
          continue;
        }
        for (const later of commands.slice(index)) forget(later.command.stream);
        this.#ahead.clear();
        if (result?.outcome === 'stale_consumer') {
          if (result.at === this.#stored.pos) {
            this.#distrustBus = true;
            report({ kind: 'foreign_message', pos: event.pos });
          }
          throw new LostPlace(`checkpoint of ${consumer}/${partition.index} is elsewhere`);
        }
        if (result?.outcome === 'id_conflict') await this.#parkConflict(event);
        // Losing the race is normal: the handler decides again on what the winner wrote. Losing it on and on
        // is not, and must not spin.
        this.#lostRaces += 1;
        if (this.#lostRaces > LOST_RACES_MAX) throw new LostPlace('every decision met a newer version');
        return false;
      }
    }
    if (reached.pos > this.#cursor.pos) this.#advance(reached, false);
    if (wasCautious) await log.tries.clear(consumer, partition.index, this.#cursor.pos);
    return true;
  }

  async #parkConflict(event: RecordedEvent): Promise<void> {
    await this.#parked.park(event, 1, 'poison');
    this.#options.report({ kind: 'parked', stream: event.stream, pos: event.pos, tries: 1 });
  }

  #advance(to: Place, stored: boolean): void {
    this.#cursor = { pos: to.pos, hash: to.hash };
    if (stored) {
      this.#stored = this.#cursor;
      this.#storedAtMs = performance.now();
    }
    while ((this.#unacked[0]?.event.pos ?? Number.POSITIVE_INFINITY) <= this.#cursor.pos) {
      this.#unacked.shift()?.ack();
    }
  }

  /** Moves the stored checkpoint over events that changed nothing, if it has not moved for `everyMs`. */
  async #storeCheckpoint(everyMs: number): Promise<void> {
    if (this.#cursor.pos === this.#stored.pos || performance.now() - this.#storedAtMs < everyMs) return;
    const { consumer, partition, log } = this.#options;
    const to = this.#cursor;
    const [result] = await log.append([
      {
        commandId: `checkpoint-${consumer}-${partition.index}-${to.pos}`,
        digest: to.hash,
        stream: `consumer-${consumer}`,
        expected: 'any',
        occurredAt: NO_TIME,
        events: [],
        checkpoint: this.#step(this.#stored, to),
      },
    ]);
    if (result?.outcome === 'stale_consumer') throw new LostPlace('checkpoint moved by another worker');
    this.#advance(to, true);
  }

  #step(from: Place, to: Place) {
    const { consumer, partition } = this.#options;
    return { consumer, partition: partition.index, from: from.pos, to: to.pos, hash: to.hash };
  }

  #dropPassed(pos: number): void {
    for (const previous of this.#ahead.keys()) if (previous < pos) this.#ahead.delete(previous);
  }

  #noteProgress(): void {
    if (this.#head <= this.pos) this.#behindSinceMs = null;
    else this.#behindSinceMs ??= performance.now();
  }

  #noteHalt(error: unknown): unknown {
    if (error instanceof Halted) {
      const report = { kind: 'halted', pos: error.pos, why: error.why } as const;
      if (this.#halted === null) this.#options.report(report);
      this.#halted = report;
    }
    return error;
  }

  async #backOff(): Promise<void> {
    const { retryMinMs, retryMaxMs } = this.#options.bounds;
    this.#retryMs = Math.min(retryMaxMs, Math.max(retryMinMs, this.#retryMs * 2));
    await new Promise((resolve) => setTimeout(resolve, this.#retryMs));
  }
}

const LOST_RACES_MAX = 20;

/** The stored checkpoint is not where this worker left it: begin again from what is stored. */
class LostPlace extends Error {
  override readonly name = 'LostPlace';
}

/** A step without events happens at no domain time; the column is not null. */
const NO_TIME = '1970-01-01T00:00:00.000Z';
