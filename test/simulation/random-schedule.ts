import { LogUnavailable } from '#domain/log';
import type { TerminalLimits } from '../../apps/provisioner/src/terminal-room.ts';
import { SeededNumbers } from './ids.ts';
import { CREATE_DEADLINE_MS, Invariants } from './invariants.ts';
import type { GivenPod } from './pod-cloud.ts';
import { Lives } from './random-life.ts';
import { randomPlan } from './random-plan.ts';
import { calm, hostileScripts } from './random-scripts.ts';
import { POINTS, type ScenarioObservation, type ScenarioPlan } from './scenario.ts';
import type { Actor, Delays } from './scheduler.ts';
import { Simulation } from './simulation.ts';
import type { Trace } from './trace.ts';

export interface SeedResult {
  readonly seed: number;
  /** What was broken, in order; none = the schedule held. */
  readonly faults: readonly string[];
  readonly trace: Trace;
  readonly outcome: string | null;
}

/** What a schedule is to have more of than chance gives it. */
export interface Temper {
  /** One call in so many is held up. */
  readonly delayOneIn?: number;
  /** How long a worker's lease lasts without being renewed. */
  readonly leaseS?: number;
}

const START = '2026-01-05T20:00:00Z';
const ACTIONS_MAX = 60;
/** Long enough for every pause, grace and lease to end. */
const QUIET_PASSES = 14;
const QUIET_PASS_S = 1_000;
const CALL_DELAY_MAX_MS = 100_000;

/**
 * One random schedule: a plan, lanes that answer in every way, machines that live and die, polls that come late and
 * twice, workers that stall and die at any point, two at once; then everything is quiet. The same seed is the same
 * schedule.
 */
