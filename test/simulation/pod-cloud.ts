import type {
  BootstrapAnswer,
  CreateAnswer,
  CreateRequest,
  DispatchAnswer,
  InstanceReading,
  IntentMark,
  Lane,
  LaneFacts,
  LaneInstance,
  Marker,
  OperationsReading,
  ProbeReading,
  Read,
  TerminateAnswer,
  Workload,
} from '#domain/provision/lane';
import type { Answers, CallScript, CreateScript } from './answers.ts';
import { isFailure, laneFailure, refusedCreate, scriptedFailure } from './lane-failure.ts';
import type { Ledger } from './ledger.ts';

/** How the terminal lane behaves from now on. */
export interface PodScript {
  create: Answers<CreateScript>;
  bootstrap: Answers<'ok' | 'fails' | 'pending'>;
  dispatch: Answers<'ok' | 'fails' | 'no_ack_started' | 'no_ack_not_started'>;
  list: Answers<CallScript>;
  /** A created pod appears in the list only after so long. */
  listLagMs: number;
  /** And so long it is not found by its id either. */
  readLagMs: number;
  get: Answers<CallScript>;
  terminate: Answers<CallScript | 'gone' | 'requested'>;
  probe: Answers<'ok' | 'fails'>;
}

/** Whose mark a given pod carries. The newest intent is looked up when the pod is first seen (FORMAT.md). */
export type PodMark =
  | { readonly kind: 'fixed'; readonly name: string; readonly marker: Marker }
  | { readonly kind: 'newest_intent'; readonly name: string | null };

export interface GivenPod {
  readonly id: string;
  readonly mark: PodMark;
  readonly state: PodState;
  readonly workload: PodWorkload;
  readonly createdMs: number;
  readonly keep: boolean;
}

export type PodState = 'RUNNING' | 'STOPPED' | 'EXITED' | 'ERROR';
export type PodWorkload = 'none' | 'running' | 'unknown' | 'done' | 'failed';

interface Pod {
  readonly id: string;
  mark: PodMark;
  state: PodState;
  workload: PodWorkload;
  bootstrap: ProbeReading['bootstrap'];
  readonly createdMs: number;
  keep: boolean;
  /** Since when; a listing from before cannot tell. */
  keptSinceMs: number;
  /** Made by a create of ours, or given with our mark. */
  readonly isOurs: boolean;
  readonly isGiven: boolean;
  /** Given pods: a call that changes something was sent to it. Created pods: it was ended. */
  isTouched: boolean;
  /** A terminate was taken, and the pod is still seen for a while. */
  isEnding: boolean;
  startedFor: string | null;
}

export interface PodCloudOptions {
  readonly lane: string;
  readonly now: () => number;
  readonly ledger: Ledger;
  readonly script: PodScript;
  /** What the newest intent of the allocation sends with its creates; null before the first. */
  readonly newestIntent: () => Promise<IntentMark | null>;
  /** How late the effect of a create can be, on the provider's side. */
  readonly createDeadlineMs?: number;
}

const LIST_GRACE_MS = 30_000;
const COST_PER_HOUR_USD = 2.5;
const NO_MARKER: Marker = { deployment: null, allocation: null, intent: null };

/** The simulated terminal lane: persistent machines, a start of its own, and no idempotency key. */
export class PodCloud implements Lane {
  readonly #options: PodCloudOptions;
  #pods = new Map<string, Pod>();
  readonly #usedIds = new Set<string>();

  constructor(options: PodCloudOptions) {
    this.#options = options;
  }

  /** The lag can change with the world, so the declared grace does too. */
  get facts(): LaneFacts {
    const { lane, script, createDeadlineMs = 0 } = this.#options;
    return {
      lane,
      provider: lane,
      kind: 'terminal',
      queueingPools: [],
      listingGraceMs: Math.max(LIST_GRACE_MS, script.listLagMs),
      createDeadlineMs,
      idempotentCreate: false,
      startsWorkload: 'by_dispatch',
    };
  }

  async probeLane(_request: CreateRequest): Promise<Read<'open'>> {
    return { kind: 'ok', value: 'open' };
  }

