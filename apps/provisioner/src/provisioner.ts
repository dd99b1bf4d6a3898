import pLimit, { type LimitFunction } from 'p-limit';
import type { Placement } from '#domain/placement';
import { shortRefOf } from '#domain/provision/marker';
import { retryFacts, retryFinding } from '#domain/provision/retry-pass';
import { sightingsIn } from '#domain/provision/sightings';
import type { Listing } from '#domain/provision/step';
import { carryOnWith } from './carry-on.ts';
import { listLane } from './listings.ts';
import { Owners } from './owners.ts';
import type { ProvisionerParts } from './parts.ts';
import { Recorder } from './recorder.ts';
import { Waiting } from './waiting.ts';

const PAGE = 500;

type Listings = Readonly<Record<string, Listing | 'failed'>>;

/** Executes intents, adopts, reaps, dispatches, reconciles (failover 7, 9, 10). One run per allocation at once. */
export class Provisioner {
  readonly #parts: ProvisionerParts;
  readonly #running = new Map<string, Promise<void>>();
  readonly #queued = new Map<string, Promise<void>>();
  readonly #limit: LimitFunction;
  readonly #stopping = new AbortController();
  readonly #owners: Owners;
  /** Lanes that were not listed in full since the start (failover 10.3). */
  readonly #unseen: Set<string>;
  readonly #waiting = new Waiting();
  /** Allocations that machines name and no stream is found for. */
  #orphans: ReadonlySet<string> = new Set();

  constructor(parts: ProvisionerParts) {
    this.#parts = parts;
    this.#limit = pLimit(parts.settings.runsAtOnceMax);
    this.#owners = new Owners(parts.log, parts.settings.deployment);
    this.#unseen = new Set(parts.settings.looksFirst ? parts.lanes.keys() : []);
  }

  /** Runs that are under way or wait for their turn. */
  get busy(): number {
    return this.#limit.activeCount + this.#limit.pendingCount;
  }

  /** Allocations that wait, by reason, as the runs of this process found them. */
  get waits(): ReturnType<Waiting['counts']> {
    return this.#waiting.counts();
  }

  /** Goes as far as it can now on one allocation: what an event wakes. An error is reported, never lost. */
  carryOn(stream: string): Promise<void> {
    return this.#alone(stream, () => this.#walk(stream, false, {}));
  }

  /** One pass, to its end: what the simulation and the tests wait for. */
  async reconcile(): Promise<void> {
    const { runs } = await this.startPass();
    await runs;
  }

