import type { LogHead } from '#domain/log';
import { type BrokenKind, type VerifySource, verifyLog } from '#event-log/verify';
import type { Progress } from './progress.ts';

/** Sound up to `head`, or the first bad position and what is wrong there. */
export type VerifyReport = (
  | { readonly ok: true; readonly head: LogHead }
  | { readonly ok: false; readonly pos: number; readonly kind: BrokenKind; readonly damage: string }
) & {
  /** Positions that were asked for: the head when it began. */
  readonly upTo: number;
  /** Where the log stands at the end: what was appended meanwhile was not verified. */
  readonly grownTo: number;
};

/** A sentence for each kind of damage, for a person. */
export const DAMAGE: Readonly<Record<BrokenKind, string>> = {
  gap: 'there is no row at this position: it was deleted, or its number was changed',
  hash: 'the content of the row is not what was hashed: it was changed after it was recorded',
  prev_hash: 'the row does not follow on the row before: one of the two was replaced',
  stream_version: 'the row is not the next one of its stream',
  decision_version: 'the row does not have the number of decisions that its stream has',
  time: 'the row claims to be recorded before the row before',
};

/**
 * Verifies the log up to the head that it has when this begins, and says so (pitfall 26). Changes nothing. A
 * tail that was cut off is not seen by it.
 */
export async function verify(log: VerifySource, onProgress: Progress = () => {}): Promise<VerifyReport> {
  const upTo = (await log.head()).pos;
  const verified = await verifyLog(log, { to: upTo, onProgress: (pos) => onProgress(pos, upTo) });
  const rest = { upTo, grownTo: (await log.head()).pos };
  return verified.ok ? { ...verified, ...rest } : { ...verified, damage: DAMAGE[verified.kind], ...rest };
}
