import { plusSeconds } from '#events/instant';

/** A pause without `Retry-After`: 30 s, doubling to 15 min (failover 9.2). */
const FIRST_PAUSE_S = 30;
/** After three creates with unknown outcome: 60 s, doubling to 15 min (failover 14). */
const FIRST_UNKNOWN_PAUSE_S = 60;
const LONGEST_PAUSE_S = 900;

/** So many creates with unknown outcome are sent before somebody is told (failover 9.3, 14). */
export const UNKNOWN_CREATES_MAX = 3;

/** A provider that names a longer pause is asked again all the same: nobody is told of one, and it may be a slip. */
const LONGEST_RETRY_AFTER_S = 3_600;

/** When the same request may be sent again; `tries` counts those that were refused, from 1. */
export function pauseEnd(from: string, tries: number, retryAfterS: number | null): string {
  const pauseS = retryAfterS ?? doubled(FIRST_PAUSE_S, tries - 1);
  return plusSeconds(from, Math.min(pauseS, LONGEST_RETRY_AFTER_S));
}

/** When a create may follow `unknown` creates whose outcome nobody knows. */
export function unknownPauseEnd(from: string, unknown: number): string {
  return plusSeconds(from, doubled(FIRST_UNKNOWN_PAUSE_S, unknown - UNKNOWN_CREATES_MAX));
}

function doubled(first: number, times: number): number {
  return Math.min(LONGEST_PAUSE_S, first * 2 ** Math.min(Math.max(0, times), 10));
}