  /**
   * Starts one pass: each lane is listed once, then every allocation with work or machines is walked (failover
   * 10.6). Answers when the walks have begun: one that waits for a machine must not hold up the next pass.
   */
  async startPass(): Promise<{ readonly runs: Promise<unknown> }> {
    const listings = await this.#listAll();
    const streams = new Set(await this.#withWork());
    const owners = await this.#owners.toVisit(listings);
    this.#orphans = owners.orphans;
    for (const stream of owners.streams) streams.add(stream);
    this.#waiting.keep(streams, this.#parts.clock.now());
    const runs = [...streams].map((stream) => this.#alone(stream, () => this.#walk(stream, true, listings)));
    return { runs: Promise.all(runs) };
  }

  /** The capacity-retry pass over blocked allocations, to its end (failover 7). */
  async retryPass(): Promise<void> {
    const { runs } = await this.startRetryPass();
    await runs;
  }

  /** Starts the capacity-retry pass; answers when the re-drives have begun. */
  async startRetryPass(): Promise<{ readonly runs: Promise<unknown> }> {
    const retryDueAt = await this.#parts.clock.read();
    const due = await this.#pages((after) => this.#parts.log.allocations.list({ retryDueAt }, PAGE, after));
    if (due.length === 0) return { runs: Promise.resolve() };
    const listings = await this.#listAll();
    return {
      runs: Promise.all(due.map((stream) => this.#alone(stream, () => this.#retry(stream, listings)))),
    };
  }

  /** Lets every run end at its next step, leases given back, and waits for that. Nothing new begins. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#queued.values(), ...this.#running.values()]);
  }

  async #walk(stream: string, pass: boolean, listings: Listings): Promise<void> {
    // Of a machine without a stream that tells of it: this allocation looks before its first create.
    const orphaned = this.#orphans.has(shortRefOf(stream));
    const listed = new Set<string>();
    const wait = await carryOnWith(this.#parts, stream, {
      pass,
      listings,
      mustLook: (lane) => !listed.has(lane) && (orphaned || this.#unseen.has(lane)),
      onListed: (lane) => {
        listed.add(lane);
        this.#unseen.delete(lane);
      },
      signal: this.#stopping.signal,
    });
    this.#waiting.learn(stream, wait);
  }

  /** Streams that have something to do now. */
  async #withWork(): Promise<readonly string[]> {
    const workDueAt = await this.#parts.clock.read();
    return this.#pages((after) => this.#parts.log.allocations.list({ workDueAt }, PAGE, after));
  }

  async #retry(stream: string, listings: Listings): Promise<void> {
    const { clock, settings, texts } = this.#parts;
    const recorder = await Recorder.open(this.#parts, stream);
    const finding = retryFinding(recorder.state, await clock.read());
    if (finding.kind === 'not_yet') return;
    if (finding.kind === 'exhausted') {
      if (finding.facts.length > 0) await recorder.add(finding.facts);
      return;
    }
    const name = await texts.name(stream);
    const now = clock.now();
    for (const lane of lanesOf(recorder.state)) {
      const listing = listings[lane];
      // A lane that cannot be listed may hold something of ours: no re-drive, and none is counted.
      if (listing === undefined || listing === 'failed') return;
      const { own } = sightingsIn(recorder.state, lane, listing, {
        stream,
        name,
        rules: { deployment: settings.deployment, observeOnly: settings.observeOnly },
      });
      // What ended on a primary lane is over; a pod that stands is to be resolved, ended or not (failover 7).
      const isTerminalLane = this.#parts.lanes.get(lane)?.facts.kind === 'terminal';
      if (own.some(({ machine }) => isTerminalLane || machine.state !== 'terminated')) {
        await this.#walk(stream, true, listings);
        return;
      }
    }
    const result = await recorder.add(retryFacts(recorder.state, now));
    if (result.kind === 'recorded') {
      await this.#walk(stream, false, {});
    }
  }

  async #listAll(): Promise<Listings> {
    const { log, lanes, report } = this.#parts;
    const entries = await Promise.all(
      [...lanes].map(async ([id, lane]) => [id, await listLane(log, lane, report)] as const),
    );
    for (const [lane, listing] of entries) if (listing !== 'failed') this.#unseen.delete(lane);
    return Object.fromEntries(entries);
  }

  async #pages(
    read: (afterStream: string) => Promise<readonly { readonly stream: string }[]>,
  ): Promise<readonly string[]> {
    const streams: string[] = [];
    for (;;) {
      const page = await read(streams.at(-1) ?? '');
      streams.push(...page.map(({ stream }) => stream));
      if (page.length < PAGE) return streams;
    }
  }

  /** One run at a time per allocation. Who comes while another waits already is served by that one. */
  #alone(stream: string, work: () => Promise<void>): Promise<void> {
    const queued = this.#queued.get(stream);
    if (queued !== undefined) return queued;
    const running = this.#running.get(stream);
    const mine = this.#limit(async () => {
      await running;
      this.#queued.delete(stream);
      this.#running.set(stream, mine);
      try {
        await work();
      } catch (error) {
        this.#parts.report({ kind: 'step_failed', stream, error });
      }
      if (this.#running.get(stream) === mine) this.#running.delete(stream);
    });
    this.#queued.set(stream, mine);
    return mine;
  }
}

function lanesOf(state: Placement): readonly string[] {
  const { plan } = state.launch ?? {};
  if (plan === undefined) return [];
  const lanes = plan.rungs.map(({ lane }) => lane);
  return [...new Set(plan.terminal === null ? lanes : [...lanes, plan.terminal.lane])];
}
