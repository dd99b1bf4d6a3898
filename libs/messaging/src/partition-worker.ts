import type { BusDelivery } from '#domain/bus';
import type { Command, Partition } from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { RecordedEvent } from '#events/envelope';
import { BusDeliveries } from './bus-deliveries.ts';
import {
  Halted,
  type HaltReason,
  HandlerDeadline,
  isBlameless,
  LostPlace,
  withDeadline,
} from './handler-failure.ts';
import { Lag } from './lag.ts';
import { ParkedHere } from './parked-here.ts';
import { Wake } from './wake.ts';
import type { WorkerBounds } from './worker-bounds.ts';

/** What a consumer does with one event: what to append, or null when nothing follows from it. */
export type HandleEvent = (event: RecordedEvent) => Promise<Command | null>;

export interface PartitionWorkerOptions {
  readonly consumer: string;
  readonly partition: Partition;
  readonly log: Log;
  /** True for events that the consumer handles; the rest only move the checkpoint. */
  readonly handles: (event: RecordedEvent) => boolean;
  readonly handle: HandleEvent;
  /** What the handlers hold in memory of a stream may be wrong: forget it. */
  readonly forget: (stream: string) => void;
  readonly report: (report: WorkerReport) => void;
  readonly bounds: WorkerBounds;
}

/** What operators should see; a closed union, without any text of a caller. */
export type WorkerReport =
  | { readonly kind: 'parked'; readonly stream: string; readonly pos: number; readonly tries: number }
  | { readonly kind: 'requeue_done'; readonly stream: string; readonly pos: number }
  /** A message of the bus is not what the log holds: it changed nothing. */
  | { readonly kind: 'foreign_message'; readonly pos: number }
  | { readonly kind: 'halted'; readonly pos: number; readonly why: HaltReason }
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

interface Effect {
  readonly event: RecordedEvent;
  readonly command: Command;
}

/**
 * One consumer's share of the log: takes its events in order from the tail or by a read of its own, whichever
 * comes first, hands them to the handlers, and appends what they return together with the step of the
 * checkpoint (design 6). The bus wakes it, and is compared with the log. Killed anywhere it starts again at the
 * stored checkpoint; what was appended is then a duplicate.
 */
export class PartitionWorker {
  readonly #options: PartitionWorkerOptions;
  readonly #wake = new Wake();
  readonly #stopping = new Wake();
  readonly #lag = new Lag();
  readonly #bus: BusDeliveries;
  readonly #parked: ParkedHere;
  /** Events above the cursor that the tail has read, by the position they follow. */
  readonly #ahead = new Map<number, RecordedEvent>();
  /** Handled in memory. */
  #cursor: Place = { pos: 0, hash: '' };
  /** Stored in Postgres. */
  #stored: Place = { pos: 0, hash: '' };
  #storedAtMs = 0;
  /** The log is known to hold nothing of this partition between the cursor and here. */
  #seenUpTo = 0;
  #head = 0;
  /** The newest position that the bus speaks of; news while it is beyond the head. */
  #newsPos = 0;
  #newsAtMs = 0;
  /** Events still to be taken one by one, each counted first: one of them fails, or ends the process. */
  #cautious = 0;
  /** What stands up to here may have ended the process before: each batch is marked first (pitfall 19). */
  #markUpTo: number | null = null;
  /** Position whose handler was counted and has neither succeeded nor been found at fault. */
  #openTry: number | null = null;
  #hasCounts = true;
  #retryMs = 0;
  #lostRaces = 0;
  #stopped = false;
  #halted: WorkerReport | null = null;

