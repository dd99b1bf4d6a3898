import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** The same trouble again is logged at most this often: a bus that is down says so with every try. */
const SAME_TROUBLE_EVERY_MS = 60_000;

export interface BusReports {
  readonly onState: (connected: boolean) => void;
  /** `name` is an error class or a member of a closed union, never a text. */
  readonly onTrouble: (name: string) => void;
}

/** Makes the bus visible: without it everything goes on from the log, so nobody would notice by the answers. */
export function busReports(logger: Logger, metrics: Metrics, clock: Clock): BusReports {
  const connected = metrics.gauge('spillway_bus_connected', '1 while there is a connection to NATS.', {});
  const troubles = metrics.counter('spillway_bus_troubles_total', 'What went wrong with the bus.', {});
  const loggedMs = new Map<string, number>();
  connected.set({}, 0);
  return {
    onState: (up) => {
      connected.set({}, up ? 1 : 0);
      if (up) logger.info('bus_connected');
      else logger.warn('bus_lost');
    },
    onTrouble: (name) => {
      troubles.add({});
      const nowMs = clock.monotonicMs();
      const lastMs = loggedMs.get(name) ?? Number.NEGATIVE_INFINITY;
      if (nowMs - lastMs < SAME_TROUBLE_EVERY_MS) return;
      loggedMs.set(name, nowMs);
      logger.warn('bus_trouble', { errorName: name });
    },
  };
}