export async function runSeed(seed: number, temper: Temper = {}): Promise<SeedResult> {
  const schedule = new RandomSchedule(seed, temper);
  try {
    await schedule.play();
  } catch (error) {
    schedule.faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  const { faults, simulation, invariants } = schedule;
  const all = [...new Set([...invariants.broken, ...faults])];
  return { seed, faults: all, trace: simulation.trace, outcome: invariants.placement.outcome };
}

function withLease(plan: ScenarioPlan, leaseS: number | undefined): ScenarioPlan {
  return leaseS === undefined ? plan : { ...plan, limits: { ...plan.limits, worker_lease_s: leaseS } };
}

class RandomSchedule {
  readonly simulation: Simulation;
  readonly invariants: Invariants;
  readonly faults: string[] = [];
  readonly #numbers: SeededNumbers;
  readonly #scripts;
  readonly #lives: Lives;
  readonly #late: { readonly poll: ScenarioObservation; readonly observedS: number }[] = [];
  #isQuiet = false;
  #deathsLeft: number;
  readonly #deathOneIn: number;
  readonly #delayOneIn: number;
  readonly #faultOneIn: number;
  #strangers = 0;

  constructor(seed: number, temper: Temper = {}) {
    const numbers = new SeededNumbers(seed);
    this.#numbers = numbers;
    this.#scripts = hostileScripts(numbers);
    this.#deathsLeft = numbers.below(8);
    this.#deathOneIn = numbers.between(15, 150);
    const delayOneIn = numbers.pick([5, 10, 20, 40, 1_000_000]);
    this.#delayOneIn = temper.delayOneIn ?? delayOneIn;
    this.#faultOneIn = numbers.pick([15, 60, 1_000_000]);
    this.simulation = new Simulation({
      start: START,
      plan: withLease(randomPlan(numbers), temper.leaseS),
      scripts: this.#scripts,
      seed: String(seed),
      choose: (ready) => numbers.below(ready.length),
      delays: (actor, label) => this.#delays(actor, label),
      createDeadlineMs: CREATE_DEADLINE_MS,
      skewMs: () => this.#skewMs(),
      terminalRoom: () => this.#isQuiet || !numbers.oneIn(15),
      terminalLimits: this.#limits(),
      looksFirst: numbers.oneIn(2),
      logFaults: () => this.#logFault(),
      onCall: (actor) => this.#mayDie(actor),
    });
    this.invariants = new Invariants(this.simulation);
    this.#lives = new Lives(this.simulation.world, numbers);
  }

  async play(): Promise<void> {
    const { scheduler, clock } = this.simulation;
    await this.#begin();
    const actions = this.#numbers.between(5, ACTIONS_MAX);
    for (let action = 0; action < actions; action += 1) {
      await scheduler.run(clock.storeMs() + this.#gapMs());
      this.#lives.tick(clock.storeMs());
      this.#randomAction();
    }
    await this.#quiet();
    this.#checkReports();
    this.faults.push(...(await this.invariants.atTheEnd()));
  }

  /** A launch; or half of the time an instance that is about to fail, since most is to be seen behind that. */
  async #begin(): Promise<void> {
    const numbers = this.#numbers;
    const rungs = this.simulation.plan.rungs ?? [];
    const rung = numbers.pick(rungs);
    if (rung.lane !== 'gcp' || numbers.oneIn(2)) {
      this.#act(() => this.simulation.act({ launch: {} }, 0));
      return;
    }
    // The shortcut is no story of its own: nothing may go wrong in it.
    this.#isQuiet = true;
    this.#act(() => this.simulation.place({ rung: rung.id, instance: 'X0' }));
    await this.simulation.scheduler.run();
    this.#isQuiet = false;
    this.#lives.fate('X0', rung.pool === 'flex-start' ? 'queued' : 'workload');
  }

  #gapMs(): number {
    const numbers = this.#numbers;
    return numbers.weighted([
      [5, numbers.below(5_000)],
      [6, numbers.below(60_000)],
      [3, numbers.below(600_000)],
      [1, numbers.below(10_000_000)],
    ]);
  }

  #randomAction(): void {
    const numbers = this.#numbers;
    const { simulation } = this;
    const slot = numbers.below(2);
    const at = simulation.clock.monotonicMs() / 1000;
    const { outcome } = this.invariants.placement;
    const act = (step: Parameters<Simulation['act']>[0]) => () =>
      this.#act(() => simulation.act(step, at, slot));
    numbers.weighted<() => void>([
      [18, () => this.#poll(slot)],
      [3, () => this.#deliverLate(slot)],
      [outcome === 'blocked' ? 6 : 2, act({ launch: {} })],
      [outcome === 'awaiting_consent' ? 10 : 1, act({ consent: { accept: !numbers.oneIn(5) } })],
      [6, act({ reconcile: {} })],
      [outcome === 'blocked' ? 6 : 1, act({ retry_pass: {} })],
      [4, act({ restart: {} })],
      [4, () => this.#ambush()],
      [1, () => this.#stranger()],
    ])();
  }

  /** Most clocks are nearly right. Some are wrong by hours: another day to them. */
  #skewMs(): number {
    const numbers = this.#numbers;
    const mostMs = numbers.pick([0, 0, 20_000, 7_200_000]);
    return mostMs === 0 ? 0 : numbers.between(-mostMs, mostMs);
  }

  /** Seldom none; at the quiet end none, or what a full lane holds up would never be over. */
  #limits(): TerminalLimits {
    const numbers = this.#numbers;
    const createsPerHour = numbers.pick([null, 1, 1, 2, 3]);
    const billingMax = numbers.pick([null, 1, 1, 2]);
    const unlessQuiet = (limit: number | null) => (this.#isQuiet ? null : limit);
    return {
      get createsPerHour() {
        return unlessQuiet(createsPerHour);
      },
      get billingMax() {
        return unlessQuiet(billingMax);
      },
    };
  }

  /** A store that is away is no fault: the sender tries again later, or never. */
  #act(action: () => Promise<void>): void {
    this.simulation.scheduler.spawn(async () => {
      try {
        await action();
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
      }
    });
  }

  #poll(slot: number): void {
    const known = this.#lives.known;
    if (known.length === 0) return;
    const { current } = this.invariants.placement;
    const id = current !== null && !this.#numbers.oneIn(4) ? current : this.#numbers.pick(known);
    if (!known.includes(id)) return;
    const poll = this.#lives.poll(id);
    const observedS = this.simulation.clock.monotonicMs() / 1000;
    if (this.#numbers.oneIn(4)) this.#late.push({ poll, observedS });
    if (!this.#numbers.oneIn(6)) this.#report(poll, observedS, slot);
  }

  /** What was polled earlier comes now, for the first time or again. */
  #deliverLate(slot: number): void {
    if (this.#late.length === 0) return;
    const { poll, observedS } = this.#numbers.pick(this.#late);
    this.#report(poll, observedS, slot);
  }

  #report(poll: ScenarioObservation, observedS: number, slot: number): void {
    const { simulation } = this;
    simulation.trace.add(() => `POLL of ${observedS.toFixed(1)} s: ${JSON.stringify(poll)}`);
    this.#act(async () => {
      if (this.invariants.placement.launch === null) return;
      await simulation.decided(slot, await simulation.report(poll, observedS, slot), false);
    });
  }

  #ambush(): void {
    this.simulation.ambush.point = this.#numbers.pick(POINTS);
    this.simulation.trace.add(() => `AMBUSH at ${this.simulation.ambush.point ?? 'no point'}`);
  }

  /** A machine of somebody else appears beside ours. */
  #stranger(): void {
    const { world, clock } = this.simulation;
    this.#strangers += 1;
    const pod: GivenPod = world.givenPod({
      id: `F${this.#strangers}`,
      name: this.#numbers.pick(['train-7', 'train-71', 'somebody']),
      state: this.#numbers.pick(['RUNNING', 'STOPPED']),
      marker: this.#numbers.pick(['none', 'other_name', 'other_intent', 'other_deployment']),
      workload: this.#numbers.pick(['none', 'running', 'unknown']),
      created_at: clock.monotonicMs() / 1000,
      keep: this.#numbers.oneIn(3),
    });
    world.runpod.add(pod);
  }

  #delays(_actor: Actor, label: string): Delays {
    if (this.#isQuiet || !this.#numbers.oneIn(this.#delayOneIn)) return { beforeMs: 0, afterMs: 0 };
    // A provider carries out what it was sent within a bound; its answer can take longer.
    const beforeMax = /^(gcp|slurm|runpod)\./.test(label) ? CREATE_DEADLINE_MS : CALL_DELAY_MAX_MS;
    return { beforeMs: this.#numbers.below(beforeMax), afterMs: this.#numbers.below(CALL_DELAY_MAX_MS) };
  }

  #mayDie(actor: Actor): void {
    if (this.#isQuiet || this.#deathsLeft === 0 || !this.#numbers.oneIn(this.#deathOneIn)) return;
    this.#deathsLeft -= 1;
    actor.isDead = true;
    this.simulation.trace.add(() => `DEATH of ${actor.name}`);
  }

  #logFault(): 'before' | 'after' | null {
    if (this.#isQuiet || !this.#numbers.oneIn(this.#faultOneIn)) return null;
    return this.#numbers.oneIn(2) ? 'before' : 'after';
  }

  /** Everything answers, nobody dies, time passes, and the passes run until nothing is left to do. */
  async #quiet(): Promise<void> {
    const { simulation } = this;
    const { scheduler, clock } = simulation;
    await scheduler.run(clock.storeMs() + CALL_DELAY_MAX_MS);
    this.#isQuiet = true;
    simulation.ambush.point = null;
    calm(this.#scripts);
    simulation.trace.add(() => 'QUIET');
    await scheduler.run();
    for (let pass = 0; pass < QUIET_PASSES; pass += 1) {
      clock.moveTo(clock.storeMs() + QUIET_PASS_S * 1000);
      const slot = pass % 2;
      this.#act(() => (pass < 2 ? simulation.restart(slot) : simulation.act({ reconcile: {} }, 0, slot)));
      await scheduler.run();
    }
  }

  /** An error that a worker met is a bug, unless the store was away. */
  #checkReports(): void {
    for (const error of this.simulation.failedSteps) {
      if (error instanceof LogUnavailable) continue;
      this.faults.push(
        `a step failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    }
    if (this.simulation.reports.some(({ kind }) => kind === 'steps_exceeded')) {
      this.faults.push('a worker went round in a loop');
    }
  }
}