  constructor(options: PartitionWorkerOptions) {
    this.#options = options;
    this.#parked = new ParkedHere({
      ...options,
      handlerDeadlineMs: options.bounds.handlerDeadlineMs,
      triesMax: options.bounds.triesMax,
    });
    this.#bus = new BusDeliveries(options.bounds.bufferMax, (pos) =>
      options.report({ kind: 'foreign_message', pos }),
    );
  }

  /** Last position that has been dealt with: nothing of this partition lies between the cursor and here. */
  get pos(): number {
    return Math.max(this.#cursor.pos, this.#seenUpTo);
  }

  /** For how long the oldest event that was not dealt with has been known; 0 when caught up. */
  lagMs(): number {
    return this.#lag.ms();
  }

  get halted(): boolean {
    return this.#halted !== null;
  }

  /** The log has grown to here. */
  grewTo(head: number): void {
    if (head <= this.#head) return;
    this.#head = head;
    this.#lag.grew(head);
    this.#wake.ring();
  }

  /** An event of this partition that the process's tail of the log has read, and the one before it. */
  tailed(event: RecordedEvent, previousPos: number): void {
    if (event.pos > this.#cursor.pos && this.#ahead.size < this.#options.bounds.bufferMax) {
      this.#ahead.set(previousPos, event);
    }
    this.grewTo(event.pos);
  }

  /** An event of this partition as the bus brought it: acknowledged once the checkpoint has passed it. */
  deliver(delivery: BusDelivery): void {
    if (delivery.event.pos <= this.#cursor.pos) {
      delivery.ack();
      return;
    }
    this.#bus.add(delivery);
    if (delivery.event.pos <= this.#head) return;
    if (this.#newsPos <= this.#head) {
      this.#newsAtMs = performance.now();
      this.#wake.ring();
    }
    this.#newsPos = Math.max(this.#newsPos, delivery.event.pos);
  }

  stop(): void {
    this.#stopped = true;
    this.#wake.ring();
    this.#stopping.ring();
  }

  /** Runs until stopped. Never throws. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#begin();
        while (!this.#stopped) await this.#turn();
      } catch (error) {
        if (this.#stopped) break;
        if (!isBlameless(error)) {
          // It may be the event's doing: its try stays counted, and the events go one by one until it is found.
          this.#openTry = null;
          this.#cautious = this.#options.bounds.batchMax;
        }
        this.#options.report({ kind: 'retrying', error });
        await this.#backOff();
      }
    }
    try {
      await this.#storeCheckpoint(0);
    } catch {
      // The next owner meets the ignored events again and ignores them again.
    }
  }

  async #begin(): Promise<void> {
    const { log, consumer, partition } = this.#options;
    const checkpoint = await log.checkpoints.ensure(consumer, partition);
    this.#stored = { pos: checkpoint.pos, hash: checkpoint.hash };
    this.#cursor = this.#stored;
    this.#seenUpTo = checkpoint.pos;
    this.#dropPassed(checkpoint.pos);
    this.#bus.passedElsewhere(checkpoint.pos);
    const { pos } = await log.head();
    this.grewTo(pos);
    await this.#mustBeInLog(checkpoint);
    this.#markUpTo ??= pos;
    this.#lag.dealtWith(this.pos);
    await this.#parked.load();
  }

  async #mustBeInLog({ pos, hash }: Place): Promise<void> {
    if (pos > 0 && (await this.#options.log.at(pos))?.hash !== hash) {
      const error = new Halted(pos, 'checkpoint_not_in_log');
      this.#noteHalt(error);
      throw error;
    }
    if (this.#halted?.kind === 'halted' && this.#halted.why === 'checkpoint_not_in_log') this.#halted = null;
  }

  async #turn(): Promise<void> {
    await this.#parked.workOff(this.#cursor.pos);
    const batch = await this.#nextBatch();
    const taken =
      batch.events.length === 0 || ((await this.#mayRun(batch.events)) && (await this.#take(batch.events)));
    if (taken) this.#seenUpTo = Math.max(this.#seenUpTo, batch.seenUpTo);
    this.#bus.passed(this.pos, batch.events);
    this.#lag.dealtWith(this.pos);
    if (batch.events.length > 0) return;
    await this.#storeCheckpoint(this.#options.bounds.lazyCheckpointMs);
    await this.#wake.wait(Math.max(0, Math.min(this.#options.bounds.lazyCheckpointMs, this.#newsDueInMs())));
  }

  /** Events right behind the cursor, without a gap: what the tail has told, else what the log holds. */
  async #nextBatch(): Promise<Batch> {
    const max = this.#cautious > 0 ? 1 : this.#options.bounds.batchMax;
    const told: RecordedEvent[] = [];
    for (let pos = this.#cursor.pos; told.length < max; ) {
      const next = this.#ahead.get(pos);
      if (next === undefined) break;
      this.#ahead.delete(pos);
      told.push(next);
      pos = next.pos;
    }
    if (told.length > 0) return { events: told, seenUpTo: 0 };
    if (this.#newsDueInMs() <= 0) await this.#lookForNews();
    if (this.#head <= this.pos) return { events: [], seenUpTo: 0 };

    const head = this.#head;
    const { log, partition } = this.#options;
    const events = await log.readAfter(this.#cursor.pos, max, partition);
    return { events, seenUpTo: events.length < max ? head : 0 };
  }

  /**
   * Most often the tail is about to tell the same, for one read of the log instead of one a partition (measured: as
   * many looks as events). Only a tail that has missed its notice leaves it to the bus.
   */
  #newsDueInMs(): number {
    if (this.#newsPos <= this.#head) return Number.POSITIVE_INFINITY;
    return this.#options.bounds.newsAfterMs - (performance.now() - this.#newsAtMs);
  }

  async #lookForNews(): Promise<void> {
    this.#newsPos = 0;
    const asked = this.#bus.size;
    const { pos } = await this.#options.log.head();
    this.grewTo(pos);
    this.#bus.beyond(pos, asked);
  }

  /**
   * Marks a batch that an earlier process may have met, so that a handler that kills its process is noticed and
   * a restart costs one row a batch, not one an event. False: the events are to be taken one by one.
   */
  async #mayRun(batch: readonly RecordedEvent[]): Promise<boolean> {
    const { log, consumer, partition, bounds } = this.#options;
    if (this.#cautious > 0 || (batch[0]?.pos ?? 0) > (this.#markUpTo ?? 0)) return true;
    this.#hasCounts = true;
    if ((await log.tries.count(consumer, partition.index, this.#cursor.pos)) === 1) return true;
    this.#cautious = bounds.batchMax;
    return false;
  }

  /** False when a command was not taken: the rest of the batch is read again. */
  async #take(batch: readonly RecordedEvent[]): Promise<boolean> {
    const effects: Effect[] = [];
    let from = this.#stored;
    let reached = this.#cursor;
    try {
      for (const event of batch) {
        const command = await this.#handleOnce(event);
        reached = event;
        if (command === null) continue;
        effects.push({ event, command: { ...command, checkpoint: this.#step(from, event) } });
        from = event;
      }
    } catch (error) {
      // What came before the failing event is good: append it, then deal with the failure from there.
      await this.#appendAll(effects, reached);
      this.#noteHalt(error);
      throw error;
    }
    if (!(await this.#appendAll(effects, reached))) return false;
    this.#dropPassed(this.#cursor.pos);
    this.#retryMs = 0;
    this.#lostRaces = 0;
    this.#halted = null;
    return true;
  }

  /** Runs the handler; a failing event is counted, and parked with its allocation when its tries are used up. */
  async #handleOnce(event: RecordedEvent): Promise<Command | null> {
    const { bounds, report } = this.#options;
    if (!this.#options.handles(event) || this.#parked.holds(event.stream)) return null;

    let tries = 0;
    if (this.#cautious > 0) {
      this.#cautious -= 1;
      tries = await this.#countTry(event.pos);
      // Counted and never came back: it ends the process each time.
      if (tries > bounds.triesMax) return this.#park(event, tries - 1, 'poison');
    }
    try {
      return await withDeadline(this.#options.handle(event), bounds.handlerDeadlineMs);
    } catch (error) {
      this.#options.forget(event.stream);
      if (isBlameless(error)) throw error;
      if (tries === 0) tries = await this.#countTry(event.pos);
      report({ kind: 'handler_failed', pos: event.pos, tries, error });
      if (tries < bounds.triesMax) throw error;
      return this.#park(event, tries, error instanceof HandlerDeadline ? 'deadline' : 'poison');
    }
  }

  async #countTry(pos: number): Promise<number> {
    const { consumer, partition, log } = this.#options;
    // The last try ended by a fault of the world, or waits for an upgrade: that is not held against the event,
    // or an outage of half a minute would park an innocent allocation.
    if (this.#openTry === pos) await log.tries.clear(consumer, partition.index, pos);
    this.#openTry = pos;
    this.#hasCounts = true;
    return log.tries.count(consumer, partition.index, pos);
  }

  async #park(event: RecordedEvent, tries: number, reason: 'poison' | 'deadline'): Promise<null> {
    await this.#parked.park(event, tries, reason);
    this.#options.report({ kind: 'parked', stream: event.stream, pos: event.pos, tries });
    return null;
  }

  async #appendAll(effects: readonly Effect[], reached: Place): Promise<boolean> {
    const { log, forget, consumer, partition } = this.#options;
    if (effects.length > 0) {
      const results = await log.append(effects.map(({ command }) => command)).catch((error: unknown) => {
        for (const { command } of effects) forget(command.stream);
        throw error;
      });
      for (const [index, { event, command }] of effects.entries()) {
        const result = results[index];
        if (result?.outcome === 'appended' || result?.outcome === 'duplicate') {
          this.#advance(event, true);
          // Decided on a state that another worker has replaced by the same decision: read it again.
          if (result.outcome === 'duplicate') forget(command.stream);
          continue;
        }
        for (const later of effects.slice(index)) forget(later.command.stream);
        if (result?.outcome === 'stale_consumer') {
          throw new LostPlace(`checkpoint of ${consumer}/${partition.index} is elsewhere`);
        }
        if (result?.outcome === 'id_conflict') await this.#park(event, 1, 'poison');
        // Losing the race is normal: the handler decides again on what the winner wrote. Losing it on and on
        // is not, and must not spin.
        this.#lostRaces += 1;
        if (this.#lostRaces > LOST_RACES_MAX) throw new LostPlace('every decision met a newer version');
        return false;
      }
    }
    if (reached.pos > this.#cursor.pos) this.#advance(reached, false);
    if (this.#hasCounts) {
      await log.tries.clear(consumer, partition.index, this.#cursor.pos);
      this.#hasCounts = false;
    }
    return true;
  }

  #advance(to: Place, stored: boolean): void {
    this.#cursor = { pos: to.pos, hash: to.hash };
    if (!stored) return;
    this.#stored = this.#cursor;
    this.#storedAtMs = performance.now();
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

  #noteHalt(error: unknown): void {
    if (!(error instanceof Halted)) return;
    const report = { kind: 'halted', pos: error.pos, why: error.why } as const;
    if (this.#halted === null) this.#options.report(report);
    this.#halted = report;
  }

  async #backOff(): Promise<void> {
    const { retryMinMs, retryMaxMs } = this.#options.bounds;
    this.#retryMs = Math.min(retryMaxMs, Math.max(retryMinMs, this.#retryMs * 2));
    await this.#stopping.wait(this.#retryMs);
  }
}

const LOST_RACES_MAX = 20;

/** A step without events happens at no domain time; the column is not null. */
const NO_TIME = '1970-01-01T00:00:00.000Z';
