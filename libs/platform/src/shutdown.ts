import type { Logger } from './logger.ts';

/** One thing to close. Closers run one after the other in the order in which they were given. */
export interface Closer {
  readonly name: string;
  close(): Promise<unknown> | unknown;
}

/** For all closers of an app together; what runs it waits longer (Compose: 20 s). */
export const CLOSE_DEADLINE_MS = 10_000;

/**
 * After this whoever still waits for Postgres or NATS gets no answer any more: neither says that it will not come
 * when it is frozen, and what is left to close needs the rest of the time. Requests have had ANSWERS_ON_CLOSE_MS.
 */
export const CUT_AFTER_MS = 6_000;

/** The part of `process` that shutting down needs. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

export interface ShutdownOptions {
  readonly closers: readonly Closer[];
  /** For all closers together. */
  readonly deadlineMs: number;
  readonly logger: Logger;
  readonly source?: SignalSource;
}

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;
type StopSignal = keyof typeof SIGNAL_NUMBERS;

/**
 * On SIGTERM or SIGINT closes everything in order and exits: 0 when all was closed in time, 1 when a closer
 * failed or the deadline passed. A second signal exits at once with 128 + its number. Returns a function that
 * stops listening.
 */
export function closeOnSignal(options: ShutdownOptions): () => void {
  const source = options.source ?? process;
  let closing = false;
  const onSignal = (signal: StopSignal) => {
    if (closing) {
      source.exit(128 + SIGNAL_NUMBERS[signal]);
      return;
    }
    closing = true;
    options.logger.info('shutdown_started', { signal });
    void closeAll(options).then((clean) => source.exit(clean ? 0 : 1));
  };
  const onTerm = () => onSignal('SIGTERM');
  const onInt = () => onSignal('SIGINT');
  source.on('SIGTERM', onTerm);
  source.on('SIGINT', onInt);
  return () => {
    source.off('SIGTERM', onTerm);
    source.off('SIGINT', onInt);
  };
}

/** Closers that do not need each other, at once: none of them waits out the bound of another. */
export function together(...closers: readonly Closer[]): Closer {
  return {
    name: closers.map(({ name }) => name).join('-'),
    close: async () => {
      const ended = await Promise.allSettled(closers.map(async (closer) => closer.close()));
      const failed = ended.find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
  };
}

/**
 * Asks this process to end when its standard input closes, as if by SIGTERM: a parent that was killed cannot stop
 * what it started, and an app without it would go on for ever. Returns the end of it: an input that is read keeps
 * a process from ending by itself.
 */
export function endWithStdin(): () => void {
  const end = () => process.kill(process.pid, 'SIGTERM');
  process.stdin.once('end', end).once('error', end).resume();
  return () => {
    process.stdin.off('end', end).off('error', end).destroy();
  };
}

/** Closes in order within the deadline; a closer that fails does not keep the next one from running. True = clean. */
async function closeAll(options: Omit<ShutdownOptions, 'source'>): Promise<boolean> {
  const { logger } = options;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => {
      logger.error('shutdown_deadline_passed');
      resolve(false);
    }, options.deadlineMs);
  });
  try {
    return await Promise.race([closeEach(options.closers, logger), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function closeEach(closers: readonly Closer[], logger: Logger): Promise<boolean> {
  let clean = true;
  for (const closer of closers) {
    try {
      await closer.close();
      logger.debug('closed', { closer: closer.name });
    } catch (error) {
      clean = false;
      logger.error('close_failed', { closer: closer.name }, error);
    }
  }
  return clean;
}
