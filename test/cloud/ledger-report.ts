import { z } from 'zod';
import { CLOUD_LANES } from './scripts.ts';

const Mark = z.object({
  deployment: z.string().nullable(),
  allocation: z.string().nullable(),
  intent: z.string().nullable(),
});

/** What one instance has cost, and whose it is. */
const LedgerInstance = z.object({
  lane: z.enum(CLOUD_LANES),
  id: z.string(),
  name: z.string(),
  mark: Mark,
  state: z.enum(['queued', 'provisioning', 'running', 'stopped', 'error', 'gone']),
  zone: z.string().nullable(),
  createdAt: z.string(),
  goneAt: z.string().nullable(),
  /** Seconds that it was billed for until now or its end. */
  billedS: z.number(),
  costUsd: z.number(),
  billing: z.boolean(),
});
export type LedgerInstance = z.output<typeof LedgerInstance>;

const LedgerLine = z.object({
  at: z.string(),
  lane: z.enum(CLOUD_LANES),
  instance: z.string(),
  intent: z.string().nullable(),
});
export type LedgerLine = z.output<typeof LedgerLine>;

const LedgerDelete = LedgerLine.extend({
  /** `api` = by a call, `person` = by somebody else, `provider` = by the provider itself. */
  by: z.enum(['api', 'person', 'provider']),
});
export type LedgerDelete = z.output<typeof LedgerDelete>;

/** Everything that was ever made, ended and started: the only judge of "bought twice" and "ran twice". */
export const LedgerReport = z.object({
  now: z.string(),
  instances: z.array(LedgerInstance),
  creates: z.array(LedgerLine),
  deletes: z.array(LedgerDelete),
  /** Workloads that really began. A repeat that began nothing is no start. */
  starts: z.array(LedgerLine),
  /** How many calls arrived, answered or not, by "lane call". */
  calls: z.record(z.string(), z.number()),
});
export type LedgerReport = z.output<typeof LedgerReport>;

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