  async create(mark: IntentMark, _request: CreateRequest): Promise<CreateAnswer> {
    const { ledger, lane, script } = this.#options;
    ledger.write(lane, 'create_called', null, mark.intent);
    const answer = script.create();
    switch (answer.kind) {
      case 'ok':
        return { kind: 'created', instance: this.#shown(this.#made(answer.id, mark)) };
      case 'lost': {
        if (answer.id !== null) this.#made(answer.id, mark);
        const { status, text } = answer;
        return laneFailure(lane, 'create', 'outcome_unknown', { status, text });
      }
      case 'refused':
        return refusedCreate(lane, answer);
      case 'workload_error':
      case 'probe_error':
        throw new Error(`the terminal lane never answers ${answer.kind} to a create`);
    }
  }

  async list(): Promise<Read<readonly LaneInstance[]>> {
    const { script, lane } = this.#options;
    const answer = script.list();
    if (answer !== 'ok') return scriptedFailure(lane, 'list', answer);
    await this.#resolveMarks();
    const listed = [...this.#pods.values()].filter((pod) => this.#isOlder(pod, script.listLagMs));
    return { kind: 'ok', value: listed.map((pod) => this.#shown(pod)) };
  }

  async get(id: string): Promise<Read<InstanceReading>> {
    const { lane, script } = this.#options;
    const answer = script.get();
    if (answer !== 'ok') return scriptedFailure(lane, 'get', answer);
    await this.#resolveMarks();
    const pod = this.#found(id);
    if (pod === undefined) return laneFailure(lane, 'get', 'not_found', { status: 404 });
    const reading = { guest: null, alarm: 'none', logAgeS: null, port: pod.state === 'RUNNING' } as const;
    return { kind: 'ok', value: { instance: this.#shown(pod), ...reading } };
  }

  async operations(_id: string): Promise<Read<OperationsReading>> {
    return { kind: 'ok', value: { create: 'done', createError: null, delete: 'unknown' } };
  }

  async terminate(id: string): Promise<TerminateAnswer> {
    const { script, ledger, lane } = this.#options;
    const pod = this.#found(id);
    ledger.write(lane, 'terminate_called', id);
    const answer = script.terminate();
    const failed = isFailure(answer);
    // An end of our own pod that failed left it as it was; one sent to somebody else's is never all right.
    if (pod !== undefined && !(pod.isOurs && failed)) pod.isTouched ||= pod.isGiven;
    if (failed) return scriptedFailure(lane, 'terminate', answer);
    if (pod === undefined) return { kind: 'gone', onlyNotFound: true };
    if (answer === 'requested' && !pod.isEnding) {
      pod.isEnding = true;
      return { kind: 'requested' };
    }
    this.#pods.delete(id);
    ledger.write(lane, 'terminated', id);
    return { kind: 'gone' };
  }

  async probe(id: string): Promise<Read<ProbeReading>> {
    const { script, lane } = this.#options;
    const pod = this.#found(id);
    if (script.probe() === 'fails') return laneFailure(lane, 'probe', 'unavailable');
    if (pod === undefined) return laneFailure(lane, 'probe', 'not_found', { status: 404 });
    return { kind: 'ok', value: readingOf(pod) };
  }

  async bootstrap(id: string): Promise<BootstrapAnswer> {
    const { script, ledger, lane } = this.#options;
    ledger.write(lane, 'bootstrap_called', id);
    const pod = this.#found(id);
    if (pod === undefined) return laneFailure(lane, 'bootstrap', 'not_found', { status: 404 });
    if (pod.state !== 'RUNNING') return laneFailure(lane, 'bootstrap', 'rejected', { status: 409 });
    if (pod.bootstrap === 'complete') return { kind: 'complete' };
    pod.isTouched ||= pod.isGiven;
    pod.bootstrap = 'begun';
    switch (script.bootstrap()) {
      case 'ok':
        pod.bootstrap = 'complete';
        return { kind: 'complete' };
      case 'fails':
        return laneFailure(lane, 'bootstrap', 'rejected', { status: 500 });
      case 'pending':
        return { kind: 'pending' };
    }
  }

  async dispatch(id: string, intent: string, _workload: Workload): Promise<DispatchAnswer> {
    const { script, ledger, lane } = this.#options;
    const pod = this.#found(id);
    const lost = laneFailure(lane, 'dispatch', 'outcome_unknown').failure;
    if (pod === undefined || pod.state !== 'RUNNING') return { kind: 'unknown', failure: lost };
    pod.isTouched ||= pod.isGiven;
    if (pod.workload !== 'none') {
      // The start is guarded on the machine: it runs, or ran, already.
      ledger.write(lane, 'start_repeated', id, intent);
      return { kind: 'started' };
    }
    const answer = script.dispatch();
    if (answer === 'fails') {
      return { kind: 'refused', failure: laneFailure(lane, 'dispatch', 'rejected', { status: 422 }).failure };
    }
    if (answer === 'no_ack_not_started') return { kind: 'unknown', failure: lost };
    pod.workload = 'running';
    pod.startedFor = intent;
    ledger.write(lane, 'started', id, intent);
    return answer === 'ok' ? { kind: 'started' } : { kind: 'unknown', failure: lost };
  }

  /** The pods that exist now, ours included. */
  replace(pods: readonly GivenPod[]): void {
    this.#pods = new Map();
    for (const pod of pods) this.add(pod);
  }

  /** A pod that somebody else shows us: fully prepared and listed at once. */
  add({ id, mark, state, workload, createdMs, keep }: GivenPod): void {
    this.#usedIds.add(id);
    this.#pods.set(id, {
      id,
      mark,
      state,
      workload,
      bootstrap: 'complete',
      createdMs,
      keep,
      keptSinceMs: createdMs,
      isOurs: mark.kind === 'newest_intent' && mark.name === null,
      isGiven: true,
      isTouched: false,
      isEnding: false,
      startedFor: null,
    });
  }

  /** It is gone without anybody's doing. */
  vanish(id: string): void {
    if (this.#pods.delete(id)) this.#options.ledger.write(this.#options.lane, 'vanished', id);
  }

  /** What becomes of a pod by itself or by a person's hand. */
  change(id: string, change: Partial<Pick<Pod, 'state' | 'workload' | 'keep'>>): void {
    const pod = this.#pods.get(id);
    if (pod === undefined) return;
    if (change.keep === true && !pod.keep) pod.keptSinceMs = this.#options.now();
    Object.assign(pod, change);
  }

  /** The preparation of a pod began, and whoever began it is gone. */
  beginBootstrap(id: string): void {
    const pod = this.#pods.get(id);
    if (pod?.bootstrap === 'not_begun') pod.bootstrap = 'begun';
  }

  /** Pods made by us that still bill. */
  get liveOwn(): readonly string[] {
    return [...this.#pods.values()].flatMap((pod) => (pod.isOurs && pod.state === 'RUNNING' ? [pod.id] : []));
  }

  /** Whether it exists exactly as it was. */
  isUntouched(id: string): boolean {
    const pod = this.#pods.get(id);
    return pod !== undefined && !pod.isTouched;
  }

  /** For the trace and the invariants: what stands here, without any lag. */
  get standing(): readonly {
    readonly id: string;
    readonly isOurs: boolean;
    readonly isGiven: boolean;
    readonly isTouched: boolean;
    readonly keep: boolean;
    readonly keptSinceMs: number;
    readonly state: PodState;
    readonly workload: PodWorkload;
    readonly intent: string | null;
  }[] {
    return [...this.#pods.values()].map((pod) => {
      const { id, isOurs, isGiven, isTouched, keep, keptSinceMs, state, workload } = pod;
      const { intent } = this.#shown(pod).marker;
      return { id, isOurs, isGiven, isTouched, keep, keptSinceMs, state, workload, intent };
    });
  }

  /** Before a listing or a read shows a given pod, it is settled which intent it carries. */
  async #resolveMarks(): Promise<void> {
    const open = [...this.#pods.values()].filter((pod) => pod.mark.kind === 'newest_intent');
    if (open.length === 0) return;
    const newest = await this.#options.newestIntent();
    if (newest === null) return;
    const { name, ...marker } = newest;
    for (const pod of open) {
      const given = pod.mark.kind === 'newest_intent' ? pod.mark.name : null;
      pod.mark = { kind: 'fixed', name: given ?? name, marker };
    }
  }

  /** A provider gives no id twice: one that was used already counts on. */
  #made(wanted: string, { name, deployment, allocation, intent }: IntentMark): Pod {
    const { ledger, lane, now } = this.#options;
    const id = unusedId(wanted, this.#usedIds);
    this.#usedIds.add(id);
    const pod: Pod = {
      id,
      mark: { kind: 'fixed', name, marker: { deployment, allocation, intent } },
      state: 'RUNNING',
      workload: 'none',
      bootstrap: 'not_begun',
      createdMs: now(),
      keep: false,
      keptSinceMs: 0,
      isOurs: true,
      isGiven: false,
      isTouched: false,
      isEnding: false,
      startedFor: null,
    };
    this.#pods.set(id, pod);
    ledger.write(lane, 'created', id, intent);
    return pod;
  }

  /** What somebody else shows us is seen at once. */
  #isOlder({ isGiven, createdMs }: Pod, lagMs: number): boolean {
    return isGiven || this.#options.now() - createdMs >= lagMs;
  }

  #found(id: string): Pod | undefined {
    const pod = this.#pods.get(id);
    return pod !== undefined && this.#isOlder(pod, this.#options.script.readLagMs) ? pod : undefined;
  }

  #shown(pod: Pod): LaneInstance {
    const unresolved = { name: pod.mark.name ?? pod.id, marker: NO_MARKER };
    const { name, marker } = pod.mark.kind === 'fixed' ? pod.mark : unresolved;
    return {
      id: pod.id,
      name,
      marker,
      keep: pod.keep,
      state: pod.state === 'RUNNING' ? 'running' : 'terminated',
      pool: 'on-demand',
      zone: null,
      createdAt: new Date(pod.createdMs).toISOString(),
      costPerHourUsd: COST_PER_HOUR_USD,
    };
  }
}

/** What a probe finds. Of a pod that does not run only a result that can be read is known. */
function readingOf({ state, workload, bootstrap }: Pod): ProbeReading {
  switch (workload) {
    case 'done':
    case 'failed':
      return { bootstrap, workload: 'finished', result: workload };
    case 'none':
    case 'running':
    case 'unknown':
      if (state !== 'RUNNING') return { bootstrap: 'unknown', workload: 'unknown', result: null };
      return { bootstrap, workload, result: null };
  }
}

/** `P1`, or the next number that was never used. */
export function unusedId(wanted: string, used: ReadonlySet<string>): string {
  if (!used.has(wanted)) return wanted;
  const [letter = 'N'] = wanted;
  let number = Number(wanted.slice(1)) + 1;
  while (used.has(`${letter}${number}`)) number += 1;
  return `${letter}${number}`;
}
