import type { LogReader } from '#domain/log';
import type { AllocationFilter, AllocationTable } from '#domain/log-tables';
import { NOT_PLACED, openIntentOf, type Placement } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import { terminalMachines } from '#domain/provision/terminal-machines';
import type { RecordedEvent } from '#events/envelope';
import { refOfStream } from '#events/streams';
import { readEvent } from '#events/upcast';

export type StreamsLog = LogReader & { readonly allocations: AllocationTable };

interface Folded {
  readonly state: Placement;
  readonly streamVersion: number;
}

const READ_MAX = 1_000;
const PAGE = 500;
const AT_ONCE = 8;

/** Rows that can have machines at all: a candidate list, as whoever acts folds the stream first (design 4). */
const CANDIDATES: readonly AllocationFilter[] = [
  { bills: true },
  { hasOpenIntent: true },
  { hasAlerts: true },
];

/** What can give a stream its first machine of a terminal lane. */
const BRINGS_ONE: readonly string[] = [
  'CreateSending',
  'InstanceCreated',
  'InstanceAdopted',
  'LateInstanceSeen',
  'RewoundAdopted',
  'AlertRaised',
  'ReapAnnounced',
  'CancelUnconfirmed',
];

/** The folds of all allocations that may have something on a terminal lane, kept up with the log. */
export class TerminalStreams {
  readonly #log: StreamsLog;
  readonly #folded = new Map<string, Folded>();
  readonly #stale = new Set<string>();
  #knowsCandidates = false;

  constructor(log: StreamsLog) {
    this.#log = log;
  }

  /** Told of every row of the log from some position on, in order. */
  learn({ stream, role, type }: RecordedEvent): void {
    if (role === 'input' || refOfStream(stream) === null) return;
    if (this.#folded.has(stream) || BRINGS_ONE.includes(type)) this.#stale.add(stream);
  }

  /** Folds what was told of since the last call; the first one goes through the candidates too. */
  async readOn(): Promise<void> {
    if (!this.#knowsCandidates) {
      for (const filter of CANDIDATES) for (const stream of await this.#all(filter)) this.#stale.add(stream);
      this.#knowsCandidates = true;
    }
    const stale = [...this.#stale];
    for (let from = 0; from < stale.length; from += AT_ONCE) {
      await Promise.all(stale.slice(from, from + AT_ONCE).map((stream) => this.#foldOn(stream)));
    }
  }

  /** How many may bill, one intent's own create left out: it takes no room from itself. */
  billing(except: string | null, unknownSince: string): number {
    let billing = 0;
    for (const { state } of this.#folded.values()) {
      const machines = terminalMachines(state, unknownSince);
      billing += machines.size - (except !== null && machines.has(except) ? 1 : 0);
    }
    return billing;
  }

  async #foldOn(stream: string): Promise<void> {
    let { state, streamVersion } = this.#folded.get(stream) ?? { state: NOT_PLACED, streamVersion: 0 };
    for (;;) {
      const rows = await this.#log.readStream(stream, streamVersion, READ_MAX);
      for (const row of rows) {
        state = evolveRecordedPlacement(state, readEvent(row));
        streamVersion = row.streamVersion;
      }
      if (rows.length < READ_MAX) break;
    }
    this.#stale.delete(stream);
    if (mayMatter(state)) this.#folded.set(stream, { state, streamVersion });
    else this.#folded.delete(stream);
  }

  async #all(filter: AllocationFilter): Promise<readonly string[]> {
    const streams: string[] = [];
    for (;;) {
      const page = await this.#log.allocations.list(filter, PAGE, streams.at(-1) ?? '');
      streams.push(...page.map(({ stream }) => stream));
      if (page.length < PAGE) return streams;
    }
  }
}

const EVER = '1970-01-01T00:00:00.000Z';

/** A terminal attempt that is open goes on in small facts: its stream is kept rather than read anew at each one. */
function mayMatter(state: Placement): boolean {
  return openIntentOf(state)?.entry.kind === 'terminal' || terminalMachines(state, EVER).size > 0;
}
