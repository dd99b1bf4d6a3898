import type { Log } from '#domain/log-tables';
import { JetStreamFeed } from '#messaging/bus-feed';
import type { Bus } from '#messaging/connect-bus';
import { type BusPlace, openBus } from '#messaging/open-bus';
import type { BusReports } from '#platform/bus-reports';

export interface ProvisionerBusOptions extends BusPlace {
  readonly log: Log;
  readonly reports: BusReports;
}

const CONSUMER = 'provisioner';

/** What `provisioner` does on the bus: it is woken by its feed of events (design 8). */
export class ProvisionerBus {
  readonly feed: JetStreamFeed;
  readonly #bus: Bus;

  constructor(options: ProvisionerBusOptions) {
    const { log, reports } = options;
    const { bus, topology } = openBus(options, 'spillway-provisioner', reports);
    this.#bus = bus;
    this.feed = new JetStreamFeed({
      bus,
      topology,
      consumer: CONSUMER,
      log,
      checkpoint: async (partition) => (await log.checkpoints.read(CONSUMER, partition))?.pos ?? 0,
      onTrouble: (_partition, trouble) => reports.onTrouble(trouble),
      onForeign: reports.onForeign,
    });
  }

  /** What waits for NATS then gets no answer any more. */
  endWithin(ms: number): void {
    this.#bus.endWithin(ms);
  }

  async stop(): Promise<void> {
    await this.feed.close();
    await this.#bus.close();
  }
}
