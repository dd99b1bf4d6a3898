import { announce, type CheckpointLines, lineOf, readCheckpointLines } from '#event-log/checkpoint-lines';
import { signCheckpoint } from '#event-log/signed-checkpoint';
import { publicKeysOf, type SigningKey } from '#event-log/signing-keys';
import { type Broken, type VerifySource, verifyLog } from '#event-log/verify';
import type { SignedCheckpoint } from '#events/signed-checkpoint';
import { type Damaged, damaged, doubtful, tamperedLog } from '../../apps/audit/src/verify.ts';

export interface SignCall {
  /** Newest first; the first one signs. */
  readonly ring: readonly SigningKey[];
  /** Text of the checkpoints so far. */
  readonly sofar: string;
  readonly at: string;
  readonly onProgress?: (done: number, of: number) => void;
}

export type SignedHead =
  | {
      readonly kind: 'signed';
      readonly checkpoint: SignedCheckpoint;
      /** To append: the checkpoint, behind the announcement of a new key. */
      readonly lines: string;
    }
  /** Nothing was appended since the last checkpoint, which is this one; null = the log is empty. */
  | { readonly kind: 'nothing_new'; readonly checkpoint: SignedCheckpoint | null }
  /** The log does not follow on what was signed before: it must not be signed. */
  | { readonly kind: 'damaged'; readonly damage: Damaged };

/**
 * Signs where the log stands, after verifying it from the last checkpoint on: a signature under a log that
 * contradicts an earlier one would bless what was changed. The first time all of the log is verified.
 */
export async function signHead(log: VerifySource, call: SignCall): Promise<SignedHead> {
  const { ring, at } = call;
  const [key] = ring;
  if (key === undefined) throw new RangeError('the ring has no key');
  const logId = await log.logId();
  const known = readCheckpointLines(call.sofar, publicKeysOf(ring), logId);
  const doubt = doubtful(known.doubts.filter(({ why }) => why !== 'unknown_key'));
  if (doubt !== null) return { kind: 'damaged', damage: doubt };

  const last = newestOf(known);
  const head = await log.head();
  const broken = await brokenSince(log, last, head.pos, call.onProgress ?? (() => {}));
  if (broken !== null) return { kind: 'damaged', damage: await damaged(tamperedLog(log), broken) };
  if (head.pos === 0) return { kind: 'nothing_new', checkpoint: null };
  if (last?.pos === head.pos && last.key_id === key.id) return { kind: 'nothing_new', checkpoint: last };

  const row = await log.at(head.pos);
  if (row === null) throw new Error('the row at the head of the log is missing');
  const place = { logId, pos: head.pos, hash: head.hash, recordedAt: row.recordedAt };
  const checkpoint = signCheckpoint(place, key, at);
  const older = ring.find(({ id }) => id === last?.key_id);
  const isNew = older !== undefined && older.id !== key.id && isUnknown(known, key);
  const announcement = isNew ? lineOf(announce(key, older, at)) : '';
  return { kind: 'signed', checkpoint, lines: announcement + lineOf(checkpoint) };
}

function newestOf({ genuine }: CheckpointLines): SignedCheckpoint | null {
  return genuine.reduce<SignedCheckpoint | null>(
    (newest, each) => (newest === null || each.pos >= newest.pos ? each : newest),
    null,
  );
}

function isUnknown({ genuine }: CheckpointLines, key: SigningKey): boolean {
  return genuine.every(({ key_id }) => key_id !== key.id);
}

async function brokenSince(
  log: VerifySource,
  last: SignedCheckpoint | null,
  to: number,
  onProgress: (done: number, of: number) => void,
): Promise<Broken | null> {
  if (last !== null && to < last.pos) return { ok: false, pos: to + 1, kind: 'tail' };
  const from = last?.pos ?? 1;
  const verified = await verifyLog(log, {
    from,
    to,
    onProgress: (pos) => onProgress(pos - from + 1, to - from + 1),
    checkpoints: new Map(last === null ? [] : [[last.pos, last.hash]]),
  });
  return verified.ok ? null : verified;
}
