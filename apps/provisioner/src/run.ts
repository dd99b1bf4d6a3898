import { commandDigest } from '#domain/command-digest';
import { escalate } from '#domain/intent/escalate';
import type { LeaseStep } from '#domain/log';
import { openIntentOf, type Placement } from '#domain/placement';
import type { Lane } from '#domain/provision/lane';
import { markOf } from '#domain/provision/marker';
import { nextStep } from '#domain/provision/next-step';
import { reapsOf } from '#domain/provision/reap';
import { type Listing, NO_WORK, type Step, type Work } from '#domain/provision/step';
import { canonicalJson } from '#events/canonical-json';
import { eventIdOf } from '#events/envelope';
import type { Entry, Escalation } from '#events/intent.events';
import { listLane } from './listings.ts';
import type { ProvisionerParts } from './parts.ts';
import { Recorder, type RecordOptions, type RecordResult } from './recorder.ts';
import { cancelInstance } from './steps/cancel.ts';
import { createInstance } from './steps/create.ts';
import { bootstrapMachine, dispatchWorkload, probeMachine } from './steps/machine.ts';
import { reapMachine } from './steps/reap.ts';

/** More steps than any story needs: a loop that never ends would be one that spends. */
const STEPS_MAX = 500;
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

/** One worker's run on one allocation: as far as it can go now (failover 9). */
export class AllocationRun {
  readonly parts: ProvisionerParts;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  readonly #mustLook: RunOptions['mustLook'];
  readonly #onListed: RunOptions['onListed'];
  #work: Work;

  private constructor(parts: ProvisionerParts, recorder: Recorder, options: RunOptions) {
    this.parts = parts;
    this.recorder = recorder;
    this.signal = options.signal;
    this.#mustLook = options.mustLook;
    this.#onListed = options.onListed;
    this.#work = { ...NO_WORK, pass: options.pass, listings: options.listings };
  }

  /** Runs until nothing more can happen now. The lease goes back unless the worker dies or lost it. */
  static async of(parts: ProvisionerParts, stream: string, options: RunOptions): Promise<void> {
    const recorder = await Recorder.open(parts, stream);
    const run = new AllocationRun(parts, recorder, options);
    await run.#toTheEnd();
  }

  get work(): Work {
    return this.#work;
  }

  get stream(): string {
    return this.recorder.stream;
  }

