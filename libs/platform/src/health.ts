/** Ready means caught up and reading, not "connected" (design 6): how far each app may be from it. */
export const MAX_LAG_MS = 5_000;
export const MAX_SINCE_LOG_READ_MS = 2_000;
/** A check that does not answer in this time has failed. */
const CHECK_DEADLINE_MS = 1_000;

export interface Check {
  /** One of our own names, such as `log` or `lag`; shown to operators. */
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
