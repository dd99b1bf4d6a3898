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
import type { Answers, CallScript, CreateScript } from './answers.ts';
import { isFailure, laneFailure, refusedCreate, scriptedFailure } from './lane-failure.ts';
import type { Ledger } from './ledger.ts';
import { unusedId } from './pod-cloud.ts';

/** How a primary or batch lane behaves from now on. */
export interface PrimaryScript {
  create: Answers<CreateScript>;
  /** `now_running`: the queued instance turns out to run already. */
  cancel: Answers<CallScript | 'now_running' | 'requested'>;
  list: Answers<CallScript>;
  /** A created machine appears in the list only after so long. */
  listLagMs: number;
  /** And so long it is not found by its id either. */
  readLagMs: number;
  get: Answers<CallScript>;
}

interface Machine {
  readonly id: string;
  /** Null for one that came from outside of Spillway's own walk. */
  readonly mark: IntentMark | null;
  readonly pool: string | null;
  state: InstanceState;
  readonly createdMs: number;
  readonly keep: boolean;
  /** Under the name of its intent, or any other one. */
  readonly name: string;
  readonly isForeign: boolean;
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
      case 'refused':
        return refusedCreate(lane, answer);
    }
  }

  async list(): Promise<Read<readonly LaneInstance[]>> {
    const { script, lane } = this.#options;
    const answer = script.list();
    if (answer !== 'ok') return scriptedFailure(lane, 'list', answer);
    const listed = [...this.#machines.values()].filter((one) => this.#isOlder(one, script.listLagMs));
    return { kind: 'ok', value: listed.map(shown) };
  }

  async get(id: string): Promise<Read<InstanceReading>> {
    const { lane, script } = this.#options;
    const answer = script.get();
    if (answer !== 'ok') return scriptedFailure(lane, 'get', answer);
    const machine = this.#found(id);
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
    const machine = this.#found(id);
    ledger.write(lane, 'terminate_called', id);
    const answer = script.cancel();
    if (isFailure(answer)) return scriptedFailure(lane, 'terminate', answer);
    if (machine === undefined)
      return this.#gone.has(id) ? { kind: 'gone' } : { kind: 'gone', onlyNotFound: true };
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
    this.#usedIds.add(id);
    this.#machines.set(id, this.#machine(id, null, pool));
  }

  /** Somebody else's machine. */
  add(id: string, mark: IntentMark | null, name: string, keep: boolean): void {
    this.#usedIds.add(id);
    this.#machines.set(id, {
      ...this.#machine(id, mark, null),
      name,
      keep,
      isForeign: true,
      state: 'running',
    });
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
    const { ledger, lane } = this.#options;
    const id = unusedId(wanted, this.#usedIds);
    this.#usedIds.add(id);
    const machine = this.#machine(id, mark, pool);
    this.#machines.set(id, machine);
    ledger.write(lane, 'created', id, mark.intent);
    return machine;
  }

  #machine(id: string, mark: IntentMark | null, pool: string | null): Machine {
    const { now, queueingPools } = this.#options;
    const queues = pool !== null && queueingPools.includes(pool);
    return {
      id,
      mark,
      pool,
      state: queues ? 'queued' : 'running',
      createdMs: now(),
      keep: false,
      name: mark?.name ?? id.toLowerCase(),
      isForeign: mark === null,
      isEnding: false,
      seenMs: Number.NEGATIVE_INFINITY,
    };
  }

  /** What did not come from a create of ours is seen at once. */
  #isOlder({ isForeign, createdMs }: Machine, lagMs: number): boolean {
    return isForeign || this.#options.now() - createdMs >= lagMs;
  }

  #found(id: string): Machine | undefined {
    const machine = this.#machines.get(id);
    return machine !== undefined && this.#isOlder(machine, this.#options.script.readLagMs)
      ? machine
      : undefined;
  }

  #remove(machine: Machine): void {
    this.#machines.delete(machine.id);
    this.#gone.set(machine.id, machine);
  }
}

function shown({ id, mark, name, keep, state, pool, createdMs }: Machine): LaneInstance {
  return {
    id,
    name,
    marker: {
      deployment: mark?.deployment ?? null,
      allocation: mark?.allocation ?? null,
      intent: mark?.intent ?? null,
    },
    keep,
    state,
    pool,
    zone: null,
    createdAt: new Date(createdMs).toISOString(),
    costPerHourUsd: null,
  };
}
