import type { RecordedEvent } from '#events/envelope';

/** A log row as the bus brought it: news that is compared with the log, never what a handler is given. */
export interface BusDelivery {
  readonly event: RecordedEvent;
  /** Position that the message claims to stand before this one in its partition. Nobody goes by it. */
  readonly previousPos: number;
  /** Tells the broker that the consumer's checkpoint has passed this event, and so all before it. Never throws. */
  ack(): void;
}

/** What the bus tells one consumer: it wakes the consumer and is compared with the log. Losing it loses nothing. */
export interface BusFeed {
  /** Delivers a partition's events in bus order, with repeats and gaps. Returns the end of it. */
  subscribe(partition: number, onDelivery: (delivery: BusDelivery) => void): () => void;
}

/** How the copying of the log to the bus stands; the two refusals say what a person has to do. */
export type RelayStatus =
  | { readonly state: 'idle' | 'relaying' | 'full' }
  | { readonly state: 'down'; readonly reason: 'bus' | 'log' }
  | {
      readonly state: 'foreign_stream';
      readonly ourLogId: string;
      /** Id of the other log, or the name of the stream that has our subjects. */
      readonly theirLogId: string;
      readonly repair: string;
    }
  | { readonly state: 'bus_forked'; readonly pos: number; readonly repair: string };
