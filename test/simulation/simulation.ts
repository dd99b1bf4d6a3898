import { createHash } from 'node:crypto';
import { digest } from '#domain/digest';
import type { Fact } from '#domain/fact';
import { keyRing } from '#domain/key-ring';
import type { Command } from '#domain/log';
import type { IntentMark, Workload } from '#domain/provision/lane';
import { markOf, shortRefOf } from '#domain/provision/marker';
import { InMemoryLog } from '#event-log/in-memory-log';
import { CATALOGUE } from '#events/catalogue';
import { allocationStream } from '#events/streams';
import type { ProvisionerReport } from '../../apps/provisioner/src/parts.ts';
import type { TerminalLimits } from '../../apps/provisioner/src/terminal-room.ts';
import { SeededIds } from './ids.ts';
import { answer, launch, observationOf, observe, placed } from './inputs.ts';
import { ALLOCATION, launchInput } from './launch-input.ts';
import type { Ambush } from './ports.ts';
import type { Inner, ScenarioObservation, ScenarioPlan } from './scenario.ts';
import { type Actor, type Delays, Scheduler, type Waiting } from './scheduler.ts';
import { readState, type StreamState } from './stream-state.ts';
import { Trace } from './trace.ts';
import { VirtualClock } from './virtual-clock.ts';
import { DEPLOYMENT, Worker, type Workplace } from './workers.ts';
import { World, type WorldOptions } from './world.ts';

export interface SimulationOptions {
  readonly start: string;
  readonly plan: ScenarioPlan;
  readonly scripts: WorldOptions['scripts'];
  /** Names the run: its ids derive from it. */
  readonly seed: string;
  readonly choose: (ready: readonly Waiting[]) => number;
  readonly delays?: (actor: Actor, label: string) => Delays;
  readonly createDeadlineMs?: number;
  /** How wrong each new worker's clock is, in milliseconds. */
  readonly skewMs?: () => number;
  readonly terminalRoom?: () => boolean;
  readonly terminalLimits?: TerminalLimits;
  readonly looksFirst?: boolean;
  /** Faults of the log, as an append meets them: before or after its effect. */
  readonly logFaults?: () => 'before' | 'after' | null;
  /** Told of each call as it takes effect. */
  readonly onCall?: (actor: Actor, label: string) => void;
}

const NO_LIMITS: TerminalLimits = { createsPerHour: null, billingMax: null };

/** A step that ended in an error instead of an outcome: a bug of whoever threw it. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

/** The real rules and the real provisioning steps in one process, on a virtual clock and simulated lanes. */
export class Simulation {
  readonly clock: VirtualClock;
  readonly trace: Trace;
  readonly world: World;
  readonly log: InMemoryLog;
  readonly scheduler: Scheduler;
  readonly ambush: Ambush = { point: null };
  readonly stream: string;
  readonly #options: SimulationOptions;
  readonly #key;
  readonly #ids: SeededIds;
  #workers: Worker[] = [];
  #hired = 0;
  #launches = 0;
  #workload: Workload | null = null;
  readonly #reports: ProvisionerReport[] = [];

