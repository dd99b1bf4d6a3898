import type { CloudInstance, CloudMark, CloudState } from './instance.ts';
import type { CloudLane } from './scripts.ts';

/** What one instance has cost, and whose it is. */
export interface LedgerInstance {
  readonly lane: CloudLane;
  readonly id: string;
  readonly name: string;
  readonly mark: CloudMark;
  readonly state: CloudState;
  readonly zone: string | null;
  readonly createdAt: string;
  readonly goneAt: string | null;
  /** Seconds that it was billed for until now or its end. */
  readonly billedS: number;
  readonly costUsd: number;
  readonly billing: boolean;
}

export interface LedgerLine {
  readonly at: string;
  readonly lane: CloudLane;
  readonly instance: string;
  readonly intent: string | null;
}

export interface LedgerDelete extends LedgerLine {
  /** `api` = by a call, `person` = by somebody else, `provider` = by the provider itself. */
  readonly by: 'api' | 'person' | 'provider';
}

/** Everything that was ever made, ended and started: the only judge of "bought twice" and "ran twice". */
export interface LedgerReport {
  readonly now: string;
  readonly instances: readonly LedgerInstance[];
  readonly creates: readonly LedgerLine[];
  readonly deletes: readonly LedgerDelete[];
  /** Workloads that really began. A repeat that began nothing is no start. */
  readonly starts: readonly LedgerLine[];
  /** How many calls arrived, answered or not, by "lane call". */
  readonly calls: Readonly<Record<string, number>>;
}

/** What is billed by the intent of the marker: ids of instances, and seconds. What carries no marker is left out. */
export function billedByMarker(
  report: LedgerReport,
): ReadonlyMap<string, { readonly instances: readonly string[]; readonly billedS: number }> {
  const billed = new Map<string, { readonly instances: readonly string[]; readonly billedS: number }>();
  for (const { id, mark, billedS } of report.instances) {
    if (mark.intent === null) continue;
    const before = billed.get(mark.intent);
    billed.set(mark.intent, {
      instances: [...(before?.instances ?? []), id],
      billedS: (before?.billedS ?? 0) + billedS,
    });
  }
  return billed;
}

/** Instances that carry a marker (of this deployment, if one is named) and have not ended. */
export function liveOwn(report: LedgerReport, deployment: string | null = null): readonly LedgerInstance[] {
  return report.instances.filter(
    ({ mark, goneAt }) =>
      goneAt === null && mark.intent !== null && (deployment === null || mark.deployment === deployment),
  );
}

/** How often a workload began, by intent. */
export function workloadStarts(report: LedgerReport): ReadonlyMap<string, number> {
  const starts = new Map<string, number>();
  for (const { intent } of report.starts) {
    if (intent !== null) starts.set(intent, (starts.get(intent) ?? 0) + 1);
  }
  return starts;
}

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
