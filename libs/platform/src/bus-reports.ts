import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { RepeatedLines } from './repeated-lines.ts';

/** The same trouble again is logged at most this often: a bus that is down says so with every try. */
const SAME_TROUBLE_EVERY_MS = 60_000;

export interface BusReports {
  readonly onState: (connected: boolean) => void;
  /** `name` is an error class or a member of a closed union, never a text. */
  readonly onTrouble: (name: string) => void;
  /** A message on our subjects that is none of ours: each is counted, and few are lines, since anybody may send many. */
  readonly onForeign: (message: { readonly partition: number; readonly bodyBytes: number }) => void;
}

/** Makes the bus visible: without it everything goes on from the log, so nobody would notice by the answers. */
export function busReports(logger: Logger, metrics: Metrics, clock: Clock): BusReports {
  const connected = metrics.gauge('spillway_bus_connected', '1 while there is a connection to NATS.', {});
  const troubles = metrics.counter('spillway_bus_troubles_total', 'What went wrong with the bus.', {});
  const foreign = metrics.counter(
    'spillway_bus_foreign_total',
    'Messages on our subjects that are none of ours.',
    {},
  );
  const lines = new RepeatedLines(() => clock.monotonicMs());
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
    onForeign: ({ partition, bodyBytes }) => {
      foreign.add({});
      const repeats = lines.leftOutBefore(`foreign ${partition}`);
      if (repeats !== null) logger.warn('foreign_bus_message', { partition, bytes: bodyBytes, repeats });
    },
  };
}
