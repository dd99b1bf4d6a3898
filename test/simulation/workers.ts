import { createHash } from 'node:crypto';
import type { RingKey } from '#domain/key-ring';
import type { Command } from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { Lane, LaneFailure, Workload } from '#domain/provision/lane';
import type { Clock } from '#platform/clock';
import { StoreClock } from '#platform/store-clock';
import type { ProvisionerReport } from '../../apps/provisioner/src/parts.ts';
import { Provisioner } from '../../apps/provisioner/src/provisioner.ts';
import { type Breaker, type TerminalLimits, TerminalRoom } from '../../apps/provisioner/src/terminal-room.ts';
import { type InputPlace, questionParts } from './inputs.ts';
import { ALLOCATION } from './launch-input.ts';
import { type Ambush, killAt, laneOf, logOf, pauseOf } from './ports.ts';
import type { Point } from './scenario.ts';
import type { Actor, Scheduler } from './scheduler.ts';

/** The deployment of every simulation. */
export const DEPLOYMENT = 'sim';

const RUNS_AT_ONCE_MAX = 8;

/** What all workers of one simulation share. */
export interface Workplace {
  readonly stream: string;
  readonly key: RingKey;
  readonly log: Log;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly scheduler: Scheduler;
  readonly ambush: Ambush;
  readonly nextId: () => string;
  /** What the newest launch wants to run; null = nothing, or it was erased. */
  readonly workload: () => Workload | null;
  /** Whether the breaker lets a create through by chance, beside what its limits say. */
  readonly terminalRoom: () => boolean;
  /** Read anew at each count: a quiet end has none. */
  readonly terminalLimits: TerminalLimits;
  readonly onHalfBuilt: (instance: string) => void;
  readonly logFaults: () => 'before' | 'after' | null;
  readonly onAppended: (actor: Actor, commands: readonly Command[]) => void;
  /** Whether each lane is listed before its first create: a restored backup shows then (failover 10.3). */
  readonly looksFirst: boolean;
  readonly report: (worker: string, event: ProvisionerReport) => void;
}

/** One process: it records inputs, decides on them, and carries out what was decided, until it dies. */
export class Worker {
  readonly actor: Actor;
  readonly place: InputPlace;
  readonly provisioner: Provisioner;
  readonly #kill: (point: Point) => Promise<void>;

  constructor(name: string, slot: number, workplace: Workplace, clock: Clock) {
    const { stream, key, scheduler, ambush, nextId, onHalfBuilt, logFaults, onAppended } = workplace;
    this.actor = { name, slot, isDead: false };
    const ports = { actor: this.actor, scheduler, ambush, onHalfBuilt, logFaults, onAppended };
    const log = logOf(workplace.log, ports);
    this.#kill = (point) => killAt(this.actor, ambush, point);
    this.place = { log, stream, key, commandId: nextId, now: () => clock.now() };
    this.provisioner = new Provisioner({
      log,
      lanes: new Map([...workplace.lanes].map(([id, lane]) => [id, laneOf(lane, ports)])),
      clock: new StoreClock(log.leases, clock),
      ids: { intentId: nextId, commandId: nextId },
      holder: name,
      texts: {
        workload: async () => workplace.workload(),
        name: async () => ALLOCATION,
        sealFailure: async (_stream, failure) => ({ digest: failureDigest(failure), parts: {} }),
      },
      question: async () => questionParts({ key, stream }),
      kill: this.#kill,
      pause: pauseOf(ports),
      terminalRoom: breakerOf(workplace, log, clock),
      settings: {
        deployment: DEPLOYMENT,
        observeOnly: false,
        looksFirst: workplace.looksFirst,
        runsAtOnceMax: RUNS_AT_ONCE_MAX,
      },
      report: (event) => workplace.report(name, event),
    });
  }

  get isAlive(): boolean {
    return !this.actor.isDead;
  }

  /** The point that stands behind a recorded move, whoever decided it (failover 9.4). */
  decided(): Promise<void> {
    return this.#kill('decided');
  }
}

/** The real breaker over this worker's log; now and then it says no without a reason. */
function breakerOf({ terminalLimits, terminalRoom }: Workplace, log: Log, clock: Clock): Breaker {
  const room = new TerminalRoom({ limits: terminalLimits, log, monotonicMs: () => clock.monotonicMs() });
  return {
    hasRoom: async (asking) => terminalRoom() && (await room.hasRoom(asking)),
    record: (asking, add) => room.record(asking, add),
  };
}

function failureDigest({ kind, text }: LaneFailure): string {
  return createHash('sha256').update(`${kind}\n${text}`).digest('hex');
}
