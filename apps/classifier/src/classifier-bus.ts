import type { Log } from '#domain/log-tables';
import { JetStreamFeed } from '#messaging/bus-feed';
import type { Bus } from '#messaging/connect-bus';
import type { LogTail } from '#messaging/log-tail';
import { type BusPlace, openBus } from '#messaging/open-bus';
import { RelaySide } from '#messaging/relay-side';
import type { BusReports } from '#platform/bus-reports';
import { randomId } from '#platform/ids';
import type { Logger } from '#platform/logger';
import { relayReports } from '#platform/relay-reports';

export interface ClassifierBusOptions extends BusPlace {
  readonly log: Log;
  readonly tail: LogTail;
  readonly logger: Logger;
  readonly reports: BusReports;
}

const CONSUMER = 'classifier';

/** What `classifier` does on the bus: its feed of events, and relaying the log (design 3, 6). */
export class ClassifierBus {
  readonly feed: JetStreamFeed;
  readonly #bus: Bus;
  readonly #relaySide: RelaySide;

  constructor(options: ClassifierBusOptions) {
    const { log, tail, logger, reports } = options;
    const { bus, topology } = openBus(options, 'spillway-classifier', reports);
    this.#bus = bus;
    this.#relaySide = new RelaySide({
      bus,
      topology,
      log,
      tail,
      holder: randomId(),
      onStatus: relayReports(logger),
    });
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
    await this.#relaySide.stop();
    await this.#bus.close();
  }
}
