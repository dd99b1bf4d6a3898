import type { LogReader } from '#domain/log';
import type { AllocationTable } from '#domain/log-tables';
import type { KnownEvent } from '#events/catalogue';
import { instantMs } from '#events/instant';
import { readEvent } from '#events/upcast';

export interface TerminalLimits {
  readonly createsPerHour: number | null;
  readonly billingMax: number | null;
}

export interface TerminalRoomOptions {
  readonly limits: TerminalLimits;
  readonly log: LogReader & { readonly allocations: AllocationTable };
  /** The terminal lanes of the deployment. */
  readonly lanes: ReadonlySet<string>;
  readonly nowMs: () => number;
}

const HOUR_MS = 3_600_000;
const READ_MAX = 1_000;
const PAGE = 500;
/** Events that tell of terminal creates. */
const TOLD_BY = ['IntentRecorded', 'CreateSending', 'InstancePlaced', 'IntentClosed', 'FailoverCompleted'];

/** So long a create that was let through may take until the log tells of it. */
const GRANT_MS = 60_000;

interface Sent {
  readonly stream: string;
  readonly atMs: number;
}

/**
 * The breaker (failover 5.9): whether one more terminal create has room. It counts the creates that the log
 * holds, so that a restart forgets nothing, and those that it has let through and the log does not tell of yet, so
 * that many moves at once do not pass together. Two processes at the same instant may each fill what is left.
 */
export class TerminalRoom {
  readonly #options: TerminalRoomOptions;
  /** Intents of rungs: what is sent under them is none of the terminal lane. */
  readonly #rungs = new Set<string>();
  /** The newest create of each terminal intent, by intent. */
  readonly #sent = new Map<string, Sent>();
  /** Of those, the ones that are neither placed nor given up. */
  readonly #open = new Set<string>();
  /** When room was found for a stream whose create the log does not tell of yet. */
  readonly #granted = new Map<string, number>();
  #readTo: number | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: TerminalRoomOptions) {
    this.#options = options;
  }

  /** Whether the next terminal create of this stream has room. What it has sent itself takes none from it. */
  hasRoom(stream: string): Promise<boolean> {
    const { createsPerHour, billingMax } = this.#options.limits;
    if (createsPerHour === null && billingMax === null) return Promise.resolve(true);
    const turn = this.#turn.then(() => this.#decide(stream));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #decide(stream: string): Promise<boolean> {
    const { limits, nowMs } = this.#options;
    await this.#readOn();
    for (const [granted, atMs] of this.#granted) {
      if (atMs <= nowMs() - GRANT_MS) this.#granted.delete(granted);
    }
    const others = [...this.#granted.keys()].filter((one) => one !== stream).length;
    const room =
      (limits.createsPerHour === null || this.#inTheHour(stream) + others < limits.createsPerHour) &&
      (limits.billingMax === null || (await this.#billing(stream)) + others < limits.billingMax);
    if (room) this.#granted.set(stream, nowMs());
    else this.#granted.delete(stream);
    return room;
  }

  async #readOn(): Promise<void> {
    const { log } = this.#options;
    this.#readTo ??= await this.#anHourAgo();
    for (;;) {
      const rows = await log.readAfter(this.#readTo, READ_MAX);
      for (const row of rows) {
        this.#readTo = row.pos;
        if (TOLD_BY.includes(row.type)) this.#learn(readEvent(row));
      }
      if (rows.length < READ_MAX) return;
    }
  }

  #learn(event: KnownEvent): void {
    switch (event.type) {
      case 'IntentRecorded':
        if (event.data.entry.kind === 'rung') this.#rungs.add(event.data.intent);
        return;
      case 'CreateSending': {
        const { stream, recordedAt } = event.row;
        if (this.#rungs.has(event.data.intent)) return;
        this.#sent.set(event.data.intent, { stream, atMs: instantMs(recordedAt) });
        this.#open.add(event.data.intent);
        this.#granted.delete(stream);
        return;
      }
      case 'InstancePlaced':
      case 'IntentClosed':
      case 'FailoverCompleted': {
        const { intent } = event.data;
        if (intent === null) return;
        this.#open.delete(intent);
        this.#rungs.delete(intent);
        return;
      }
    }
  }

  #inTheHour(stream: string): number {
    const sinceMs = this.#options.nowMs() - HOUR_MS;
    for (const [intent, { atMs }] of this.#sent) {
      if (atMs <= sinceMs && !this.#open.has(intent)) this.#sent.delete(intent);
    }
    return [...this.#sent].filter(
      ([intent, sent]) => sent.atMs > sinceMs && !(sent.stream === stream && this.#open.has(intent)),
    ).length;
  }

  /** A position before which nothing was recorded within the last hour: times never go back along the log. */
  async #anHourAgo(): Promise<number> {
    const { log, nowMs } = this.#options;
    let low = 0;
    let high = (await log.head()).pos;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const row = await log.at(middle);
      if (row !== null && instantMs(row.recordedAt) > nowMs() - HOUR_MS) high = middle - 1;
      else low = middle;
    }
    return low;
  }

  /** Machines that are placed, by their rows, and creates under way: their machine may be there already. */
  async #billing(stream: string): Promise<number> {
    const { log, lanes } = this.#options;
    let billing = [...this.#open].filter((intent) => this.#sent.get(intent)?.stream !== stream).length;
    let after = '';
    for (;;) {
      const page = await log.allocations.list({ bills: true }, PAGE, after);
      billing += page.filter(({ placement }) => lanes.has(placement?.lane ?? '')).length;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return billing;
      after = last.stream;
    }
  }
}
