import type { RelayStatus } from '#domain/bus';
import type { LogFollower, LogReader } from '#domain/log';
import { BusDown, faultOf } from './bus-error.ts';
import { type BusTail, judgeTail, type RunStart, readTail, type TailVerdict } from './bus-tail.ts';
import type { Bus } from './connect-bus.ts';
import { ensureStream, TopologyRefused } from './ensure-topology.ts';
import { PreviousPositions } from './previous-positions.ts';
import type { WindowFailure } from './publish-window.ts';
import { LogFault, ofLog, type RunLimits, runRelay } from './relay-run.ts';
import { refusedBy, refusedStatus } from './relay-status.ts';
import { eventStreamSettings, type Topology } from './topology.ts';
import { BackOff, Wake } from './wake.ts';

export interface RelayPorts {
  readonly bus: Bus;
  readonly log: Pick<LogReader, 'logId' | 'head' | 'at' | 'readAfter'>;
  readonly follower: LogFollower;
  readonly topology: Topology;
  /** The lowest checkpoint of all consumers: where a new or emptied stream starts. Null while there is none. */
  readonly lowestCheckpoint: () => Promise<number | null>;
  /** Economy only: two relays at once leave the same stream as one. */
  readonly mayRun: () => boolean;
  readonly onStatus?: (status: RelayStatus) => void;
}

export interface RelayLimits extends RunLimits {
  /** A refused stream is looked at again this often: a person may have repaired it. */
  readonly refusedCheckMs: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

export interface RelayCounters {
  relayed: number;
  /** How often the stream's end was compared with the log. */
  tailChecks: number;
  /** How often an empty stream was found. */
  emptyStarts: number;
  /** Windows that ended by a failure, by its kind. */
  readonly failures: Map<WindowFailure, number>;
}

export const RELAY_LIMITS: RelayLimits = {
  maxInFlight: 256,
  readRows: 512,
  pollMs: 250,
  gapMs: 10,
  ackTimeoutMs: 5_000,
  tailCheckMs: 2_000,
  lookBackRows: 4_096,
  maxBodyBytes: 512 * 1024,
  refusedCheckMs: 5_000,
  retryMinMs: 10,
  retryMaxMs: 5_000,
};

/**
 * Copies the log to the bus, in order, once (design 6). Each message names the one before it, and the broker
 * stores it only behind that one, so the stream is a run of the log without gap, repeat or reorder, whatever
 * fails in between and however many relays run. Nothing is remembered between windows: a new one starts from
 * what the stream ends with.
 */
export class Relay {
  readonly counters: RelayCounters = { relayed: 0, tailChecks: 0, emptyStarts: 0, failures: new Map() };
  #status: RelayStatus = { state: 'down', reason: 'bus' };
  #lastRelayedPos = 0;
  #stopped = false;
  /** The start whose first message was refused although the stream ended with what it named. */
  #refusedStart: RunStart | null = null;
  readonly #limits: RelayLimits;
  readonly #wake = new Wake();
  readonly #stateWake = new Wake();
  readonly #backOff: BackOff;
  readonly #previous: PreviousPositions;
  readonly #ends: readonly (() => void)[];
  readonly #running: Promise<void>;

  constructor(
    private readonly ports: RelayPorts,
    limits: Partial<RelayLimits> = {},
  ) {
    this.#limits = { ...RELAY_LIMITS, ...limits };
    this.#backOff = new BackOff(this.#limits.retryMinMs, this.#limits.retryMaxMs);
    const { log, topology } = ports;
    this.#previous = new PreviousPositions(log, topology.partitions, this.#limits.lookBackRows);
    this.#ends = [
      ports.follower.follow(() => this.#wake.ring()),
      ports.bus.onState(() => {
        this.#wake.ring();
        this.#stateWake.ring();
      }),
    ];
    this.#running = this.#run();
  }

  get status(): RelayStatus {
    return this.#status;
  }

  /** Newest position that this relay knows to be on the bus; 0 before the first look. */
  get lastRelayedPos(): number {
    return this.#lastRelayedPos;
  }

  /** Ends after the run in progress; what is in flight is confirmed, or left for the next relay. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const end of this.#ends) end();
    this.#wake.ring();
    this.#stateWake.ring();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const pauseMs = await this.#round();
      // Standing still for a reason, a growing log is no reason to try sooner: only the bus's state is.
      if (!this.#stopped && pauseMs > 0) await this.#stateWake.wait(pauseMs);
    }
  }

  /** From a look at the stream to the first failure. Answers how long to wait before the next one, in ms. */
  async #round(): Promise<number> {
    const { bus, mayRun, topology } = this.ports;
    if (!mayRun()) return this.#at({ state: 'idle' }, this.#limits.pollMs);
    if (!bus.connected) return this.#at({ state: 'down', reason: 'bus' }, this.#limits.pollMs);

