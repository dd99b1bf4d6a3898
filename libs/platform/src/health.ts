import type { Clock } from './clock.ts';

/** Design 6: ready means caught up and reading, not "connected". */
export const MAX_LAG_MS = 5_000;
export const MAX_SINCE_LOG_READ_MS = 2_000;
/** A check that does not answer in this time has failed. */
export const CHECK_DEADLINE_MS = 1_000;

export interface Check {
  /** One of our own names, such as `log` or `consumer-classifier`; shown to operators. */
  readonly name: string;
  /** True when all is well. A rejection counts as false. */
  passes(): boolean | Promise<boolean>;
}

export interface Readiness {
  readonly ready: boolean;
  /** Names of the checks that did not pass. */
  readonly failing: readonly string[];
}

/** Runs all checks at once, each with a deadline. Never rejects. */
export async function readinessOf(
  checks: readonly Check[],
  deadlineMs = CHECK_DEADLINE_MS,
): Promise<Readiness> {
  const passed = await Promise.all(checks.map((check) => passesInTime(check, deadlineMs)));
  const failing = checks.filter((_, index) => passed[index] !== true).map((check) => check.name);
  return { ready: failing.length === 0, failing };
}

/** How far a consumer is; what it reports about itself. */
export interface ConsumerProgress {
  /** Age of the oldest event that it has not handled, in milliseconds; 0 when there is none. */
  lagMs(): number;
  /** When it last read the log with success, on Clock.monotonicMs; null = never. */
  lastLogReadMs(): number | null;
}

/** Passes while the lag is at most 5 s and the log was read in the last 2 s (design 6). */
export function consumerCheck(name: string, progress: ConsumerProgress, clock: Clock): Check {
  return {
    name,
    passes: () => {
      const lastReadMs = progress.lastLogReadMs();
      if (lastReadMs === null || clock.monotonicMs() - lastReadMs > MAX_SINCE_LOG_READ_MS) return false;
      return progress.lagMs() <= MAX_LAG_MS;
    },
  };
}

async function passesInTime(check: Check, deadlineMs: number): Promise<boolean> {
  const { promise: late, resolve } = withResolve();
  const timer = setTimeout(() => resolve(false), deadlineMs);
  try {
    return await Promise.race([Promise.resolve().then(() => check.passes()), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function withResolve(): { promise: Promise<boolean>; resolve: (passed: boolean) => void } {
  let resolve: (passed: boolean) => void = () => undefined;
  const promise = new Promise<boolean>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
