import type { RecordedEvent } from '#events/envelope';

/** A log row that the bus delivered before (or after) the log was read. The bus is not trusted. */
export interface BusDelivery {
  readonly event: RecordedEvent;
  /** Position of the event before this one in the same partition; 0 for the first. */
  readonly previousPos: number;
  /** Tells the broker that the consumer's checkpoint has passed this event. Never throws. */
  ack(): void;
}

/** The fast path of one consumer: what it brings is also in the log, so losing all of it costs latency only. */
export interface BusFeed {
  /** Delivers a partition's events in bus order, with repeats and gaps. Returns the end of it. */
  subscribe(partition: number, onDelivery: (delivery: BusDelivery) => void): () => void;
}
