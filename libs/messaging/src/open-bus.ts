import { type Bus, connectBus } from './connect-bus.ts';
import { type Topology, topologyOf } from './topology.ts';

/** Where an app finds the bus, and under which names; the same in all apps of a deployment. */
export interface BusPlace {
  readonly url: string;
  readonly prefix: string;
  readonly deployment: string;
  readonly partitions: number;
}

/** Who is told how the bus fares: classes of errors and states, never a text. */
export interface BusListener {
  readonly onState: (connected: boolean) => void;
  readonly onTrouble: (name: string) => void;
}

/** A connection to the bus and the names of everything on it. Returns at once, NATS up or not. */
export function openBus(
  place: BusPlace,
  clientName: string,
  reports: BusListener,
): { readonly bus: Bus; readonly topology: Topology } {
  const { url, prefix, deployment, partitions } = place;
  const bus = connectBus({ servers: [url], clientName, onTrouble: reports.onTrouble });
  bus.onState(reports.onState);
  return {
    bus,
    topology: topologyOf({ prefix, deployment, partitions }),
  };
}
