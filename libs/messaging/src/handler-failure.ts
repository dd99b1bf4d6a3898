import { LogBusy, LogUnavailable } from '#domain/log';

/** A handler did not answer in time. What it does later has no effect: its command was never taken. */
export class HandlerDeadline extends Error {
  override readonly name = 'HandlerDeadline';
}

/** `checkpoint_not_in_log`: the log was restored from an older copy than the checkpoints, or is another one. */
export type HaltReason = 'unknown_type' | 'newer_version' | 'body' | 'checkpoint_not_in_log';

/**
 * A row that this version cannot read (made by a newer one): the consumer waits where it stands, since
 * passing over it would lose it for good (pitfall 27). Or a checkpoint of which the log knows nothing: everything up
 * to it would be passed over.
 */
export class Halted extends Error {
  override readonly name = 'Halted';

  constructor(
    readonly pos: number,
    readonly why: HaltReason,
  ) {
    super(`${why} at position ${pos}`);
  }
}

/** A fault of the world, not of the event: it is tried again without being counted against the event. */
export function isPassing(error: unknown): boolean {
  return error instanceof LogUnavailable || error instanceof LogBusy;
}

/** The stored checkpoint is not where this worker left it: begin again from what is stored. */
export class LostPlace extends Error {
  override readonly name = 'LostPlace';
}

/** Says nothing about the event that was being handled. */
export function isBlameless(error: unknown): boolean {
  return isPassing(error) || error instanceof Halted || error instanceof LostPlace;
}

/** The promise's value, or HandlerDeadline after `deadlineMs`. */
export async function withDeadline<Value>(promise: Promise<Value>, deadlineMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HandlerDeadline(`no answer within ${deadlineMs} ms`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
