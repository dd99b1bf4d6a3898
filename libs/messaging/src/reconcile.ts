import type { JetStreamManager } from '@nats-io/jetstream';
import type { LogReader } from '#domain/log';
import { type BusTail, judgeTail, readFirst, readTail, sequenceAtOrBefore } from './bus-tail.ts';
import type { Bus } from './connect-bus.ts';
import { ensureStream } from './ensure-topology.ts';
import { eventStreamSettings, inputStreamSettings, type Topology } from './topology.ts';
import { Wake } from './wake.ts';

export interface ReconcilerPorts {
  readonly bus: Bus;
  readonly topology: Topology;
  readonly log: Pick<LogReader, 'logId' | 'head' | 'at'>;
  /** The lowest checkpoint of all consumers; null while there is none. */
  readonly lowestCheckpoint: () => Promise<number | null>;
  /** True while the relay finds the bus full: then nothing is kept for comfort. */
  readonly isFull: () => boolean;
  readonly onPass?: (pass: ReconcilePass) => void;
}

/** `skipped`: no connection, an empty stream, or one that the relay refuses. */
export type ReconcilePass =
  | { readonly kind: 'trimmed'; readonly purged: number }
  | { readonly kind: 'kept' }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'failed'; readonly errorName: string };

export interface ReconcilerLimits {
  readonly intervalMs: number;
  /** Rows below the lowest checkpoint that stay, so that a reader that is set back finds them on the bus. */
  readonly keepRows: number;
}

export const RECONCILER_LIMITS: ReconcilerLimits = { intervalMs: 5_000, keepRows: 10_000 };

/**
 * Keeps the bus a window (design 6): trims the event stream to the lowest checkpoint, and makes streams again
 * that are missing. Safe to run in several processes.
 */
export class Reconciler {
  readonly #limits: ReconcilerLimits;
  readonly #wake = new Wake();
  #stopped = false;
  readonly #running: Promise<void>;

  constructor(
    private readonly ports: ReconcilerPorts,
    limits: Partial<ReconcilerLimits> = {},
  ) {
    this.#limits = { ...RECONCILER_LIMITS, ...limits };
    this.#running = this.#run();
  }

  /** Begins a pass at once, for instance because the relay found the bus full. */
  now(): void {
    this.#wake.ring();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake.ring();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.ports.onPass?.(await this.#pass());
      if (!this.#stopped) await this.#wake.wait(this.#limits.intervalMs);
    }
  }

  async #pass(): Promise<ReconcilePass> {
    if (!this.ports.bus.connected) return { kind: 'skipped' };
    try {
      const manager = this.ports.bus.manager();
      await ensureStream(manager, inputStreamSettings(this.ports.topology));
      await ensureStream(manager, eventStreamSettings(this.ports.topology));
      return await this.#trim(manager);
    } catch (error) {
      return { kind: 'failed', errorName: error instanceof Error ? error.name : 'unknown' };
    }
  }

  async #trim(manager: JetStreamManager): Promise<ReconcilePass> {
    const { log, topology, lowestCheckpoint, isFull } = this.ports;
    const lowest = await lowestCheckpoint();
    if (lowest === null) return { kind: 'skipped' };

    const tail: BusTail = await readTail(manager, topology.eventStream);
    if (tail.kind !== 'at') return { kind: 'skipped' };
    // A stream of another log or a forked one is a person's to repair: it is evidence until then.
    if ((await judgeTail(tail, log, lowestCheckpoint)).kind !== 'start') return { kind: 'skipped' };

    const first = await readFirst(manager, topology.eventStream);
    if (first.kind !== 'at') return { kind: 'skipped' };

    // Never to empty: an emptied broker forgets, with the last message, what the next one has to follow.
    const keepFrom = lowest + 1 - (isFull() ? 0 : this.#limits.keepRows);
    const keepSequence = Math.min(sequenceAtOrBefore(first, keepFrom), tail.sequence);
    if (keepSequence <= first.sequence) return { kind: 'kept' };

    const { purged } = await manager.streams.purge(topology.eventStream, { seq: keepSequence });
    return { kind: 'trimmed', purged };
  }
}
