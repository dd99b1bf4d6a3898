import { type LeaseStep, type LogReader, LogUnavailable } from '#domain/log';
import type { Leases } from '#domain/log-tables';
import type { KnownEvent } from '#events/catalogue';
import { instantMs, plusSeconds } from '#events/instant';
import type { Entry } from '#events/intent.events';
import { readEvent } from '#events/upcast';
import { type StreamsLog, TerminalStreams } from './terminal-streams.ts';

export interface TerminalLimits {
  readonly createsPerHour: number | null;
  readonly billingMax: number | null;
}

export interface TerminalRoomOptions {
  readonly limits: TerminalLimits;
  readonly log: StreamsLog & { readonly leases: Leases };
  readonly monotonicMs: () => number;
}

/** The create that asks: a repeat under its own intent makes no second machine, so that takes no room from it. */
export interface Asking {
  readonly stream: string;
  /** Null = no intent is open yet. */
  readonly intent: string | null;
}

const HOUR_S = 3_600;
const READ_MAX = 1_000;
const INTENTS_MAX = 100;
/** The row whose fence is raised by every terminal create that is recorded. It is held by nobody. */
const ROW = 'terminal-room';
/** So long a create that was let through may take until the log tells of it. */
const GRANT_MS = 60_000;

/** The breaker of a deployment, as the steps of a worker use it. */
export interface Breaker {
  /** Whether the next terminal create has room as things stand. */
  hasRoom(asking: Asking): Promise<boolean>;
  /**
   * Records with `add` that a terminal create will be sent, if it has room: `full` otherwise. What `add` is given has
   * to be the lease of its append; absent = nothing.
   */
  record<Result extends { readonly kind: string }>(
    asking: Asking,
    add: (step?: LeaseStep) => Promise<Result>,
  ): Promise<Result | { readonly kind: 'full' }>;
}

/**
 * The breaker (failover 5.9): whether one more terminal create has room, by what the log holds, on the store's
 * clock. Exact with any number of workers: the count is made after a common row's fence was read, and the fact that
 * a create will be sent is recorded only if that fence is still the newest, in the append that raises it. So between
 * a count and its create no other one was recorded. A worker that dies in between has taken nothing, and nobody
 * waits for it.
 */
export class TerminalRoom implements Breaker {
  readonly #options: TerminalRoomOptions;
  readonly #streams: TerminalStreams;
  /** Of intents that are open: what is sent under those of rungs is none of the terminal lane. */
  readonly #kinds = new Map<string, Entry['kind']>();
  /** When the newest create of each terminal intent was recorded, within the hour. */
  readonly #sentMs = new Map<string, number>();
  /** When room was found for a stream whose create the log does not tell of yet. */
  readonly #granted = new Map<string, number>();
  #readTo: number | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #outages = 0;

  constructor(options: TerminalRoomOptions) {
    this.#options = options;
    this.#streams = new TerminalStreams(options.log);
  }

  /** Of many in this process that ask at once only so many are told so; what is sent is decided by `record` alone. */
  hasRoom(asking: Asking): Promise<boolean> {
    if (this.#isUnlimited) return Promise.resolve(true);
    return this.#alone(async () => {
      const now = this.#options.monotonicMs();
      for (const [stream, atMs] of this.#granted) {
        if (atMs <= now - GRANT_MS) this.#granted.delete(stream);
      }
      const others = [...this.#granted.keys()].filter((stream) => stream !== asking.stream).length;
      const room = await this.#counts(asking, others);
      // A repeat is counted already.
      const isNew = asking.intent === null || !this.#sentMs.has(asking.intent);
      if (room && isNew) this.#granted.set(asking.stream, now);
      else this.#granted.delete(asking.stream);
      return room;
    });
  }

