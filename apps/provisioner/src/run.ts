import type { Lane } from '#domain/provision/lane';
import { type Listing, NO_WORK, type Work } from '#domain/provision/step';
import type { ProvisionerParts } from './parts.ts';
import { Recorder, type RecordOptions, type RecordResult } from './recorder.ts';

/** The lease of an allocation whose plan says nothing else (failover 5). */
const LEASE_S = 60;

/** Whether the worker goes on with the next step. */
export type Progress = 'go_on' | 'stop';

export interface RunOptions {
  readonly pass: boolean;
  /** Listings that a pass made for all allocations at once. */
  readonly listings: Readonly<Record<string, Listing | 'failed'>>;
  /** Whether a lane has to be listed before a create (failover 10.3). */
  readonly mustLook: (lane: string) => boolean;
  /** A lane was listed in full. */
  readonly onListed: (lane: string) => void;
  /** The process is ending: no further step begins. */
  readonly signal: AbortSignal;
}

/** One worker's run on one allocation: the fold, what it has learnt, and the lease that it holds (failover 9). */
export class AllocationRun {
  readonly parts: ProvisionerParts;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  readonly mustLook: RunOptions['mustLook'];
  readonly onListed: RunOptions['onListed'];
  #work: Work;
  #name: Promise<string | null> | null = null;

  private constructor(parts: ProvisionerParts, recorder: Recorder, options: RunOptions) {
    this.parts = parts;
    this.recorder = recorder;
    this.signal = options.signal;
    this.mustLook = options.mustLook;
    this.onListed = options.onListed;
    this.#work = { ...NO_WORK, pass: options.pass, listings: options.listings };
  }

  static async open(parts: ProvisionerParts, stream: string, options: RunOptions): Promise<AllocationRun> {
    return new AllocationRun(parts, await Recorder.open(parts, stream), options);
  }

  get work(): Work {
    return this.#work;
  }

  get stream(): string {
    return this.recorder.stream;
  }

  get leaseMs(): number {
    // The store counts whole milliseconds, and an owner may have said a fraction of one.
    return Math.ceil((this.recorder.state.launch?.plan.limits.workerLeaseS ?? LEASE_S) * 1000);
  }

  /** The allocation's clear name, opened once in a run; null when it was erased. */
  name(): Promise<string | null> {
    this.#name ??= this.parts.texts.name(this.stream);
    return this.#name;
  }

  learn(change: Partial<Work>): void {
    this.#work = { ...this.#work, ...change };
  }

  /** This worker opened the intent, or made or looked at its machine: it need not look again. */
  knows(intent: string): void {
    this.learn({ knows: [...this.#work.knows.filter((known) => known !== intent), intent] });
  }

  /** What was listed or probed before an effect proves nothing after it. */
  forget(lane: string, instance: string | null): void {
    const { listings, probes } = this.#work;
    this.learn({
      listings: without(listings, lane),
      probes: instance === null ? probes : without(probes, instance),
    });
  }

  forgetProbe(instance: string): void {
    this.learn({ probes: without(this.#work.probes, instance) });
  }

  lane(id: string): Lane {
    const lane = this.parts.lanes.get(id);
    if (lane === undefined) throw new Error(`no driver is configured for lane ${id}`);
    return lane;
  }

  /** Records under the lease that this run holds, if it holds one. */
  add(facts: Parameters<Recorder['add']>[0], options: RecordOptions = {}): Promise<RecordResult> {
    return this.recorder.add(facts, { fence: this.#work.fence, ...options });
  }

  /** What a step does after its append: go on, or stop because another worker has taken over. */
  after(result: RecordResult): Progress {
    if (result.kind !== 'fenced') return 'go_on';
    this.parts.report({ kind: 'lease_lost', stream: this.stream });
    this.learn({ fence: null });
    return 'stop';
  }

  /** Keeps the lease for a call that may take long. False = it is another worker's: nothing may be sent. */
  async renewLease(): Promise<boolean> {
    const { fence } = this.#work;
    if (fence === null) return false;
    const kept = await this.parts.log.leases.renew(this.stream, fence, this.leaseMs);
    if (!kept) {
      this.parts.report({ kind: 'lease_lost', stream: this.stream });
      this.learn({ fence: null });
    }
    return kept;
  }

  /** A worker that ends its run alive gives its lease back (failover 9.1). */
  async giveLeaseBack(): Promise<void> {
    const { fence } = this.#work;
    if (fence !== null) await this.parts.log.leases.release(this.stream, fence);
  }
}

function without<Value>(rows: Readonly<Record<string, Value>>, key: string): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(rows).filter(([name]) => name !== key));
}
