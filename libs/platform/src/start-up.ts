import { ConfigError } from './load-config.ts';
import type { Logger } from './logger.ts';

/** How long an app waits for its log at the start, and how often it asks. */
export const LOG_WAIT = { deadlineMs: 60_000, retryEveryMs: 250 } as const;

export interface StartUpOptions {
  readonly logger: Logger;
  /** How long to try before giving up. */
  readonly deadlineMs: number;
  readonly retryEveryMs: number;
  /** True for an error that waiting will not mend: it is thrown at once. */
  readonly isFinal: (error: unknown) => boolean;
}

/** Tries until it works: at a start of everything, an app may be up before its database is. */
export async function untilReachable<Value>(
  open: () => Promise<Value>,
  options: StartUpOptions,
): Promise<Value> {
  const endMs = performance.now() + options.deadlineMs;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (options.isFinal(error) || performance.now() > endMs) throw error;
      options.logger.warn('waiting_for_log', {}, error);
      await new Promise((resolve) => setTimeout(resolve, options.retryEveryMs));
    }
  }
}

/**
 * Runs an app's start. What stops it is said in one sentence on standard error, without a stack, and the
 * process ends with code 1. `isOurs`: the error's message is our own and may be shown, as a ConfigError's is.
 */
export async function runApp(
  name: string,
  start: () => Promise<void>,
  isOurs: (error: unknown) => boolean,
): Promise<void> {
  try {
    await start();
  } catch (error) {
    process.stderr.write(`spillway ${name} cannot start: ${sentenceOf(error, isOurs)}\n`);
    process.exit(1);
  }
}

function sentenceOf(error: unknown, isOurs: (error: unknown) => boolean): string {
  if (error instanceof Error && (error instanceof ConfigError || isOurs(error))) return error.message;
  return error instanceof Error ? `${error.constructor.name} (see the log lines above)` : 'unknown error';
}
