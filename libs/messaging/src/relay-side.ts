import type { RelayStatus } from '#domain/bus';
import type { Log } from '#domain/log-tables';
import type { Bus } from './connect-bus.ts';
import { HeldLease } from './held-lease.ts';
import type { LogTail } from './log-tail.ts';
import { RecentRows } from './recent-rows.ts';
import { Reconciler } from './reconcile.ts';
import { Relay } from './relay.ts';
import type { Topology } from './topology.ts';

const RELAY_LEASE_MS = 5_000;

/** The relay and the reconciler of one process, active in one process at a time for economy (design 3, 6). */
export class RelaySide {
  readonly relay: Relay;
  readonly #lease: HeldLease;
  readonly #recent: RecentRows;
  readonly #reconciler: Reconciler;
  readonly #endWatch: () => void;

  constructor(options: {
    readonly bus: Bus;
    readonly topology: Topology;
    readonly log: Log;
    readonly tail: LogTail;
    readonly holder: string;
    readonly onStatus: (status: RelayStatus) => void;
  }) {
    const { bus, topology, log, tail, holder, onStatus } = options;
    this.#lease = new HeldLease(log.leases, 'relay', holder, RELAY_LEASE_MS, () => bus.connected);
    const lowestCheckpoint = () => log.checkpoints.lowest();
    const recent = new RecentRows(tail, log);
    this.#recent = recent;
    this.relay = new Relay({
      bus,
      log: {
        logId: () => log.logId(),
        head: () => log.head(),
        at: (pos) => log.at(pos),
        readAfter: (pos, limit) => recent.readAfter(pos, limit),
      },
      follower: recent,
      topology,
      lowestCheckpoint,
      mayRun: () => this.#lease.held,
      onStatus: (status) => {
        if (status.state === 'full') this.#reconciler.now();
        onStatus(status);
      },
    });
    this.#reconciler = new Reconciler({
      bus,
      topology,
      log,
      lowestCheckpoint,
      isFull: () => this.relay.status.state === 'full',
    });
    this.#lease.start();
    this.#endWatch = bus.onState(() => this.#lease.now());
  }

  async stop(): Promise<void> {
    this.#endWatch();
    await this.#reconciler.stop();
    await this.relay.stop();
    this.#recent.stop();
    await this.#lease.stop();
  }
}