  get leaseMs(): number {
    return (this.recorder.state.launch?.plan.limits.workerLeaseS ?? LEASE_S) * 1000;
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

  async #toTheEnd(): Promise<void> {
    for (let steps = 0; steps < STEPS_MAX; steps += 1) {
      const ended = this.signal.aborted || (await this.#do(await this.#choose())) === 'stop';
      if (ended) {
        await this.#giveLeaseBack();
        return;
      }
    }
    this.parts.report({ kind: 'steps_exceeded', stream: this.stream });
    await this.#giveLeaseBack();
  }

  async #choose(): Promise<Step> {
    const { log, clock, settings, texts, lanes, terminalRoom } = this.parts;
    const { state } = this.recorder;
    const now = clock.now();
    return nextStep(state, {
      stream: this.stream,
      name: Object.keys(this.#work.listings).length > 0 ? await texts.name(this.stream) : null,
      now,
      storeNow: openIntentOf(state) === null ? now : await log.leases.clock(),
      rules: { deployment: settings.deployment, observeOnly: settings.observeOnly },
      laneFacts: (lane) => lanes.get(lane)?.facts ?? null,
      mustLook: this.#mustLook,
      terminalRoom: needsRoom(state) ? await terminalRoom() : true,
      work: this.#work,
    });
  }

  async #do(step: Step): Promise<Progress> {
    switch (step.do) {
      case 'rest':
      case 'wait':
        return 'stop';
      case 'append':
        return this.#append(step.facts);
      case 'escalate':
        return this.#escalate(step.escalation);
      case 'count_rung':
        return this.#countRung(step);
      case 'take_lease':
        return this.#takeLease(step.intent);
      case 'open_intent':
        return this.#openIntent(step);
      case 'list': {
        const listing = await listLane(this.parts.log, this.lane(step.lane), this.parts.report);
        if (listing !== 'failed') this.#onListed(step.lane);
        this.learn({ listings: { ...this.#work.listings, [step.lane]: listing } });
        return 'go_on';
      }
      case 'probe':
        return probeMachine(this, step.lane, step.instance);
      case 'probe_lane': {
        const { rung } = step;
        const { pool, machine, gpu, maxRunS } = rung;
        const read = await this.lane(rung.lane).probeLane({
          pool,
          zone: rung.zones[0] ?? null,
          machine,
          gpu,
          maxRunS,
          workload: null,
        });
        const open = read.kind === 'ok' ? read.value : read.failure;
        this.learn({ laneProbes: { ...this.#work.laneProbes, [rung.id]: open } });
        return 'go_on';
      }
      case 'create':
        return createInstance(this, step.intent);
      case 'bootstrap':
        return bootstrapMachine(this, step.intent, step.instance);
      case 'dispatch':
        return dispatchWorkload(this, step.intent, step.instance, step.guard);
      case 'reap':
        return reapMachine(this, step.intent, step.instance);
      case 'cancel':
        return cancelInstance(this, step);
    }
  }

  async #append(facts: Parameters<Recorder['add']>[0]): Promise<Progress> {
    if (facts.some(({ type }) => type === 'FailoverCompleted'))
      await this.parts.kill('dispatched_unrecorded');
    return this.after(await this.add(facts));
  }

  /** The lease comes with the count: of two workers on one ladder one counts, and the other leaves it alone. */
  async #countRung({ rung, day, count }: Extract<Step, { do: 'count_rung' }>): Promise<Progress> {
    const { walk } = this.recorder.state;
    const lease = await this.#freeLease();
    if (lease === null || walk === null) return 'stop';
    const fence = lease.from + 1;
    const result = await this.recorder.add([{ type: 'RungCounted', data: { rung, day, count, fence } }], {
      lease,
    });
    if (result.kind === 'recorded') {
      this.learn({ fence, counted: [...this.#work.counted, `${walk.id} ${rung}`] });
    }
    return result.kind === 'fenced' ? 'stop' : 'go_on';
  }

  /** The step that takes the lease; null while another worker holds it. */
  async #freeLease(): Promise<LeaseStep | null> {
    const { log, holder } = this.parts;
    const row = await log.leases.read(this.stream);
    const others = row !== null && row.holder !== null && row.holder !== holder;
    if (others && row.until > (await log.leases.clock())) return null;
    return { lease: this.stream, holder, from: row?.fence ?? 0, forMs: this.leaseMs };
  }

  /** The consent table says whether the move is made, asked for, or blocked (failover 4.8). */
  async #escalate(escalation: Escalation): Promise<Progress> {
    const { state, record } = this.recorder;
    const commandId = this.recorder.newCommandId();
    const facts = escalate(state, record, escalation, {
      question: { ...(await this.parts.question(this.stream)), askedAt: this.parts.clock.now() },
      eventIdAt: (index) => eventIdOf(commandId, index),
    });
    if (facts.length === 0)
      throw new Error('an escalation that nothing follows from would be tried for ever');
    return this.after(await this.add(facts, { commandId }));
  }

  /** Taking the lease of an open intent is a fact that carries the fence (failover 11). */
  async #takeLease(intent: string): Promise<Progress> {
    const lease = await this.#freeLease();
    if (lease === null) return 'stop';
    const fence = lease.from + 1;
    const result = await this.recorder.add([{ type: 'LeaseTaken', data: { intent, fence } }], { lease });
    if (result.kind === 'recorded') this.learn({ fence });
    return result.kind === 'fenced' ? 'stop' : 'go_on';
  }

  /** Opens an intent and takes its lease in one append (failover 9.1, step 5). */
  async #openIntent(step: Extract<Step, { do: 'open_intent' }>): Promise<Progress> {
    const { ids, settings } = this.parts;
    const { state } = this.recorder;
    const lease = await this.#freeLease();
    if (lease === null) return 'stop';
    const fence = lease.from + 1;
    const intent = ids.intentId();
    const { name } = markOf(settings.deployment, this.stream, intent);
    const { entry, chain, replaces } = step;
    const result = await this.recorder.add(
      [
        ...(replaces === null
          ? []
          : [{ type: 'IntentClosed' as const, data: { intent: replaces, why: 'replaced' as const } }]),
        {
          type: 'IntentRecorded',
          data: {
            intent,
            name,
            lane: step.lane,
            entry,
            chain,
            requestDigest: requestDigest(entry, step.lane, state.launch?.workloadDigest ?? null),
            fence,
            reaps: reapsOf(state, chain),
            replaces,
          },
        },
      ],
      { lease },
    );
    if (result.kind === 'recorded') {
      this.learn({ fence });
      this.knows(intent);
    }
    return result.kind === 'fenced' ? 'stop' : 'go_on';
  }

  async #giveLeaseBack(): Promise<void> {
    const { fence } = this.#work;
    if (fence !== null) await this.parts.log.leases.release(this.stream, fence);
  }
}

function without<Value>(rows: Readonly<Record<string, Value>>, key: string): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(rows).filter(([name]) => name !== key));
}

/** Whether the next create can be one of the terminal lane. */
function needsRoom(state: Placement): boolean {
  return state.move?.state === 'decided' || openIntentOf(state)?.entry.kind === 'terminal';
}

/** The same intent always asks for the same: what it asks for, without any text of the caller. */
function requestDigest(entry: Entry, lane: string, workload: string | null): string {
  return commandDigest('provision', canonicalJson({ entry, lane, workload }));
}
