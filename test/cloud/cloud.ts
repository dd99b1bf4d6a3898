import type { Clock } from '#platform/clock';
import { randomId } from '#platform/ids';
import type { CloudInstance, CloudMark, CloudState } from './instance.ts';
import { Ledger } from './ledger.ts';
import type { LedgerDelete, LedgerReport } from './ledger-report.ts';
import { type CloudLane, Scripts } from './scripts.ts';

export interface NewInstance {
  readonly lane: CloudLane;
  readonly id?: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly mark: CloudMark;
  readonly request: Readonly<Record<string, unknown>>;
  readonly zone: string | null;
  readonly pool: string | null;
  /** Waits for capacity first. */
  readonly queues: boolean;
  /** The create itself starts the workload. */
  readonly startsWorkload: boolean;
}

/** How instances of a lane behave. All times in seconds of the cloud's clock. */
export interface Behaviour {
  /** An instance shows up in listings so long after its create. */
  listLagS: number;
  /** An instance can be read by its id so long after its create. */
  getLagS: number;
  /** How long one of a queueing pool waits; null = until it is told otherwise. */
  queueS: number | null;
  /** What a wait ends in: a start, or its end by the provider itself. */
  queueEndsIn: 'placed' | 'vanished';
  startS: number;
  /** What a start ends in. */
  startEndsIn: 'running' | 'error' | 'vanished';
  bootstrapS: number;
  bootstrapEndsIn: 'complete' | 'failed' | 'stuck';
  /** How long a workload runs; null = until it is told otherwise. */
  workloadS: number | null;
  workloadEndsIn: 'done' | 'failed' | 'wedged';
  /** How many instances a page of a listing holds. */
  pageSize: number;
  /** How long an operation stays unfinished. */
  operationS: number;
  /** How many GPUs the quota of a region allows, a machine counted as one; null = no such quota is told. */
  gpuLimit: number | null;
  /** What a machine is delivered as, whatever was asked for; null = as asked for. Only of `gcp`. */
  deliversAs: 'STANDARD' | 'SPOT' | 'FLEX_START' | null;
}

const COST_PER_HOUR_USD: Readonly<Record<CloudLane, number>> = { runpod: 2.5, gcp: 3.7, kubernetes: 1 };

export interface CloudOptions {
  readonly clock: Clock;
  /** How long starts and bootstraps take, in seconds. 0 = they are over at the next look. */
  readonly delayS: number;
}

/** All machines of the stand-in, on its clock. What is due happens at the next look. */
export class Cloud {
  readonly scripts = new Scripts();
  readonly ledger = new Ledger();
  readonly instances = new Map<string, CloudInstance>();
  readonly behaviour: Readonly<Record<CloudLane, Behaviour>>;
  readonly #clock: Clock;
  readonly #due: { readonly atMs: number; readonly act: (atMs: number) => void }[] = [];

  #onPersonDeletes: (instance: CloudInstance, atMs: number) => void = () => undefined;

  constructor(options: CloudOptions) {
    this.#clock = options.clock;
    this.behaviour = {
      runpod: behaviourWith(options.delayS),
      gcp: behaviourWith(options.delayS),
      kubernetes: behaviourWith(options.delayS),
    };
  }