  constructor(options: SimulationOptions) {
    const { start, plan, scripts, seed, choose, delays, createDeadlineMs } = options;
    this.#options = options;
    this.#ids = new SeededIds(seed);
    this.#key = keyRing([{ id: 'sim', bytes: createHash('sha256').update('simulation').digest() }]).newest;
    this.stream = allocationStream(digest(this.#key.refs, 'allocation-ref', ALLOCATION));
    this.clock = new VirtualClock(start);
    this.trace = new Trace(this.clock);
    this.log = new InMemoryLog({ logId: 'simulation', now: this.clock.storeMs });
    this.scheduler = new Scheduler({
      clock: this.clock,
      choose,
      ...(delays === undefined ? {} : { delays }),
      onCall: (actor, label) => {
        this.trace.call(() => `${actor.name}: ${label}`);
        options.onCall?.(actor, label);
      },
    });
    this.world = new World({
      clock: this.clock,
      deployment: DEPLOYMENT,
      allocation: shortRefOf(this.stream),
      newestIntent: () => this.#newestIntent(),
      scripts,
      ...(createDeadlineMs === undefined ? {} : { createDeadlineMs }),
    });
    this.plan = plan;
    this.hire();
  }

  /** Told of what each actor recorded. */
  onAppended: (actor: Actor, commands: readonly Command[]) => void = () => {};

  /** What the next launch asks for. */
  plan: ScenarioPlan;

  /** What the breaker counts against at this moment. */
  get terminalLimits(): TerminalLimits {
    return this.#options.terminalLimits ?? NO_LIMITS;
  }

  state(): Promise<StreamState> {
    return readState(this.log, this.stream);
  }

  /** Every error that a worker reported of a step. */
  get failedSteps(): readonly unknown[] {
    return this.#reports.flatMap((event) => (event.kind === 'step_failed' ? [event.error] : []));
  }

  get reports(): readonly ProvisionerReport[] {
    return this.#reports;
  }

  /** A fresh worker in this place: nothing but the log and the rows kept with it survives. */
  hire(slot = 0): Worker {
    this.#hired += 1;
    const clock = this.clock.skewed(this.#options.skewMs?.() ?? 0);
    const worker = new Worker(`worker ${this.#hired}`, slot, this.#workplace(), clock);
    this.#workers[slot] = worker;
    return worker;
  }

  /** The worker of this place, or another one that lives; null = all are dead. */
  worker(slot = 0): Worker | null {
    const own = this.#workers[slot] ?? (slot > 0 ? this.hire(slot) : undefined);
    return [own, ...this.#workers].find((worker) => worker?.isAlive === true) ?? null;
  }

  /** What one step makes one worker do; it ends when that worker can do nothing more now. */
  async act(step: Inner, atSeconds: number, slot = 0, wakesAnyway = false): Promise<void> {
    if (step.crash_next) this.ambush.point = step.crash_next.at;
    if (step.pods) this.world.replacePods(step.pods);
    if (step.world) this.world.change(step.world);
    if (step.restart) return this.restart(slot);
    if (step.reconcile) return this.worker(slot)?.provisioner.reconcile();
    if (step.retry_pass) return this.worker(slot)?.provisioner.retryPass();
    if (step.launch) return this.decided(slot, await this.launch(slot), wakesAnyway);
    if (step.placed) return this.place(step.placed, slot);
    if (step.observe) {
      const facts = await this.observe(step.observe, atSeconds, slot);
      return this.decided(slot, facts, wakesAnyway);
    }
    if (step.consent) {
      const facts = await answer(this.#clerk(slot).place, step.consent.accept);
      return this.decided(slot, facts, wakesAnyway);
    }
  }

  async restart(slot = 0): Promise<void> {
    const worker = this.hire(slot);
    await worker.provisioner.reconcile();
    await worker.provisioner.carryOn(this.stream);
  }

  async launch(slot = 0): Promise<readonly Fact[]> {
    const input = this.#nextLaunch();
    const facts = await launch(this.#clerk(slot).place, input);
    if (facts.length > 0) this.#workload = input.workload;
    return facts;
  }

  async place(at: { readonly rung: string; readonly instance: string }, slot = 0): Promise<void> {
    const input = this.#nextLaunch();
    const rung = input.requested.plan.rungs.find(({ id }) => id === at.rung);
    if (rung === undefined) throw new StepFailed(`the plan has no rung "${at.rung}"`);
    const lane = rung.lane === 'slurm' ? this.world.slurm : this.world.gcp;
    lane.place(at.instance, rung.pool);
    this.#workload = input.workload;
    await placed(this.#clerk(slot).place, input, at);
  }

  /** The world is as its observations say, and then somebody reports one. */
  observe(given: ScenarioObservation, atSeconds: number, slot = 0): Promise<readonly Fact[]> {
    const observedS = given.observed_at ?? atSeconds;
    const { lane = 'gcp', provider, instance } = given;
    const told = provider !== 'probe_error' && lane !== 'runpod';
    if (told) this.world[lane].observed(instance, provider, observedS);
    return this.report(given, observedS, slot);
  }

  /** Somebody reports a poll, be it true or not. */
  report(given: ScenarioObservation, observedS: number, slot = 0): Promise<readonly Fact[]> {
    return observe(this.#clerk(slot).place, observationOf(given, this.clock.instantAt(observedS)));
  }

  answer(accept: boolean, slot = 0): Promise<readonly Fact[]> {
    return answer(this.#clerk(slot).place, accept);
  }

  /** What follows from decisions that were just recorded: death behind them, or whoever reads them is woken. */
  async decided(slot: number, facts: readonly Fact[], wakesAnyway: boolean): Promise<void> {
    const worker = this.worker(slot);
    if (worker === null) return;
    if (facts.some(({ type }) => type === 'FailoverDecided' || type === 'FailoverPrompted')) {
      await worker.decided();
    }
    if (wakesAnyway || facts.some(wakesProvisioner)) await worker.provisioner.carryOn(this.stream);
  }

  /** Inputs are taken also while no worker lives. */
  #clerk(slot: number): Worker {
    return this.worker(slot) ?? new Worker('clerk', slot, this.#workplace(), this.clock);
  }

  #nextLaunch() {
    this.#launches += 1;
    return launchInput(this.plan, this.#launches, this.#key);
  }

  #workplace(): Workplace {
    return {
      stream: this.stream,
      key: this.#key,
      log: this.log,
      lanes: this.world.lanes,
      scheduler: this.scheduler,
      ambush: this.ambush,
      nextId: this.#ids.next,
      workload: () => this.#workload,
      terminalRoom: () => this.#options.terminalRoom?.() ?? true,
      terminalLimits: this.terminalLimits,
      onAppended: (actor, commands) => this.onAppended(actor, commands),
      looksFirst: this.#options.looksFirst ?? false,
      logFaults: () => this.#options.logFaults?.() ?? null,
      onHalfBuilt: (instance) => this.world.runpod.beginBootstrap(instance),
      report: (worker, event) => {
        this.#reports.push(event);
        this.trace.add(() => `${worker}: reports ${event.kind} ${errorOf(event)}`);
      },
    };
  }

  /** The newest intent of the terminal lane, whose mark a given pod can carry; else the newest of any lane. */
  async #newestIntent(): Promise<IntentMark | null> {
    const { intents } = (await this.state()).placement;
    const newest = intents.findLast(({ lane }) => lane === 'runpod') ?? intents.at(-1);
    return newest === undefined ? null : markOf(DEPLOYMENT, this.stream, newest.intent);
  }
}

function wakesProvisioner({ type }: Fact): boolean {
  return CATALOGUE[type].consumedBy.some((app) => app === 'provisioner');
}

function errorOf(event: ProvisionerReport): string {
  if (event.kind !== 'step_failed') return '';
  return event.error instanceof Error ? event.error.message : String(event.error);
}
