import type { Command } from '#domain/log';
import { createsToday, NOT_PLACED, type Placement, utcDay } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import { verifyLog } from '#event-log/verify';
import type { KnownEvent } from '#events/catalogue';
import { instantMs } from '#events/instant';
import { readEvent } from '#events/upcast';
import { replay } from '../../apps/audit/src/replay.ts';
import type { Happening } from './ledger.ts';
import type { Actor } from './scheduler.ts';
import type { Simulation } from './simulation.ts';
import { toldEvent } from './told-event.ts';

/** A create takes effect at the latest so long after its call. */
export const CREATE_DEADLINE_MS = 30_000;

/** A mark that is set between a worker's look and its terminate, with stalls in between, cannot be seen. */
const LOOK_TO_END_MAX_MS = 300_000;

const HOUR_MS = 3_600_000;

/**
 * What may never happen, whatever the schedule: watched while it runs, on what is recorded and on what really
 * happens at the lanes.
 */
export class Invariants {
  readonly broken: string[] = [];
  readonly #simulation: Simulation;
  readonly #events: KnownEvent[] = [];
  #placement: Placement = NOT_PLACED;
  #read = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    simulation.log.follow(() => void this.#readOn());
    simulation.onAppended = (actor, commands) => void this.#appended(actor, commands);
    simulation.world.ledger.listen((happening) => this.#happened(happening));
  }

  get events(): readonly KnownEvent[] {
    return this.#events;
  }

  get placement(): Placement {
    return this.#placement;
  }