  nowMs(): number {
    return Date.parse(this.#clock.now());
  }

  /** Lets everything happen whose time has come, in its order. */
  settle(): void {
    const nowMs = this.nowMs();
    for (;;) {
      const next = this.#due.findIndex(({ atMs }) => atMs <= nowMs);
      const [due] = next < 0 ? [] : this.#due.splice(next, 1);
      if (due === undefined) return;
      due.act(due.atMs);
    }
  }

  /** Does something `seconds` later. Nothing waits for it: it happens at the first look after that time. */
  after(seconds: number, act: (atMs: number) => void, fromMs = this.nowMs()): void {
    const atMs = fromMs + seconds * 1_000;
    const place = this.#due.findIndex((due) => due.atMs > atMs);
    this.#due.splice(place < 0 ? this.#due.length : place, 0, { atMs, act });
  }

  create(wanted: NewInstance, atMs = this.nowMs()): CloudInstance {
    const { id, queues, startsWorkload, ...rest } = wanted;
    const instance: CloudInstance = {
      ...rest,
      id: id ?? randomId().slice(0, 14),
      createdAtMs: atMs,
      costPerHourUsd: COST_PER_HOUR_USD[wanted.lane],
      state: queues ? 'queued' : 'provisioning',
      locked: false,
      guest: null,
      agent: { bootstrap: 'not_begun', workload: 'none', result: null, answers: true },
      logAgeS: null,
      port: false,
      message: null,
      goneAtMs: null,
      billingSinceMs: queues ? null : atMs,
      billedMs: 0,
    };
    this.instances.set(instance.id, instance);
    this.ledger.created(instance, atMs);
    const { queueS } = this.behaviour[wanted.lane];
    if (!queues) this.#start(instance, startsWorkload, atMs);
    else if (queueS !== null) this.after(queueS, (at) => this.#place(instance, startsWorkload, at), atMs);
    return instance;
  }

  /** What was made and has not ended. */
  existing(lane: CloudLane): readonly CloudInstance[] {
    return [...this.instances.values()].filter(
      (instance) => instance.lane === lane && instance.state !== 'gone',
    );
  }

  /** What a listing shows now: not yet what is too new for it. */
  listed(lane: CloudLane): readonly CloudInstance[] {
    return this.existing(lane).filter((instance) => this.#isOlder(instance, this.behaviour[lane].listLagS));
  }

  /** One instance as a read by id shows it. */
  readable(lane: CloudLane, id: string): CloudInstance | null {
    const found = this.existing(lane).find((instance) => instance.id === id);
    return found !== undefined && this.#isOlder(found, this.behaviour[lane].getLagS) ? found : null;
  }

  /** Told of each delete by a person, for what a provider keeps of it. */
  onPersonDeletes(told: (instance: CloudInstance, atMs: number) => void): void {
    this.#onPersonDeletes = told;
  }

  remove(instance: CloudInstance, by: LedgerDelete['by'], atMs = this.nowMs()): void {
    if (instance.state === 'gone') return;
    this.setState(instance, 'gone', atMs);
    instance.goneAtMs = atMs;
    this.ledger.deleted(instance, atMs, by);
    if (by === 'person') this.#onPersonDeletes(instance, atMs);
  }

  setState(instance: CloudInstance, state: CloudState, atMs = this.nowMs()): void {
    const bills = state === 'provisioning' || state === 'running';
    if (!bills && instance.billingSinceMs !== null) {
      instance.billedMs += Math.max(0, atMs - instance.billingSinceMs);
      instance.billingSinceMs = null;
    }
    if (bills && instance.billingSinceMs === null) instance.billingSinceMs = atMs;
    instance.state = state;
    if (state !== 'running') instance.port = false;
    if (state === 'running') instance.port = true;
  }

  /** Starts the workload, once per instance. False = it had been started before. */
  startWorkload(instance: CloudInstance, atMs = this.nowMs()): boolean {
    if (instance.agent.workload !== 'none') return false;
    instance.agent.workload = 'running';
    instance.guest = { phase: 'workload', workloadStarted: true };
    this.ledger.started(instance, atMs);
    const { workloadS, workloadEndsIn } = this.behaviour[instance.lane];
    if (workloadS !== null) {
      this.after(workloadS, (at) => this.endWorkload(instance, workloadEndsIn, at), atMs);
    }
    return true;
  }

  /** Ends a workload. A machine that was made for it ends as well; a pod stays. */
  endWorkload(instance: CloudInstance, ending: Behaviour['workloadEndsIn'], atMs = this.nowMs()): void {
    if (instance.state === 'gone' || instance.agent.workload !== 'running') return;
    instance.guest = { phase: ending, workloadStarted: true };
    if (ending !== 'wedged') {
      instance.agent.workload = 'finished';
      instance.agent.result = ending;
    }
    if (instance.lane !== 'runpod') this.setState(instance, 'stopped', atMs);
  }

  bootstrap(instance: CloudInstance): void {
    if (instance.agent.bootstrap !== 'not_begun') return;
    const { bootstrapS, bootstrapEndsIn } = this.behaviour[instance.lane];
    instance.agent.bootstrap = 'begun';
    if (bootstrapEndsIn === 'stuck') return;
    this.after(bootstrapS, () => {
      instance.agent.bootstrap = bootstrapEndsIn;
    });
  }

  report(): LedgerReport {
    this.settle();
    return this.ledger.report(this.instances.values(), this.nowMs());
  }

  #place(instance: CloudInstance, startsWorkload: boolean, atMs: number): void {
    if (instance.state !== 'queued') return;
    if (this.behaviour[instance.lane].queueEndsIn === 'vanished') {
      this.remove(instance, 'provider', atMs);
      return;
    }
    this.setState(instance, 'provisioning', atMs);
    this.#start(instance, startsWorkload, atMs);
  }

  #start(instance: CloudInstance, startsWorkload: boolean, atMs: number): void {
    const { startS, startEndsIn } = this.behaviour[instance.lane];
    this.after(
      startS,
      (at) => {
        if (instance.state !== 'provisioning') return;
        if (startEndsIn === 'error') return this.setState(instance, 'error', at);
        if (startEndsIn === 'vanished') return this.remove(instance, 'provider', at);
        this.setState(instance, 'running', at);
        if (startsWorkload) this.startWorkload(instance, at);
      },
      atMs,
    );
  }

  #isOlder(instance: CloudInstance, lagS: number): boolean {
    return this.nowMs() - instance.createdAtMs >= lagS * 1_000;
  }
}

function behaviourWith(delayS: number): Behaviour {
  return {
    listLagS: 0,
    getLagS: 0,
    queueS: null,
    queueEndsIn: 'placed',
    startS: delayS,
    startEndsIn: 'running',
    bootstrapS: delayS,
    bootstrapEndsIn: 'complete',
    workloadS: null,
    workloadEndsIn: 'done',
    pageSize: 100,
    operationS: 0,
    gpuLimit: null,
    deliversAs: null,
  };
}
