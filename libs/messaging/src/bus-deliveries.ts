import type { BusDelivery } from '#domain/bus';
import type { RecordedEvent } from '#events/envelope';

/**
 * What the bus has brought of one partition and the checkpoint has not passed. A delivery is news, not proof: a
 * header can name any predecessor, and a genuine event sent again behind a false one would lead the checkpoint
 * over everything in between, whose hash covers the event but not what the partition holds before it. So the
 * log alone says what comes next, and each delivery is compared with it.
 */
export class BusDeliveries {
  #waiting: BusDelivery[] = [];

  constructor(
    private readonly max: number,
    private readonly onForeign: (pos: number) => void,
  ) {}

  /** Those beyond the bound are not compared: the broker sends them again, or they are acknowledged with later ones. */
  add(delivery: BusDelivery): void {
    if (this.#waiting.length < this.max) this.#waiting.push(delivery);
  }

  /** How many have come, for `beyond`. */
  get size(): number {
    return this.#waiting.length;
  }

  /** The log holds `events` of this partition, and no others between the last call and `pos`. */
  passed(pos: number, events: readonly RecordedEvent[]): void {
    if (this.#waiting.length === 0) return;
    const known = new Map(events.map((event) => [event.pos, event]));
    this.#settle(
      ({ event }) => event.pos <= pos,
      ({ event }) => isSame(event, known.get(event.pos)),
    );
  }

  /** The log ended at `head` when it was asked; the first `asked` of those that wait had come by then. */
  beyond(head: number, asked: number): void {
    this.#settle(
      ({ event }, index) => index < asked && event.pos > head,
      () => false,
    );
  }

  /** Dealt with by another worker: acknowledged, not compared. */
  passedElsewhere(pos: number): void {
    this.#settle(
      ({ event }) => event.pos <= pos,
      () => true,
    );
  }

  #settle(
    isDue: (delivery: BusDelivery, index: number) => boolean,
    isGenuine: (delivery: BusDelivery) => boolean,
  ): void {
    const all = this.#waiting;
    this.#waiting = all.filter((delivery, index) => !isDue(delivery, index));
    if (this.#waiting.length === all.length) return;
    for (const delivery of all.filter(isDue)) {
      if (!isGenuine(delivery)) this.onForeign(delivery.event.pos);
      delivery.ack();
    }
  }
}

function isSame(event: RecordedEvent, known: RecordedEvent | undefined): boolean {
  return (
    event.hash === known?.hash &&
    event.eventId === known.eventId &&
    event.stream === known.stream &&
    event.type === known.type &&
    event.body === known.body &&
    event.meta === known.meta
  );
}
