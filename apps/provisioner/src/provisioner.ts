import type { Log } from '#domain/log-tables';
import type { Placement } from '#domain/placement';
import { readName } from '#domain/provision/marker';
import { retryFacts, retryFinding } from '#domain/provision/retry-pass';
import { sightingsIn } from '#domain/provision/sightings';
import { type Listing, NO_WORK } from '#domain/provision/step';
import { allocationStream } from '#events/streams';
import { listLane } from './listings.ts';
import type { ProvisionerParts } from './parts.ts';
import { Recorder } from './recorder.ts';
import { AllocationRun } from './run.ts';

const PAGE = 500;

type Listings = Readonly<Record<string, Listing | 'failed'>>;

/** Executes intents, adopts, reaps, dispatches, reconciles (failover 7, 9, 10). One run per allocation at once. */
export class Provisioner {
  readonly #parts: ProvisionerParts;
  readonly #running = new Map<string, Promise<void>>();

  constructor(parts: ProvisionerParts) {
    this.#parts = parts;
  }

  /** Goes as far as it can now on one allocation: what an event wakes. An error is reported, never lost. */
  carryOn(stream: string): Promise<void> {
    return this.#alone(stream, () => AllocationRun.of(this.#parts, stream, { pass: false, listings: {} }));
  }

  /** One pass: each lane is listed once, then every allocation with work or machines is walked (failover 10.6). */
  async reconcile(): Promise<void> {
    const listings = await this.#listAll();
    const streams = new Set(await this.#withWork());
    for (const stream of await this.#owners(listings)) streams.add(stream);
    await Promise.all(
      [...streams].map((stream) =>
        this.#alone(stream, () => AllocationRun.of(this.#parts, stream, { pass: true, listings })),
      ),
    );
  }

  /** The capacity-retry pass over blocked allocations (failover 7). */
  async retryPass(): Promise<void> {
    const due = await this.#pages((after) =>
      this.#parts.log.allocations.list({ retryDueAt: this.#parts.clock.now() }, PAGE, after),
    );
    if (due.length === 0) return;
    const listings = await this.#listAll();
    await Promise.all(due.map((stream) => this.#alone(stream, () => this.#retry(stream, listings))));
  }

  /** Streams that have something to do now. */
  #withWork(): Promise<readonly string[]> {
    return this.#pages((after) =>
      this.#parts.log.allocations.list({ workDueAt: this.#parts.clock.now() }, PAGE, after),
    );
  }

  async #retry(stream: string, listings: Listings): Promise<void> {
    const { clock, settings, texts } = this.#parts;
    const recorder = await Recorder.open(this.#parts, stream);
    const finding = retryFinding(recorder.state, clock.now());
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
        now,
        storeNow: now,
        rules: { deployment: settings.deployment, observeOnly: settings.observeOnly },
        laneFacts: () => null,
        terminalRoom: true,
        work: NO_WORK,
      });
      if (own.some(({ machine }) => machine.state !== 'terminated')) {
        await AllocationRun.of(this.#parts, stream, { pass: true, listings });
        return;
      }
    }
    const result = await recorder.add(retryFacts(recorder.state, now));
    if (result.kind === 'recorded') {
      await AllocationRun.of(this.#parts, stream, { pass: false, listings: {} });
    }
  }

  async #listAll(): Promise<Listings> {
    const { log, lanes, report } = this.#parts;
    const entries = await Promise.all(
      [...lanes].map(async ([id, lane]) => [id, await listLane(log, lane, report)] as const),
    );
    return Object.fromEntries(entries);
  }

  /** Streams of the machines that carry this deployment's name: a machine that no row tells of is found too. */
  async #owners(listings: Listings): Promise<readonly string[]> {
    const { settings, log } = this.#parts;
    const short = new Set<string>();
    for (const listing of Object.values(listings)) {
      if (listing === 'failed') continue;
      for (const { name, marker } of listing.instances) {
        const read = readName(name);
        if (read?.deployment === settings.deployment) short.add(read.allocation);
        if (marker.deployment === settings.deployment && marker.allocation !== null)
          short.add(marker.allocation);
      }
    }
    const found = await Promise.all([...short].map((ref) => streamOf(log, ref)));
    return found.filter((stream) => stream !== null);
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

  /** One run at a time per allocation; who comes meanwhile waits for its turn. */
  #alone(stream: string, work: () => Promise<void>): Promise<void> {
    const before = this.#running.get(stream) ?? Promise.resolve();
    const mine = before.then(work).catch((error: unknown) => {
      this.#parts.report({ kind: 'step_failed', stream, error });
    });
    this.#running.set(stream, mine);
    return mine.finally(() => {
      if (this.#running.get(stream) === mine) this.#running.delete(stream);
    });
  }
}

/** The stream whose ref begins so; null when the log has none. */
async function streamOf(log: Log, shortRef: string): Promise<string | null> {
  const prefix = allocationStream(shortRef);
  const [row] = await log.allocations.list({}, 1, prefix);
  return row?.stream.startsWith(prefix) === true ? row.stream : null;
}

function lanesOf(state: Placement): readonly string[] {
  const { plan } = state.launch ?? {};
  if (plan === undefined) return [];
  const lanes = plan.rungs.map(({ lane }) => lane);
  return [...new Set(plan.terminal === null ? lanes : [...lanes, plan.terminal.lane])];
}
