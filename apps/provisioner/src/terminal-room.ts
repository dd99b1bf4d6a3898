import type { LogReader } from '#domain/log';
import type { AllocationTable } from '#domain/log-tables';
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

/**
 * The breaker (failover 5.9): whether one more terminal create has room. It counts what the log holds, so that
 * a restart forgets nothing. Two processes at the same instant may pass the limit by one.
 */
export class TerminalRoom {
  readonly #options: TerminalRoomOptions;
  /** When terminal intents were recorded within the last hour. */
  #openedMs: number[] = [];
  #readTo: number | null = null;

  constructor(options: TerminalRoomOptions) {
    this.#options = options;
  }

  async hasRoom(): Promise<boolean> {
    const { createsPerHour, billingMax } = this.#options.limits;
    if (createsPerHour !== null && (await this.#openedInTheHour()) >= createsPerHour) return false;
    return billingMax === null || (await this.#billing(billingMax)) < billingMax;
  }

  async #openedInTheHour(): Promise<number> {
    const { log, nowMs } = this.#options;
    this.#readTo ??= await this.#anHourAgo();
    for (;;) {
      const rows = await log.readAfter(this.#readTo, READ_MAX);
      for (const row of rows) {
        this.#readTo = row.pos;
        if (row.type !== 'IntentRecorded') continue;
        const event = readEvent(row);
        const terminal = event.type === 'IntentRecorded' && event.data.entry.kind === 'terminal';
        if (terminal) this.#openedMs.push(instantMs(row.recordedAt));
      }
      if (rows.length < READ_MAX) break;
    }
    this.#openedMs = this.#openedMs.filter((openedMs) => openedMs > nowMs() - HOUR_MS);
    return this.#openedMs.length;
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

  async #billing(enough: number): Promise<number> {
    const { log, lanes } = this.#options;
    let billing = 0;
    let after = '';
    for (;;) {
      const page = await log.allocations.list({ bills: true }, PAGE, after);
      billing += page.filter(({ placement }) => lanes.has(placement?.lane ?? '')).length;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE || billing >= enough) return billing;
      after = last.stream;
    }
  }
}
