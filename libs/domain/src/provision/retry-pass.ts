import { instantMs } from '#events/instant';
import type { Fact } from '../fact.ts';
import { alertOnce } from '../intent/blocked.ts';
import { openIntentOf, type Placement, retriesToday, utcDay } from '../placement.ts';
import { retryDueAt } from '../placement-row.ts';

/** Whether the capacity-retry pass picks an allocation up at `now` (failover 7). */
export type RetryFinding =
  | { readonly kind: 'due' }
  | { readonly kind: 'not_yet' }
  /** The day's retries are used up: said once per day. */
  | { readonly kind: 'exhausted'; readonly facts: readonly Fact[] };

export function retryFinding(state: Placement, now: string): RetryFinding {
  const dueAt = retryDueAt(state);
  const limits = state.launch?.plan.limits;
  const busy = openIntentOf(state) !== null;
  if (dueAt === null || limits === undefined || busy || instantMs(now) < instantMs(dueAt)) {
    return { kind: 'not_yet' };
  }
  const day = utcDay(now);
  if (retriesToday(state, day) >= limits.capacityRetriesPerDay) {
    return { kind: 'exhausted', facts: alertOnce(state, 'capacity_retries_exhausted', day) };
  }
  return { kind: 'due' };
}

/** One retry is counted, whether or not it can start, and the ladder is entered anew (failover 7). */
export function retryFacts(state: Placement, now: string): readonly Fact[] {
  const day = utcDay(now);
  const rungs = state.launch?.plan.rungs.map(({ id }) => id) ?? [];
  const retry = retriesToday(state, day) + 1;
  return [{ type: 'WalkStarted', data: { walk: 'retry', rungs, retry, day } }];
}
