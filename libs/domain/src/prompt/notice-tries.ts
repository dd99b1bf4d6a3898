/** How a notice that was not taken is tried again. All of a deployment, not of a receiver. */
export interface TryRules {
  /** Pause after the first failed try; it doubles from then on. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

/** A receiver that names a longer pause is asked again all the same: it may be a slip. */
export const RETRY_AFTER_MAX_MS = 3_600_000;

/** Tries beyond this double nothing: the pause has long been at its longest. */
const DOUBLINGS_MAX = 30;

/**
 * Pause after the `tries`-th failed try (from 1), in milliseconds: doubling from the first to the longest, of which
 * a half is left to chance, so that receivers that come back are not met by everything at once. `chance` is in
 * [0, 1). A pause that the receiver asked for is kept to, up to an hour.
 */
export function pauseMs(
  tries: number,
  chance: number,
  retryAfterS: number | null,
  { firstPauseMs, longestPauseMs }: TryRules,
): number {
  const doublings = Math.min(DOUBLINGS_MAX, Math.max(0, tries - 1));
  const fullMs = Math.min(longestPauseMs, firstPauseMs * 2 ** doublings);
  const ownMs = fullMs / 2 + (fullMs / 2) * chance;
  return Math.round(Math.max(ownMs, askedForMs(retryAfterS)));
}

/** For how long the receiver asked to be left alone, bounded; 0 when it did not. */
export function askedForMs(retryAfterS: number | null): number {
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(0, (retryAfterS ?? 0) * 1_000));
}
