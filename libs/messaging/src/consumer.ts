import type { BusFeed } from '#domain/bus';
import type { Command } from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { RecordedEvent } from '#events/envelope';
import { slotOf } from '#events/envelope';
import type { LogTail } from './log-tail.ts';
import { PartitionWorker, type WorkerReport } from './partition-worker.ts';
import { WORKER_BOUNDS, type WorkerBounds } from './worker-bounds.ts';

export interface ConsumerOptions {
  readonly consumer: string;
  readonly partitions: number;
  readonly log: Log;
  readonly tail: LogTail;
  /** The bus, if there is one. */
  readonly feed?: BusFeed;
  /** Unguessable name of this process among the consumer's replicas. */
  readonly holder: string;
  readonly handles: (event: RecordedEvent) => boolean;
  readonly handle: (event: RecordedEvent) => Promise<Command | null>;
  readonly forget: (stream: string) => void;
  readonly report: (report: WorkerReport, partition: number) => void;
  readonly bounds?: Partial<WorkerBounds>;
}

/** A partition of a consumer has one owner, so that order per allocation holds with replicas (design 6). */
export const PARTITION_LEASE_MS = 5_000;
const RENEW_EVERY_MS = PARTITION_LEASE_MS / 3;

interface Owned {
  readonly worker: PartitionWorker;
  readonly ended: Promise<void>;
  readonly stopFeed: () => void;
  readonly fence: number;
}

/**
 * All partitions of one consumer in one process: it takes those that are free, feeds their workers from the
 * tail and the bus, and gives them back at the end. The lease is for order and economy; that an effect happens
 * once is the checkpoint's doing.
 */
export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #owned = new Map<number, Owned>();
  readonly #previousPos = new Map<number, number>();
  #timer: NodeJS.Timeout | null = null;
  #claiming: Promise<void> | null = null;
  #stopTail: (() => void) | null = null;
  #stopped = false;

  constructor(options: ConsumerOptions) {
    this.#options = options;
  }

  /** Begins at once with the partitions that are free; the others are tried again every third of a lease. */
  async start(): Promise<void> {
    this.#stopTail = this.#options.tail.subscribe((event) => this.#tailed(event));
    await this.#claim();
    this.#timer = setInterval(() => void this.#claim(), RENEW_EVERY_MS);
  }

  /** The longest that a partition of this process has been behind, in milliseconds. */
  lagMs(): number {
    return Math.max(0, ...[...this.#owned.values()].map(({ worker }) => worker.lagMs()));
  }

  get ownedPartitions(): readonly number[] {
    return [...this.#owned.keys()];
  }

  get halted(): boolean {
    return [...this.#owned.values()].some(({ worker }) => worker.halted);
  }

  /** Lets every handler finish, stores the checkpoints and frees the partitions. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#stopTail?.();
    await this.#claiming;
    await Promise.all([...this.#owned.keys()].map((partition) => this.#giveUp(partition, true)));
  }

  #tailed(event: RecordedEvent): void {
    const partition = event.slot % this.#options.partitions;
    const previous = this.#previousPos.get(partition) ?? UNKNOWN;
    this.#previousPos.set(partition, event.pos);
    this.#owned.get(partition)?.worker.tailed(event, previous);
  }

  /** One round at a time: while the log does not answer they would pile up, and stopping wait for each. */
  #claim(): Promise<void> {
    this.#claiming ??= this.#claimEach().finally(() => {
      this.#claiming = null;
    });
    return this.#claiming;
  }

  async #claimEach(): Promise<void> {
    for (let partition = 0; partition < this.#options.partitions && !this.#stopped; partition += 1) {
      try {
        const owned = this.#owned.get(partition);
        if (owned === undefined) await this.#take(partition);
        else await this.#renew(partition, owned);
      } catch {
        // The log cannot be reached: the lease may run out, and another process may take the partition. What
        // this one still does meanwhile is stopped by the checkpoint.
      }
    }
  }

  async #take(partition: number): Promise<void> {
    const { log, holder, consumer, partitions, feed, tail } = this.#options;
    const lease = await log.leases.take(leaseName(consumer, partition), holder, PARTITION_LEASE_MS);
    if (lease === null || this.#stopped) return;

    const worker = new PartitionWorker({
      consumer,
      partition: { index: partition, count: partitions },
      log,
      handles: this.#options.handles,
      handle: this.#options.handle,
      forget: this.#options.forget,
      report: (report) => this.#options.report(report, partition),
      bounds: { ...WORKER_BOUNDS, ...this.#options.bounds },
    });
    worker.grewTo(tail.head);
    const stopFeed = feed?.subscribe(partition, (delivery) => {
      // The bus may say anything: an event of another partition would break this one's order.
      if (slotOf(delivery.event.stream) % partitions === partition) worker.deliver(delivery);
    });
    this.#owned.set(partition, {
      worker,
      ended: worker.run(),
      stopFeed: stopFeed ?? (() => undefined),
      fence: lease.fence,
    });
  }

  async #renew(partition: number, owned: Owned): Promise<void> {
    const { log, consumer } = this.#options;
    const ours = await log.leases.renew(leaseName(consumer, partition), owned.fence, PARTITION_LEASE_MS);
    if (!ours) await this.#giveUp(partition, false);
  }

  async #giveUp(partition: number, release: boolean): Promise<void> {
    const owned = this.#owned.get(partition);
    if (owned === undefined) return;
    owned.stopFeed();
    owned.worker.stop();
    await owned.ended;
    this.#owned.delete(partition);
    if (!release) return;
    const { log, consumer } = this.#options;
    await log.leases.release(leaseName(consumer, partition), owned.fence).catch(() => false);
  }
}

const UNKNOWN = -1;

function leaseName(consumer: string, partition: number): string {
  return `partition-${consumer}-${partition}`;
}