  record<Result extends { readonly kind: string }>(
    asking: Asking,
    add: (step?: LeaseStep) => Promise<Result>,
  ): Promise<Result | { readonly kind: 'full' }> {
    if (this.#isUnlimited) return add();
    // One at a time in this process: of many at the same fence all but one would have to count anew.
    return this.#alone(async () => {
      for (;;) {
        const from = await this.#fence();
        if (!(await this.#counts(asking, 0))) return { kind: 'full' };
        const result = await add({ lease: ROW, holder: ROW, from, forMs: 1 });
        if (result.kind === 'recorded') this.#granted.delete(asking.stream);
        // Fenced by this row another create was recorded since the count; else it is by the intent's own lease.
        if (result.kind !== 'fenced' || (await this.#fence()) === from) return result;
      }
    });
  }

  get #isUnlimited(): boolean {
    const { createsPerHour, billingMax } = this.#options.limits;
    return createsPerHour === null && billingMax === null;
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const outagesBefore = this.#outages;
    const turn = this.#turn.then(async () => {
      // The store was away while this one waited: asked anew, each of many would wait for it once more in turn.
      if (this.#outages !== outagesBefore) throw new LogUnavailable('the store was away');
      try {
        return await work();
      } catch (error) {
        if (error instanceof LogUnavailable) this.#outages += 1;
        throw error;
      }
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #fence(): Promise<number> {
    return (await this.#options.log.leases.read(ROW))?.fence ?? 0;
  }

  async #counts({ intent }: Asking, others: number): Promise<boolean> {
    const { limits, log } = this.#options;
    const hourAgo = plusSeconds(await log.leases.clock(), -HOUR_S);
    await this.#readOn(instantMs(hourAgo));
    if (limits.createsPerHour !== null) {
      if (this.#sentSince(instantMs(hourAgo), intent) + others >= limits.createsPerHour) return false;
    }
    if (limits.billingMax === null) return true;
    await this.#streams.readOn();
    return this.#streams.billing(intent, hourAgo) + others < limits.billingMax;
  }

  #sentSince(sinceMs: number, except: string | null): number {
    for (const [intent, atMs] of this.#sentMs) if (atMs <= sinceMs) this.#sentMs.delete(intent);
    return this.#sentMs.size - (except !== null && this.#sentMs.has(except) ? 1 : 0);
  }

  async #readOn(hourAgoMs: number): Promise<void> {
    const { log, limits } = this.#options;
    this.#readTo ??= await beforeTime(log, hourAgoMs);
    for (;;) {
      const rows = await log.readAfter(this.#readTo, READ_MAX);
      for (const row of rows) {
        if (limits.billingMax !== null) this.#streams.learn(row);
        if (TOLD_BY.includes(row.type)) await this.#learn(readEvent(row));
        this.#readTo = row.pos;
      }
      if (rows.length < READ_MAX) return;
    }
  }

  async #learn(event: KnownEvent): Promise<void> {
    switch (event.type) {
      case 'IntentRecorded':
        this.#kinds.set(event.data.intent, event.data.entry.kind);
        return;
      case 'CreateSending': {
        const { stream, recordedAt } = event.row;
        const { intent } = event.data;
        const kind = this.#kinds.get(intent) ?? (await kindOf(this.#options.log, stream, intent));
        if (kind === 'terminal') this.#sentMs.set(intent, instantMs(recordedAt));
        return;
      }
      case 'InstancePlaced':
      case 'FailoverCompleted':
      case 'IntentClosed':
        if (event.data.intent !== null) this.#kinds.delete(event.data.intent);
    }
  }
}

const TOLD_BY = ['IntentRecorded', 'CreateSending', 'InstancePlaced', 'FailoverCompleted', 'IntentClosed'];

/** Of an intent that was opened before the hour began; one that is not found takes room all the same. */
async function kindOf(log: LogReader, stream: string, intent: string): Promise<Entry['kind']> {
  const rows = await log.newestDecisions(stream, ['IntentRecorded'], INTENTS_MAX);
  for (const event of rows.map(readEvent)) {
    if (event.type === 'IntentRecorded' && event.data.intent === intent) return event.data.entry.kind;
  }
  return 'terminal';
}

/** A position before which nothing was recorded after that moment: times never go back along the log. */
async function beforeTime(log: LogReader, sinceMs: number): Promise<number> {
  let low = 0;
  let high = (await log.head()).pos;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const row = await log.at(middle);
    if (row !== null && instantMs(row.recordedAt) > sinceMs) high = middle - 1;
    else low = middle;
  }
  return low;
}
