import { type Observed, observedAt, outcomeFor, unmet } from './expectations.ts';
import { SeededNumbers } from './ids.ts';
import type { Inner, Scenario, Step } from './scenario.ts';
import { interruptedAfter, oneAfterTheOther, type Waiting } from './scheduler.ts';
import { Simulation } from './simulation.ts';
import type { StreamState } from './stream-state.ts';
import { defaultScripts } from './world.ts';

/** How the steps of one moment are interleaved. */
export interface Order {
  readonly name: string;
  readonly choose: (ready: readonly Waiting[]) => number;
  /** How many of the choices were left to it when the run was over; null = it has no such number. */
  readonly used?: () => number;
}

type OneRun = Omit<ScenarioResult, 'runs'>;

export interface ScenarioResult {
  readonly id: string;
  readonly isAmbiguous: boolean;
  /** Sentences of what was not as expected, each for the first order of steps that showed it. */
  readonly faults: readonly string[];
  readonly observed: Observed | null;
  readonly outcome: string | null;
  /** Of the run that showed the first fault. */
  readonly trace: readonly string[];
  readonly runs: number;
}

const START = '2026-01-05T00:00:00Z';
/** More interruptions than any step makes calls. */
const INTERRUPTIONS_MAX = 400;
const RANDOM_ORDERS = 30;

/** Runs one scenario; one in which steps happen together, in many orders: each outcome must hold for every one. */
export async function runScenario(scenario: Scenario): Promise<ScenarioResult> {
  let last: ScenarioResult | null = null;
  let runs = 0;
  for await (const result of runsOf(scenario)) {
    runs += 1;
    last = { ...result, runs };
    if (result.faults.length > 0) break;
  }
  if (last === null) throw new Error('a scenario was run in no order');
  return last;
}

async function* runsOf(scenario: Scenario): AsyncGenerator<OneRun> {
  if (!scenario.steps.some(({ together }) => together !== undefined)) {
    yield await runOnce(scenario, inOrder([0, 1]));
    return;
  }
  for (const slots of [
    [0, 1],
    [1, 0],
  ])
    yield await runOnce(scenario, inOrder(slots));
  for (const slot of [0, 1]) {
    for (let calls = 1; calls < INTERRUPTIONS_MAX; calls += 1) {
      const order = interrupted(slot, calls);
      yield await runOnce(scenario, order);
      if ((order.used?.() ?? 0) < calls) break;
    }
  }
  for (let seed = 1; seed <= RANDOM_ORDERS; seed += 1) yield await runOnce(scenario, random(seed));
}

const inOrder = (slots: readonly number[]): Order => ({
  name: slots[0] === 0 ? 'in order' : 'the second first',
  choose: oneAfterTheOther(slots),
});

function interrupted(slot: number, calls: number): Order {
  const { choose, made } = interruptedAfter(slot, calls);
  return { name: `number ${slot + 1} interrupted after ${calls} calls`, choose, used: made };
}

function random(seed: number): Order {
  const numbers = new SeededNumbers(seed);
  return { name: `random order ${seed}`, choose: (ready) => numbers.below(ready.length) };
}

async function runOnce(scenario: Scenario, order: Order): Promise<OneRun> {
  const { t0 = START, plan = {}, world, steps, expect, id, ambiguous } = scenario;
  const simulation = new Simulation({
    start: t0,
    plan,
    scripts: defaultScripts(),
    seed: id,
    choose: order.choose,
  });
  if (world !== undefined) simulation.world.change(world);
  const isTogether = steps.some(({ together }) => together !== undefined);
  const under = isTogether ? ` (${order.name})` : '';
  const result = { id, isAmbiguous: ambiguous ?? false };
  try {
    const before = await allSteps(simulation, steps);
    const { events, placement } = await simulation.state();
    const observed = observedAt({
      events,
      placement,
      before: before.placement,
      world: simulation.world,
      now: simulation.clock.now(),
    });
    const faults = unmet(expect, observed).map((fault) => `${fault}${under}`);
    const outcome = outcomeFor(expect.outcome, observed);
    return { ...result, faults, observed, outcome, trace: simulation.trace.lines };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const faults = [`${error.message}${under}`];
    return { ...result, faults, observed: null, outcome: null, trace: simulation.trace.lines };
  }
}

/** Runs every step until nothing more can happen at its time. Answers the state before the last one. */
async function allSteps(simulation: Simulation, steps: readonly Step[]): Promise<StreamState> {
  let before = await simulation.state();
  for (const step of steps) {
    before = await simulation.state();
    await oneStep(simulation, step);
    const [failure] = simulation.failedSteps;
    if (failure !== undefined) throw failure;
  }
  return before;
}

async function oneStep(simulation: Simulation, { at, together, ...verb }: Step): Promise<void> {
  const { scheduler, clock, trace } = simulation;
  clock.moveTo(clock.atSeconds(at));
  const inner: readonly Inner[] = together ?? [verb];
  trace.add(() => `STEP ${JSON.stringify(inner)}`);
  // On two workers: what one of them is to do twice, it does one after the other.
  for (const slot of [0, 1]) {
    const mine = inner.filter((_, index) => index % 2 === slot);
    scheduler.spawn(async () => {
      for (const one of mine) await simulation.act(one, at, slot, together !== undefined);
    });
  }
  await scheduler.run();
}
