import type { Log } from '#domain/log-tables';
import type { Lane } from '#domain/provision/lane';
import type { Clock } from '#platform/clock';
import type { Point } from './scenario.ts';
import type { Actor } from './scheduler.ts';

/** What a worker does when it is woken: the part of the provisioner that the simulation drives. */
export interface Provisioning {
  /** Goes as far as it can now with one allocation. */
  carryOn(stream: string): Promise<void>;
  /** One pass over open intents, cancels that are owed, and lanes. */
  reconcile(): Promise<void>;
  /** One pass of the capacity-retry over blocked allocations. */
  retryPass(): Promise<void>;
}

/** Everything that a worker is given from outside: each call of it can be its last one. */
export interface WorkerPorts {
  readonly log: Log;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly clock: Clock;
  readonly holder: string;
  readonly intentId: () => string;
  readonly kill: (point: Point) => Promise<void>;
  readonly pause: (ms: number) => Promise<void>;
}

/** Somebody who records inputs, decides on them, and carries out what was decided. */
export interface Worker {
  readonly actor: Actor;
  readonly ports: WorkerPorts;
  readonly provisioning: Provisioning;
}
