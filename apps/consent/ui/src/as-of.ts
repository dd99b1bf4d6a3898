import type { AllocationLine, BillView } from '#domain/audit/views';
import type { AsOf } from './route.ts';

/** The last line at that moment; null = the moment is before the first line that is at hand. */
export function lineAsOf(lines: readonly AllocationLine[], asOf: AsOf): AllocationLine | null {
  switch (asOf.kind) {
    case 'now':
      return lines.at(-1) ?? null;
    case 'pos':
      return lines.findLast((line) => line.pos <= asOf.pos) ?? null;
    case 'time':
      return lines.findLast((line) => Date.parse(line.at) <= asOf.ms) ?? null;
  }
}

/** The moment in milliseconds; a position is the time of its line. */
export function momentOf(asOf: AsOf, line: AllocationLine | null, nowMs: number): number {
  switch (asOf.kind) {
    case 'now':
      return nowMs;
    case 'pos':
      return line === null ? nowMs : Date.parse(line.at);
    case 'time':
      return asOf.ms;
  }
}

/** Cost until a moment, by the price and the time; null when no price is known. */
export function costUntil({ sinceAt, costPerHourUsd }: BillView, atMs: number): number | null {
  if (costPerHourUsd === null) return null;
  const hours = Math.max(0, atMs - Date.parse(sinceAt)) / 3_600_000;
  return hours * costPerHourUsd;
}