  #break(what: string): void {
    this.#simulation.trace.add(() => `BROKEN ${what}`);
    this.broken.push(what);
  }

  async #readOn(): Promise<void> {
    const rows = await this.#simulation.log.readAfter(this.#read, 1_000);
    for (const row of rows) {
      if (row.pos <= this.#read) continue;
      this.#read = row.pos;
      const event = readEvent(row);
      this.#events.push(event);
      this.#placement = evolveRecordedPlacement(this.#placement, event);
      this.#simulation.trace.add(() => `    recorded ${toldEvent(event)}`);
      this.#recorded(event);
    }
  }

  /** Facts under an open intent come from the one who holds its lease, save the one that needs none (failover 11). */
  async #appended(actor: Actor, commands: readonly Command[]): Promise<void> {
    const facts = commands.flatMap(({ events }) => events.map(({ event }) => event));
    const named = facts.find(({ type, data }) => type !== 'LateInstanceSeen' && this.#underOpen(data));
    if (named === undefined) return;
    const row = await this.#simulation.log.leases.read(this.#simulation.stream);
    if (row?.holder !== actor.name)
      this.#break(`${actor.name} recorded ${named.type}, and ${row?.holder} has the lease`);
  }

  /** Of an intent that was not over before: the residue of one that was is whoever's pass comes by. */
  #underOpen(data: unknown): boolean {
    if (typeof data !== 'object' || data === null || !('intent' in data)) return false;
    const known = this.#placement.intents.find(({ intent }) => intent === data.intent);
    return data.intent !== null && (known === undefined || known.closed === null);
  }

  #recorded(event: KnownEvent): void {
    switch (event.type) {
      case 'AllocationBlocked': {
        if (event.data.reason !== 'no_compute_available') return;
        for (const id of this.#billing()) this.#break(`no_compute_available while ${id} of ours bills`);
        return;
      }
      case 'RungCounted': {
        const cap = this.#placement.launch?.plan.limits.createsPerDay ?? 0;
        const count = createsToday(this.#placement, event.data.day);
        if (count > cap) this.#break(`${count} creates on ${event.data.day}, and the cap is ${cap}`);
        return;
      }
      case 'CreateSending':
        this.#withinTheHour(event);
        return;
      case 'FailoverCompleted': {
        const { key } = event.data;
        const times = this.#placement.stamps.filter((stamp) => stamp === key).length;
        if (times > 1) this.#break(`${key} had ${times} failovers`);
        return;
      }
      case 'ResidueReaped': {
        const { instance } = event.data;
        if (this.#stands(instance)) this.#break(`${instance} is called gone and stands`);
        return;
      }
      case 'CancelConfirmed': {
        const { instance } = event.data;
        if (this.#stands(instance)) this.#break(`the cancel of ${instance} is confirmed, and it stands`);
        return;
      }
      default:
        return;
    }
  }

  /** At most so many terminal intents are sent under within any hour, repeats of one left out (failover 5.9). */
  #withinTheHour({ row }: KnownEvent): void {
    const { createsPerHour } = this.#simulation.terminalLimits;
    if (createsPerHour === null) return;
    const isTerminal = (id: string) =>
      this.#placement.intents.some(({ intent, entry }) => intent === id && entry.kind === 'terminal');
    const sinceMs = instantMs(row.recordedAt) - HOUR_MS;
    const sent = this.#events.flatMap((event) => {
      if (event.type !== 'CreateSending' || instantMs(event.row.recordedAt) <= sinceMs) return [];
      return isTerminal(event.data.intent) ? [event.data.intent] : [];
    });
    const intents = new Set(sent).size;
    if (intents > createsPerHour)
      this.#break(`${intents} terminal creates within an hour of ${createsPerHour}`);
  }

  #happened(happening: Happening): void {
    const { what, lane, instance } = happening;
    this.#simulation.trace.add(
      () => `    really ${what} ${lane} ${instance ?? ''} ${happening.intent ?? ''}`,
    );
    switch (what) {
      case 'create_called':
        this.#createCalled(happening);
        return;
      case 'created':
        this.#createdUnder(happening);
        return;
      case 'started':
        this.#started(happening);
        return;
      case 'terminate_called':
        this.#terminateCalled(happening);
        return;
      case 'terminated':
      case 'vanished':
      case 'start_repeated':
      case 'bootstrap_called':
        return;
    }
  }

  #createCalled({ intent: id, lane, atMs }: Happening): void {
    const intent = this.#placement.intents.find((one) => one.intent === id);
    if (intent === undefined || intent.sends === 0 || intent.sendNotAfter === null) {
      this.#break(`a create on ${lane} that no fact announced`);
      return;
    }
    if (atMs > instantMs(intent.sendNotAfter) + CREATE_DEADLINE_MS) {
      this.#break(`a create on ${lane} was sent after its limit`);
    }
    if (intent.entry.kind === 'terminal') this.#terminalCreate(intent.chain);
    else this.#countedCreate();
  }

  /** Only a recorded decision, with consent given beforehand or an acceptance that names it (failover 4.8). */
  #terminalCreate(chain: string): void {
    const decided = this.#events.findLast((event) => event.type === 'FailoverDecided');
    const escalation = decided?.data.escalation;
    if (decided === undefined || `terminal:${escalation?.key}` !== chain) {
      this.#break(`a terminal create without a recorded decision for ${chain}`);
      return;
    }
    const { consent } = decided.data;
    const plan = this.#placement.launch?.plan;
    if (consent === 'standing') {
      if (plan?.failover !== 'standing') this.#break('a terminal create on a consent that was not given');
      return;
    }
    const isAccepted = this.#events.some(
      (event) =>
        event.type === 'FailoverAccepted' &&
        event.data.questionId === consent &&
        event.data.key === escalation?.key,
    );
    if (!isAccepted) this.#break('a terminal create whose acceptance is not recorded');
  }

  /** One count for each primary rung that was walked (failover 5.2). */
  #countedCreate(): void {
    const { intents } = this.#placement;
    const walked = intents.filter(({ lane, sends }) => lane === 'gcp' && sends > 0);
    const rungs = new Set(walked.map(({ chain }) => chain));
    const counted = this.#events.filter(
      (event) => event.type === 'RungCounted' && event.data.day === utcDay(event.row.recordedAt),
    ).length;
    if (rungs.size > counted) this.#break(`${rungs.size} primary rungs were entered, ${counted} counted`);
  }

  /** A machine of an intent that is over would be seen by nobody. */
  #createdUnder({ intent: id, instance, lane }: Happening): void {
    const { billingMax } = this.#simulation.terminalLimits;
    const live = this.#simulation.world.runpod.liveOwn.length;
    if (lane === 'runpod' && billingMax !== null && live > billingMax) {
      this.#break(`${live} terminal machines bill, and ${billingMax} may`);
    }
    const intent = this.#placement.intents.find((one) => one.intent === id);
    if (intent !== undefined && intent.closed !== null) {
      this.#break(`${instance} was made on ${lane} for an intent that was closed: ${intent.closed}`);
    }
  }

  #started({ intent: id, instance, lane }: Happening): void {
    const chainOf = (one: string | null) =>
      this.#placement.intents.find(({ intent }) => intent === one)?.chain ?? null;
    const chain = chainOf(id);
    const starts = this.#simulation.world.ledger
      .of(lane, 'started')
      .filter(({ intent }) => chainOf(intent) === chain);
    if (starts.length > 1) this.#break(`${starts.length} workloads were started for ${chain}`);
    if (!this.#announced('DispatchSending', instance))
      this.#break(`a start on ${instance} that no fact announced`);
  }

  #terminateCalled({ lane, instance, atMs }: Happening): void {
    const announced = lane === 'runpod' ? 'ReapAnnounced' : 'CancelSending';
    if (!this.#announced(announced, instance)) this.#break(`an end of ${instance} that no fact announced`);
    const pod = this.#simulation.world.runpod.standing.find(({ id }) => id === instance);
    if (lane !== 'runpod' || pod === undefined) return;
    if (!pod.isOurs) this.#break(`a terminate was sent to the foreign pod ${instance}`);
    if (pod.keep && atMs - pod.keptSinceMs > LOOK_TO_END_MAX_MS)
      this.#break(`a terminate was sent to ${instance}, which is marked to be kept`);
    if (pod.workload !== 'none') {
      this.#break(`a terminate was sent to ${instance}, whose workload is ${pod.workload}`);
    }
  }

  #announced(type: KnownEvent['type'], instance: string | null): boolean {
    return this.#events.some(
      (event) => event.type === type && 'instance' in event.data && event.data.instance === instance,
    );
  }

  #stands(id: string): boolean {
    const { gcp, slurm, runpod } = this.#simulation.world;
    return [...gcp.standing, ...slurm.standing, ...runpod.standing].some((one) => one.id === id);
  }

  /**
   * Machines that cost money now and that an attempt of ours may still be about. Terminal machines count whatever
   * launch they are of. A primary one of an earlier launch does not: that launch ended in a block that left it standing
   * on purpose (a wedge under `never`, failover 4.8) or in `done`, so it is a person's and stays as it is (failover
   * 14), no rule of ours looks at it again, and no wait of ours could end it. Whether capacity is missing is asked of
   * the machines that this launch may have (failover 6, 12.2); the alert about the other one, and its bill, stay.
   */
  #billing(): readonly string[] {
    const { gcp, slurm, runpod } = this.#simulation.world;
    const machines = [...gcp.standing, ...slurm.standing].filter(({ state }) => state !== 'terminated');
    const { launch, instances, intents } = this.#placement;
    const isLeft = (id: string) => {
      const placedAt = instances[id]?.placedAt;
      const intent = intents.find(({ instance }) => instance === id);
      return (
        (placedAt !== undefined && placedAt < (launch?.at ?? '')) ||
        (intent !== undefined && intent.launchVersion !== launch?.version)
      );
    };
    return [...machines.map(({ id }) => id).filter((id) => !isLeft(id)), ...runpod.liveOwn];
  }

  /** What must be true once everything is quiet: every fault in a sentence. */
  async atTheEnd(): Promise<readonly string[]> {
    await this.#readOn();
    const { log, world } = this.#simulation;
    const faults: string[] = [];
    const verified = await verifyLog(log);
    if (!verified.ok) faults.push(`the log does not verify at ${verified.pos}: ${verified.kind}`);

    const { placement } = this;
    if (placement.launch !== null) faults.push(...this.#openEnds(placement));

    const text = this.#events.map(({ row }) => row.body).join('\n');
    for (const { id, isOurs } of world.runpod.standing) {
      if (isOurs && !text.includes(`"${id}"`))
        faults.push(`${id} of ours stands, and the log does not know it`);
    }
    for (const lane of [world.gcp, world.slurm]) {
      for (const { id, state } of lane.standing) {
        if (state !== 'terminated' && !text.includes(`"${id}"`)) {
          faults.push(`${id} of ours stands, and the log does not know it`);
        }
      }
    }
    faults.push(...this.#severalOfOneChain(placement));
    for (const { id, isGiven, isTouched } of world.runpod.standing) {
      if (isGiven && isTouched) faults.push(`the foreign pod ${id} was changed`);
    }
    const { differences } = await replay(log);
    for (const { pos, member, recorded, folded } of differences) {
      faults.push(`replay of ${pos}: ${member} is recorded as ${recorded}, and today it is ${folded}`);
    }
    return faults;
  }

  /** Quiet, and still nothing decided, although nothing is there to wait for. */
  #openEnds(placement: Placement): readonly string[] {
    const { outcome, intents, walk, cancelsOwed } = placement;
    const kept = this.#simulation.world.runpod.standing.some(({ isOurs, keep }) => isOurs && keep);
    const faults: string[] = [];
    if (outcome === null || outcome === 'unchanged') faults.push(`the outcome is ${outcome}`);
    if (outcome === 'waiting' && !kept) faults.push('still waiting, and nothing is there to wait for');
    const open = intents.filter(({ closed }) => closed === null);
    if (open.length > 0 && !kept) faults.push(`the intent ${open[0]?.intent} is still open`);
    if (walk !== null && !kept) faults.push('the ladder is still walked');
    for (const id of Object.keys(cancelsOwed)) faults.push(`the cancel of ${id} is still owed`);
    return faults;
  }

  /** One chain never wants two billing pods; what is left beside the first was told to a person (failover 12). */
  #severalOfOneChain(placement: Placement): readonly string[] {
    const live = this.#simulation.world.runpod.standing.filter(
      ({ isOurs, state }) => isOurs && state === 'RUNNING',
    );
    const chains = new Map<string, string[]>();
    for (const { id, intent: name } of live) {
      const chain = placement.intents.find(({ intent }) => intent === name)?.chain ?? 'no chain';
      chains.set(chain, [...(chains.get(chain) ?? []), id]);
    }
    return [...chains].flatMap(([chain, ids]) => {
      const untold = ids.filter((id) => !placement.alerts.some(({ subject }) => subject === id));
      return untold.length > 1 ? [`${untold.join(' and ')} bill for ${chain}`] : [];
    });
  }
}
