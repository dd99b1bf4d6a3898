import type { SeededNumbers } from './ids.ts';
import type { ScenarioObservation } from './scenario.ts';
import type { World } from './world.ts';

type Stage =
  | 'queued'
  | 'provisioning'
  | 'boot'
  | 'setup'
  | 'workload'
  | 'finalizing'
  | 'setup_failed'
  | 'crashed'
  | 'wedged'
  | 'done'
  | 'preempted'
  | 'vanished'
  | 'deleted';

type Next = readonly (readonly [number, Stage])[];

/** What a machine of a primary or batch lane does next, by itself or by a person's hand. */
const LIFE: Readonly<Partial<Record<Stage, Next>>> = {
  queued: [
    [5, 'queued'],
    [2, 'provisioning'],
    [1, 'boot'],
    [4, 'vanished'],
  ],
  provisioning: [
    [3, 'provisioning'],
    [6, 'boot'],
    [1, 'vanished'],
  ],
  boot: [
    [2, 'boot'],
    [6, 'setup'],
    [2, 'preempted'],
    [1, 'deleted'],
  ],
  setup: [
    [2, 'setup'],
    [6, 'workload'],
    [2, 'setup_failed'],
  ],
  workload: [
    [8, 'workload'],
    [1, 'finalizing'],
    [4, 'crashed'],
    [3, 'wedged'],
    [1, 'preempted'],
    [1, 'deleted'],
  ],
  finalizing: [
    [1, 'finalizing'],
    [3, 'done'],
  ],
  wedged: [
    [5, 'wedged'],
    [1, 'workload'],
  ],
};

const GUESTS: Readonly<Partial<Record<Stage, NonNullable<ScenarioObservation['guest']>>>> = {
  boot: { phase: 'boot', workload_started: false },
  setup: { phase: 'setup', workload_started: false },
  setup_failed: { phase: 'failed', workload_started: false },
  workload: { phase: 'workload', workload_started: true },
  wedged: { phase: 'workload', workload_started: true },
  finalizing: { phase: 'finalizing', workload_started: true },
  crashed: { phase: 'failed', workload_started: true },
  preempted: { phase: 'workload', workload_started: true },
  done: { phase: 'done', workload_started: true },
};

const ENDED: readonly Stage[] = ['setup_failed', 'crashed', 'done', 'preempted'];
const GONE: readonly Stage[] = ['vanished', 'deleted'];

interface Life {
  readonly lane: 'gcp' | 'slurm';
  stage: Stage;
}

/** The machines of a random world as they live and die, and what a poll of one would say. */
export class Lives {
  readonly #world: World;
  readonly #numbers: SeededNumbers;
  readonly #lives = new Map<string, Life>();

  /** In a slow world a machine stays for long where it is: in the queue, or hung. */
  readonly #isSlow: boolean;

  constructor(world: World, numbers: SeededNumbers) {
    this.#world = world;
    this.#numbers = numbers;
    this.#isSlow = numbers.oneIn(3);
  }

  /** Every machine that was ever seen, and every pod. */
  get known(): readonly string[] {
    return [...this.#lives.keys(), ...this.#world.ledger.instances('runpod', 'created')];
  }

  /** A machine that is to come begins its life here. */
  fate(id: string, stage: 'queued' | 'workload'): void {
    this.#lives.set(id, { lane: 'gcp', stage });
  }

  /** Time passes at the lanes. */
  tick(atMs: number): void {
    for (const lane of ['gcp', 'slurm'] as const) {
      for (const { id, state } of this.#world[lane].standing) {
        const life = this.#lives.get(id) ?? { lane, stage: state === 'queued' ? 'queued' : 'boot' };
        this.#lives.set(id, life);
        const next = LIFE[life.stage];
        if (next === undefined || (this.#isSlow && !this.#numbers.oneIn(6))) continue;
        life.stage = this.#numbers.weighted(next);
        this.#world[lane].observed(id, stateOf(life.stage), atMs);
      }
    }
    this.#podsLive();
  }

  /** One poll of one instance, as true as a poll can be: some of it may not be readable. */
  poll(id: string): ScenarioObservation {
    const life = this.#lives.get(id);
    const poll = life === undefined ? this.#podPoll(id) : this.#machinePoll(id, life);
    if (this.#numbers.oneIn(12)) return { instance: id, lane: poll.lane ?? 'gcp', provider: 'probe_error' };
    return poll;
  }

  #machinePoll(id: string, { lane, stage }: Life): ScenarioObservation {
    const standing = this.#world[lane].standing.find((machine) => machine.id === id);
    const operations = {
      create_operation: this.#numbers.oneIn(8) ? 'unknown' : 'done',
      delete_operation: this.#numbers.oneIn(6) ? 'unknown' : stage === 'deleted' ? 'present' : 'none',
    } as const;
    if (standing === undefined) return { instance: id, lane, provider: 'not_found', ...operations };
    const guest = GUESTS[stage];
    const isReadable = guest !== undefined && !this.#numbers.oneIn(4);
    const alarm = stage === 'wedged' ? 'transport' : this.#numbers.oneIn(15) ? 'control_plane' : 'none';
    return {
      instance: id,
      lane,
      provider: standing.state,
      ...(isReadable ? { guest } : {}),
      alarm,
      log_age_s: stage === 'wedged' ? 4_000 : this.#numbers.oneIn(3) ? null : 10,
      ...operations,
    };
  }

  #podPoll(id: string): ScenarioObservation {
    const pod = this.#world.runpod.standing.find((one) => one.id === id);
    const lane = 'runpod';
    if (pod === undefined) return { instance: id, lane, provider: 'not_found', create_operation: 'done' };
    const provider = pod.state === 'RUNNING' ? 'running' : 'terminated';
    switch (pod.workload) {
      case 'running':
        return { instance: id, lane, provider, guest: { phase: 'workload', workload_started: true } };
      case 'done':
        return { instance: id, lane, provider, guest: { phase: 'done', workload_started: true } };
      case 'failed':
        return { instance: id, lane, provider, guest: { phase: 'failed', workload_started: true } };
      case 'none':
      case 'unknown':
        return { instance: id, lane, provider, port: !this.#numbers.oneIn(3) };
    }
  }

  #podsLive(): void {
    for (const { id, isOurs, workload } of this.#world.runpod.standing) {
      if (!isOurs) continue;
      if (workload === 'running' && this.#numbers.oneIn(8)) {
        this.#world.runpod.change(id, { workload: this.#numbers.oneIn(2) ? 'done' : 'failed' });
      }
      if (this.#numbers.oneIn(40)) this.#world.runpod.change(id, { state: 'EXITED' });
      if (this.#numbers.oneIn(40)) this.#world.runpod.vanish(id);
      if (this.#numbers.oneIn(60)) this.#world.runpod.change(id, { keep: true });
    }
  }
}

function stateOf(stage: Stage): 'queued' | 'provisioning' | 'running' | 'terminated' | 'not_found' {
  if (stage === 'queued' || stage === 'provisioning') return stage;
  if (GONE.includes(stage)) return 'not_found';
  return ENDED.includes(stage) ? 'terminated' : 'running';
}
