import type { CloudInstance } from './instance.ts';
import type { LedgerDelete, LedgerInstance, LedgerLine, LedgerReport } from './ledger-report.ts';
import type { CloudLane } from './scripts.ts';

/** The books while the cloud runs. */
export class Ledger {
  readonly #creates: LedgerLine[] = [];
  readonly #deletes: LedgerDelete[] = [];
  readonly #starts: LedgerLine[] = [];
  readonly #calls = new Map<string, number>();

  countCall(lane: CloudLane, call: string): void {
    const key = `${lane} ${call}`;
    this.#calls.set(key, (this.#calls.get(key) ?? 0) + 1);
  }

  created(instance: CloudInstance, atMs: number): void {
    this.#creates.push(lineOf(instance, atMs));
  }

  deleted(instance: CloudInstance, atMs: number, by: LedgerDelete['by']): void {
    this.#deletes.push({ ...lineOf(instance, atMs), by });
  }

  started(instance: CloudInstance, atMs: number): void {
    this.#starts.push(lineOf(instance, atMs));
  }

  report(instances: Iterable<CloudInstance>, nowMs: number): LedgerReport {
    return {
      now: textOf(nowMs),
      instances: [...instances].map((instance) => billOf(instance, nowMs)),
      creates: [...this.#creates],
      deletes: [...this.#deletes],
      starts: [...this.#starts],
      calls: Object.fromEntries(this.#calls),
    };
  }
}

function lineOf(instance: CloudInstance, atMs: number): LedgerLine {
  return { at: textOf(atMs), lane: instance.lane, instance: instance.id, intent: instance.mark.intent };
}

function billOf(instance: CloudInstance, nowMs: number): LedgerInstance {
  const running = instance.billingSinceMs;
  const billedMs = instance.billedMs + (running === null ? 0 : Math.max(0, nowMs - running));
  const billedS = billedMs / 1_000;
  return {
    lane: instance.lane,
    id: instance.id,
    name: instance.name,
    mark: instance.mark,
    state: instance.state,
    zone: instance.zone,
    createdAt: textOf(instance.createdAtMs),
    goneAt: instance.goneAtMs === null ? null : textOf(instance.goneAtMs),
    billedS,
    costUsd: (billedS / 3_600) * instance.costPerHourUsd,
    billing: running !== null,
  };
}

const textOf = (ms: number) => new Date(ms).toISOString();
