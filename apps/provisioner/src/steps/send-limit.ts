import type { AllocationRun } from '../run.ts';

/** A call is sent at most so long after it was announced (failover 9.1, 11). */
export const SEND_LIMIT_S = 30;

/**
 * Whether a worker stood still between what it announced and the call: whoever looks next counts on nothing arriving
 * after the limit, and others may have gone on with the machine. `announcedMs` is monotonic, from before the announcement.
 */
export function isTooLate(run: AllocationRun, announcedMs: number): boolean {
  return run.parts.clock.monotonicMs() - announcedMs >= SEND_LIMIT_S * 1000;
}
