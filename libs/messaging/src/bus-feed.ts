import { createHash } from 'node:crypto';
import type { JetStreamManager, JsMsg } from '@nats-io/jetstream';
import type { BusDelivery, BusFeed } from '#domain/bus';
import type { LogReader } from '#domain/log';
import { readFirst, sequenceAtOrBefore } from './bus-tail.ts';
import type { Bus } from './connect-bus.ts';
import { DurablePull, type PullLimits, type PullTrouble } from './durable-pull.ts';
import { type ForeignReason, readEventMessage } from './event-message.ts';
import {
  type DurableLimits,
  type DurableSettings,
  eventDurable,
  eventStreamSettings,
  type Topology,
} from './topology.ts';

export interface FeedPorts {
  readonly bus: Bus;
  readonly topology: Topology;
  /** Name of the consuming app; its durables are `<consumer>-<partition>`. */
  readonly consumer: string;
  readonly log: Pick<LogReader, 'logId'>;
  /** Where a durable that has to be made starts: the consumer's checkpoint in this partition. */
  readonly checkpoint: (partition: number) => Promise<number>;
  /** A message on our subjects that is no row of our log. It changed nothing; somebody should look. */
  readonly onForeign?: (foreign: ForeignMessage) => void;
  readonly onTrouble?: (partition: number, trouble: PullTrouble) => void;
}

/** What may be told of a message that anybody may have written. */
export interface ForeignMessage {
  readonly reason: ForeignReason;
  readonly partition: number;
  readonly sequence: number;
  readonly bodyBytes: number;
  readonly bodyDigest: string;
}

export type FeedLimits = PullLimits & DurableLimits;

export const FEED_LIMITS: FeedLimits = {
  maxBuffered: 256,
  checkMs: 2_000,
  retryMinMs: 50,
  retryMaxMs: 2_000,
  ackWaitMs: 30_000,
  maxUnsettled: 2_048,
};

/**
 * Tells one consumer what is on the bus (design 6): a durable a partition. At most `maxUnsettled` deliveries wait
 * for their acknowledgement; beyond that the broker holds back, which delays nothing: events come from the log.
 */
export class JetStreamFeed implements BusFeed {
  readonly #limits: FeedLimits;
  readonly #pulls = new Map<number, DurablePull>();
  readonly #ending = new Set<Promise<void>>();
  #knownLogId: string | null = null;

  constructor(
    private readonly ports: FeedPorts,
    limits: Partial<FeedLimits> = {},
  ) {
    this.#limits = { ...FEED_LIMITS, ...limits };
  }

  subscribe(partition: number, onDelivery: (delivery: BusDelivery) => void): () => void {
    let ended = false;
    const acks = new NewestAck();
    const pull = new DurablePull(
      {
        bus: this.ports.bus,
        stream: eventStreamSettings(this.ports.topology),
        durable: (manager) => this.#durable(manager, partition),
        onMessage: async (message) => {
          const delivery = await this.#read(message, partition, acks);
          if (delivery !== null && !ended) onDelivery(delivery);
        },
        onTrouble: (trouble) => this.ports.onTrouble?.(partition, trouble),
      },
      this.#limits,
    );
    this.#pulls.set(partition, pull);
    return () => {
      ended = true;
      if (this.#pulls.get(partition) === pull) this.#pulls.delete(partition);
      const ending = pull.stop().finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
    };
  }

  /** True while the partition's durable is being read from; readiness is judged by lag, not by this. */
  consuming(partition: number): boolean {
    return this.#pulls.get(partition)?.consuming ?? false;
  }

  /** Ends all subscriptions and waits for what was begun. */
  async close(): Promise<void> {
    await Promise.all([...[...this.#pulls.values()].map((pull) => pull.stop()), ...this.#ending]);
    this.#pulls.clear();
  }

  async #durable(manager: JetStreamManager, partition: number): Promise<DurableSettings> {
    const { topology, consumer, checkpoint } = this.ports;
    const first = await readFirst(manager, topology.eventStream);
    const start = first.kind === 'at' ? sequenceAtOrBefore(first, (await checkpoint(partition)) + 1) : null;
    return eventDurable(topology, consumer, partition, start, this.#limits);
  }

  async #read(message: JsMsg, partition: number, acks: NewestAck): Promise<BusDelivery | null> {
    const logId = await this.#logId();
    // Without the log nothing can be told from foreign: unsettled, it comes again.
    if (logId === null) return null;

    const read = readEventMessage(this.ports.topology, logId, partition, message.headers, message.data);
    switch (read.kind) {
      case 'event':
        return { event: read.event, previousPos: read.previousPos, ack: () => acks.add(message) };
      case 'passed':
        acks.add(message);
        return null;
      case 'foreign':
        settle(() => message.term());
        this.ports.onForeign?.({
          reason: read.reason,
          partition,
          sequence: message.seq,
          bodyBytes: message.data.byteLength,
          bodyDigest: createHash('sha256').update(message.data).digest('hex'),
        });
        return null;
    }
  }

  async #logId(): Promise<string | null> {
    this.#knownLogId ??= await this.ports.log.logId().catch(() => null);
    return this.#knownLogId;
  }
}

/**
 * The newest message that is settled in one turn of the event loop stands for all before it. Whatever else it
 * acknowledges, a consumer takes no event from the bus: none is lost by it.
 */
class NewestAck {
  #newest: JsMsg | null = null;

  add(message: JsMsg): void {
    if (this.#newest === null) setImmediate(() => this.#send());
    if (message.seq > (this.#newest?.seq ?? 0)) this.#newest = message;
  }

  #send(): void {
    const newest = this.#newest;
    this.#newest = null;
    if (newest !== null) settle(() => newest.ack());
  }
}

/** A connection that closes meanwhile refuses the publish; the message then comes again. */
function settle(send: () => void): void {
  try {
    send();
  } catch {
    // Comes again after ack_wait, as a repeat.
  }
}
