import type { AllocationFilter, Log, StoredAllocation } from '#domain/log-tables';
import type { LaneInstance } from '#domain/provision/lane';
import { readName, shortRefOf } from '#domain/provision/marker';
import type { Listing } from '#domain/provision/step';
import { allocationStream } from '#events/streams';
import type { Outcome } from '#events/watch.events';

const PAGE = 500;

/** Outcomes in which the one machine that the row names is all that an allocation should have. */
const AT_REST: readonly (Outcome | string)[] = ['placed_primary', 'running_on_terminal', 'done'];

export interface OwnersToVisit {
  /** Streams whose machines a pass has to look at. */
  readonly streams: readonly string[];
  /** Short refs of allocations that machines name and no stream is found for. */
  readonly orphans: ReadonlySet<string>;
}

/**
 * Whose machines a pass has to look at (failover 10.6): a machine that no row tells of is found too. Left out are
 * allocations at rest whose only machine is the one that their row names, as the pass before saw it: with
 * thousands of them, reading each stream in each pass would be most of what a provisioner does.
 */
export class Owners {
  readonly #log: Pick<Log, 'allocations'>;
  readonly #deployment: string;
  /** Machines by short ref, as the pass before saw them. */
  #seen: ReadonlyMap<string, string> = new Map();
  /** Machines without our mark that the pass before saw. A new one may be a person's for any allocation. */
  #strangers: ReadonlySet<string> = new Set();

  constructor(log: Pick<Log, 'allocations'>, deployment: string) {
    this.#log = log;
    this.#deployment = deployment;
  }

  async toVisit(listings: Readonly<Record<string, Listing | 'failed'>>): Promise<OwnersToVisit> {
    const { machines, strangers } = this.#sort(listings);
    const rows = await this.#rows({ bills: true });
    const newcomer = [...strangers].some((stranger) => !this.#strangers.has(stranger));
    const streams: string[] = [];
    const orphans = new Set<string>();
    for (const [ref, listed] of machines) {
      const row = rows.get(ref) ?? null;
      const unchanged = !newcomer && this.#seen.get(ref) === listed;
      if (row !== null && unchanged && explains(row, listed)) continue;
      const stream = row?.stream ?? (await this.#streamOf(ref));
      if (stream === null) orphans.add(ref);
      else streams.push(stream);
    }
    streams.push(...missed(rows, machines), ...(await this.#vanished(machines)));
    this.#seen = machines;
    this.#strangers = strangers;
    return { streams, orphans };
  }

  /** Allocations that an alert is open about, and whose machines the pass before saw and this one does not. */
  async #vanished(machines: ReadonlyMap<string, string>): Promise<readonly string[]> {
    const vanished = new Set([...this.#seen.keys()].filter((ref) => !machines.has(ref)));
    if (vanished.size === 0) return [];
    const told = await this.#rows({ hasAlerts: true });
    return [...told].flatMap(([ref, { stream }]) => (vanished.has(ref) ? [stream] : []));
  }

  #sort(listings: Readonly<Record<string, Listing | 'failed'>>) {
    const machines = new Map<string, string>();
    const strangers = new Set<string>();
    for (const [lane, listing] of Object.entries(listings)) {
      if (listing === 'failed') continue;
      for (const machine of listing.instances) {
        const refs = this.#refsOn(machine);
        const shown = shownAs(lane, machine.id);
        if (refs.length === 0) strangers.add(shown);
        for (const ref of refs) {
          const before = machines.get(ref);
          machines.set(ref, before === undefined ? shown : `${before}\n${shown}`);
        }
      }
    }
    return { machines, strangers };
  }

  /** The allocations of this deployment that a machine names, by its name and by its marker. */
  #refsOn({ name, marker }: LaneInstance): readonly string[] {
    const read = readName(name);
    const byName = read?.deployment === this.#deployment ? [read.allocation] : [];
    const byMarker = marker.deployment === this.#deployment ? [marker.allocation ?? ''] : [];
    return [...new Set([...byName, ...byMarker])].filter((ref) => ref !== '');
  }

  async #rows(filter: AllocationFilter): Promise<Map<string, StoredAllocation>> {
    const rows = new Map<string, StoredAllocation>();
    for (let after = ''; ; ) {
      const page = await this.#log.allocations.list(filter, PAGE, after);
      for (const row of page) rows.set(shortRefOf(row.stream), row);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return rows;
      after = last.stream;
    }
  }

  /** The stream whose ref begins so; null when the log has none. */
  async #streamOf(shortRef: string): Promise<string | null> {
    const prefix = allocationStream(shortRef);
    const [row] = await this.#log.allocations.list({}, 1, prefix);
    return row?.stream.startsWith(prefix) === true ? row.stream : null;
  }
}

/** Nobody polls their instance any more: where no listing shows it, its bill has ended (failover 12.2). */
const OVER: readonly (Outcome | string)[] = ['blocked', 'done'];

function missed(
  rows: ReadonlyMap<string, StoredAllocation>,
  machines: ReadonlyMap<string, string>,
): readonly string[] {
  return [...rows].flatMap(([ref, { stream, placement }]) =>
    !machines.has(ref) && OVER.includes(placement?.outcome ?? '') ? [stream] : [],
  );
}

/** What is listed is exactly the machine that the row names, and nothing is expected to happen to it. */
function explains({ placement }: StoredAllocation, listed: string): boolean {
  if (placement === null || placement.lane === null || placement.instance === null) return false;
  return AT_REST.includes(placement.outcome) && listed === shownAs(placement.lane, placement.instance);
}

function shownAs(lane: string, id: string): string {
  return `${lane} ${id}`;
}
