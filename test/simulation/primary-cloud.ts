import type {
  BootstrapAnswer,
  CreateAnswer,
  CreateRequest,
  DispatchAnswer,
  InstanceReading,
  InstanceState,
  IntentMark,
  Lane,
  LaneFacts,
  LaneInstance,
  OperationsReading,
  ProbeReading,
  Read,
  TerminateAnswer,
} from '#domain/provision/lane';
import type { Answers, CreateScript } from './answers.ts';
import { laneFailure } from './lane-failure.ts';
import type { Ledger } from './ledger.ts';
import { unusedId } from './pod-cloud.ts';

/** How a primary or batch lane behaves from now on. */
export interface PrimaryScript {
  create: Answers<CreateScript>;
  /** `now_running`: the queued instance turns out to run already. */
  cancel: Answers<'ok' | 'fails' | 'now_running' | 'requested'>;
  list: Answers<'ok' | 'fails'>;
  listLagMs: number;
}

interface Machine {
  readonly id: string;
  /** Null for one that came from outside of Spillway's own walk. */
  readonly mark: IntentMark | null;
  readonly pool: string | null;
  state: InstanceState;
  readonly createdMs: number;
  readonly listedFromMs: number;
  isEnding: boolean;
  /** Observations older than this one say nothing of how it is now. */
  seenMs: number;
}

export interface PrimaryCloudOptions {
  readonly lane: string;
  readonly kind: 'primary' | 'batch';
  readonly queueingPools: readonly string[];
  readonly now: () => number;
  readonly ledger: Ledger;
  readonly script: PrimaryScript;
  readonly listingGraceMs: number;
  readonly createDeadlineMs?: number;
}

/** A simulated lane whose create starts the workload. A repeated create of one intent makes no second machine. */
export class PrimaryCloud implements Lane {
  readonly #options: PrimaryCloudOptions;
  readonly #machines = new Map<string, Machine>();
  /** What is gone, and may turn up again: a lane can be wrong about an instance. */
  readonly #gone = new Map<string, Machine>();
  readonly #usedIds = new Set<string>();
  /** The answer that a probe of the lane has looked at already. */
  #upcoming: CreateScript | null = null;

  constructor(options: PrimaryCloudOptions) {
    this.#options = options;
  }

  get facts(): LaneFacts {
    const { lane, kind, queueingPools, listingGraceMs, createDeadlineMs = 0 } = this.#options;
    return {
      lane,
      provider: lane,
      kind,
      queueingPools,
      listingGraceMs,
      createDeadlineMs,
      idempotentCreate: true,
      startsWorkload: 'by_create',
    };
  }