    try {
      const verdict = await this.#look();
      if (verdict.kind !== 'start') {
        return this.#at(refusedStatus(verdict, topology), this.#limits.refusedCheckMs);
      }
      const start = verdict.from;
      const run = await runRelay(this.#runPorts(), start, this.#expectedId(start));
      this.#refusedStart = run.failure === 'wrong_last' && run.stored === 0 ? start : null;
      return run.failure === null ? 0 : this.#afterFailure(run.failure);
    } catch (error) {
      return this.#afterError(error);
    }
  }

  async #look(): Promise<TailVerdict> {
    const { bus, topology, log, lowestCheckpoint } = this.ports;
    this.counters.tailChecks += 1;
    const tail = await readTail(bus.manager(), topology.eventStream);
    // Nothing of it can be read, so nothing is lost by making it anew: it is filled again from the log.
    if (tail.kind === 'damaged') await bus.manager().streams.delete(topology.eventStream);
    const gone = tail.kind === 'missing' || tail.kind === 'damaged';
    const found: BusTail = gone ? await this.#makeStream() : tail;
    if (found.kind === 'missing' || found.kind === 'damaged') {
      throw new BusDown('the stream went while it was looked at');
    }

    const verdict = await ofLog(judgeTail(found, log, lowestCheckpoint));
    if (verdict.kind === 'start') {
      this.#lastRelayedPos = verdict.from.pos;
      if (found.kind === 'empty') this.counters.emptyStarts += 1;
    }
    return verdict;
  }

  async #makeStream(): Promise<BusTail> {
    const { bus, topology } = this.ports;
    await ensureStream(bus.manager(), eventStreamSettings(topology));
    return readTail(bus.manager(), topology.eventStream);
  }

  #runPorts() {
    const { bus, log, topology, mayRun } = this.ports;
    return {
      bus,
      log,
      topology,
      limits: this.#limits,
      previous: this.#previous,
      wake: this.#wake,
      mayGoOn: () => !this.#stopped && mayRun(),
      // Full until something is stored again: the reconciler goes by it.
      onState: (state: 'idle' | 'relaying') => {
        if (this.#status.state !== 'full' || state === 'idle') this.#at({ state }, 0);
      },
      onStored: (pos: number) => {
        this.counters.relayed += 1;
        this.#lastRelayedPos = pos;
        this.#backOff.reset();
        this.#at({ state: 'relaying' }, 0);
      },
    };
  }

  /**
   * After a restart a broker may have forgotten the id of its last message and refuses whoever names it. If
   * the stream's end has not moved since such a refusal, its sequence alone has to do.
   */
  #expectedId(start: RunStart): string | null {
    const refused = this.#refusedStart;
    const isForgotten = refused?.lastSequence === start.lastSequence && refused.lastId === start.lastId;
    return isForgotten ? null : start.lastId;
  }

  #afterFailure(failure: WindowFailure): number {
    this.counters.failures.set(failure, (this.counters.failures.get(failure) ?? 0) + 1);
    const pauseMs = this.#backOff.nextMs();
    if (failure === 'full') return this.#at({ state: 'full' }, pauseMs);
    if (failure === 'timeout' || failure === 'unavailable') {
      return this.#at({ state: 'down', reason: 'bus' }, pauseMs);
    }
    // Another relay was faster, or the stream is gone: look again.
    return pauseMs;
  }

  async #afterError(error: unknown): Promise<number> {
    if (error instanceof TopologyRefused) {
      const logId = await this.ports.log.logId().catch(() => 'unknown');
      return this.#at(refusedBy(error, logId, this.ports.topology), this.#limits.refusedCheckMs);
    }
    const pauseMs = this.#backOff.nextMs();
    // The broker has no room to set aside for the stream.
    if (faultOf(error) === 'full') return this.#at({ state: 'full' }, pauseMs);

    return this.#at({ state: 'down', reason: error instanceof LogFault ? 'log' : 'bus' }, pauseMs);
  }

  #at(status: RelayStatus, pauseMs: number): number {
    const changed = status.state !== this.#status.state;
    this.#status = status;
    if (changed) this.ports.onStatus?.(status);
    return pauseMs;
  }
}