  async probeLane(_request: CreateRequest): Promise<Read<'open'>> {
    this.#upcoming ??= this.#options.script.create();
    if (this.#upcoming.kind !== 'probe_error') return { kind: 'ok', value: 'open' };
    this.#upcoming = null;
    return laneFailure(this.#options.lane, 'probe_lane', 'unavailable', { sent: false });
  }

  async create(mark: IntentMark, request: CreateRequest): Promise<CreateAnswer> {
    const { ledger, lane, script } = this.#options;
    ledger.write(lane, 'create_called', null, mark.intent);
    const known = [...this.#machines.values()].find((machine) => machine.mark?.intent === mark.intent);
    if (known !== undefined) return { kind: 'created', instance: shown(known) };
    const answer = this.#upcoming ?? script.create();
    this.#upcoming = null;
    switch (answer.kind) {
      case 'ok':
        return { kind: 'created', instance: shown(this.#made(answer.id, mark, request.pool)) };
      case 'lost': {
        if (answer.id !== null) this.#made(answer.id, mark, request.pool);
        const { status, text } = answer;
        return laneFailure(lane, 'create', 'outcome_unknown', { status, text });
      }
      case 'workload_error':
        return { ...laneFailure(lane, 'create', 'rejected', { status: 400 }), kind: 'workload_error' };
      case 'probe_error':
        return laneFailure(lane, 'create', 'unavailable', { sent: false });
      case 'refused': {
        const { failure, status } = answer;
        return laneFailure(lane, 'create', failure, { status, sent: failure !== 'unavailable' });
      }
    }
  }

  async list(): Promise<Read<readonly LaneInstance[]>> {
    const { script, lane, now } = this.#options;
    if (script.list() === 'fails') return laneFailure(lane, 'list', 'unavailable', { status: 503 });
    const listed = [...this.#machines.values()].filter(({ listedFromMs }) => listedFromMs <= now());
    return { kind: 'ok', value: listed.map(shown) };
  }

  async get(id: string): Promise<Read<InstanceReading>> {
    const { lane, script } = this.#options;
    const machine = this.#machines.get(id);
    if (machine === undefined) return laneFailure(lane, 'get', 'not_found', { status: 404 });
    // The read before a cancel is where a started instance shows.
    if (machine.state === 'queued' && script.cancel() === 'now_running') machine.state = 'running';
    const reading = { guest: null, alarm: 'none', logAgeS: null, port: null } as const;
    return { kind: 'ok', value: { instance: shown(machine), ...reading } };
  }

  async operations(_id: string): Promise<Read<OperationsReading>> {
    return { kind: 'ok', value: { create: 'done', createError: null, delete: 'none' } };
  }

  async terminate(id: string): Promise<TerminateAnswer> {
    const { script, ledger, lane } = this.#options;
    const machine = this.#machines.get(id);
    ledger.write(lane, 'terminate_called', id);
    const answer = script.cancel();
    if (answer === 'fails') return laneFailure(lane, 'terminate', 'unavailable', { status: 503 });
    if (machine === undefined) return { kind: 'gone' };
    if (answer === 'requested' && !machine.isEnding) {
      machine.isEnding = true;
      return { kind: 'requested' };
    }
    this.#remove(machine);
    ledger.write(lane, 'terminated', id);
    return { kind: 'gone' };
  }

  async probe(_id: string): Promise<Read<ProbeReading>> {
    return { kind: 'ok', value: { bootstrap: 'unknown', workload: 'unknown', result: null } };
  }

  async bootstrap(_id: string): Promise<BootstrapAnswer> {
    return laneFailure(this.#options.lane, 'bootstrap', 'rejected', { sent: false });
  }

  async dispatch(_id: string, _intent: string, _workload: unknown): Promise<DispatchAnswer> {
    const { failure } = laneFailure(this.#options.lane, 'dispatch', 'rejected', { sent: false });
    return { kind: 'refused', failure };
  }

  /** An instance that a launch got, by the shortcut of a scenario. */
  place(id: string, pool: string): void {
    const { now } = this.#options;
    this.#usedIds.add(id);
    this.#machines.set(id, this.#machine(id, null, pool, now()));
  }

  /** What a poll says of an instance is how it is: the world of a scenario is told by its observations. */
  observed(id: string, provider: InstanceState | 'not_found', seenMs: number): void {
    const machine = this.#machines.get(id) ?? this.#gone.get(id);
    if (machine === undefined || seenMs < machine.seenMs) return;
    machine.seenMs = seenMs;
    if (provider === 'not_found') {
      if (this.#machines.has(id)) this.#options.ledger.write(this.#options.lane, 'vanished', id);
      this.#remove(machine);
      return;
    }
    machine.state = provider;
    this.#gone.delete(id);
    this.#machines.set(id, machine);
  }

  /** For the trace and the invariants: what stands here, without any lag. */
  get standing(): readonly {
    readonly id: string;
    readonly state: InstanceState;
    readonly intent: string | null;
  }[] {
    return [...this.#machines.values()].map(({ id, state, mark }) => ({
      id,
      state,
      intent: mark?.intent ?? null,
    }));
  }

  #made(wanted: string, mark: IntentMark, pool: string | null): Machine {
    const { ledger, lane, now, script } = this.#options;
    const id = unusedId(wanted, this.#usedIds);
    this.#usedIds.add(id);
    const machine = this.#machine(id, mark, pool, now() + script.listLagMs);
    this.#machines.set(id, machine);
    ledger.write(lane, 'created', id, mark.intent);
    return machine;
  }

  #machine(id: string, mark: IntentMark | null, pool: string | null, listedFromMs: number): Machine {
    const { now, queueingPools } = this.#options;
    const queues = pool !== null && queueingPools.includes(pool);
    return {
      id,
      mark,
      pool,
      state: queues ? 'queued' : 'running',
      createdMs: now(),
      listedFromMs,
      isEnding: false,
      seenMs: Number.NEGATIVE_INFINITY,
    };
  }

  #remove(machine: Machine): void {
    this.#machines.delete(machine.id);
    this.#gone.set(machine.id, machine);
  }
}

function shown({ id, mark, state, pool, createdMs }: Machine): LaneInstance {
  return {
    id,
    name: mark?.name ?? id.toLowerCase(),
    marker: {
      deployment: mark?.deployment ?? null,
      allocation: mark?.allocation ?? null,
      intent: mark?.intent ?? null,
    },
    keep: false,
    state,
    pool,
    zone: null,
    createdAt: new Date(createdMs).toISOString(),
    costPerHourUsd: null,
  };
}
