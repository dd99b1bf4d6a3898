import { z } from 'zod';
import { jsonOrNull } from '#events/json-or-null';
import { KeyId, Signature, SignedCheckpoint } from '#events/signed-checkpoint';
import { genuinenessOf } from './signed-checkpoint.ts';
import {
  type PublicKeys,
  PublicPart,
  publicKeyOf,
  publicPart,
  type SigningKey,
  signatureOver,
} from './signing-keys.ts';

/** A new key, made known by the one before it: who trusts the old one needs no new file of public keys. */
const KeyAnnouncement = z.strictObject({
  format: z.literal('spillway-checkpoint-key-1'),
  announces: KeyId,
  x: PublicPart,
  announced_at: z.string(),
  /** The older key, which signed this. */
  key_id: KeyId,
  signature: Signature,
});
type KeyAnnouncement = z.output<typeof KeyAnnouncement>;

/** Why a line proves nothing. `contradiction`: two genuine checkpoints of one position differ. */
export type DoubtReason = 'malformed' | 'forged' | 'unknown_key' | 'other_log' | 'contradiction';

export interface Doubt {
  /** From 1. */
  readonly line: number;
  /** The position that the line claims; null where it claims none. */
  readonly pos: number | null;
  readonly why: DoubtReason;
}

/** A file of checkpoints, as far as the keys prove it. */
export interface CheckpointLines {
  /** Signed by a trusted key, in the order of the file. */
  readonly genuine: readonly SignedCheckpoint[];
  readonly doubts: readonly Doubt[];
}

/** One line of the file. */
export function lineOf(entry: SignedCheckpoint | KeyAnnouncement): string {
  return `${JSON.stringify(entry)}\n`;
}

/** The announcement of a key by an older one of the ring. */
export function announce(key: SigningKey, by: SigningKey, at: string): KeyAnnouncement {
  const signed = {
    format: 'spillway-checkpoint-key-1' as const,
    announces: key.id,
    x: publicPart(key.privateKey),
    announced_at: at,
    key_id: by.id,
  };
  return { ...signed, signature: signatureOver(signed, by) };
}

/**
 * Reads a file of checkpoints, one JSON object a line. Keys that a trusted key announces are trusted from that
 * line on. `logId` = the log that they must be of; null = any one, but all of the same.
 */
export function readCheckpointLines(
  text: string,
  trusted: PublicKeys,
  logId: string | null,
): CheckpointLines {
  const keys = new Map(trusted);
  const byPos = new Map<number, SignedCheckpoint>();
  const genuine: SignedCheckpoint[] = [];
  const doubts: Doubt[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const value = jsonOrNull(line);
    const announced = KeyAnnouncement.safeParse(value).data;
    const checkpoint = SignedCheckpoint.safeParse(value).data;
    const doubt = (why: DoubtReason) => doubts.push({ line: index + 1, pos: checkpoint?.pos ?? null, why });
    if (announced !== undefined) {
      const why = learn(keys, announced);
      if (why !== null) doubt(why);
      continue;
    }
    if (checkpoint === undefined) {
      doubt('malformed');
      continue;
    }
    const genuineness = genuinenessOf(checkpoint, keys);
    const known = byPos.get(checkpoint.pos);
    if (genuineness !== 'genuine') doubt(genuineness);
    else if (checkpoint.log_id !== (logId ?? genuine[0]?.log_id ?? checkpoint.log_id)) doubt('other_log');
    else if (known !== undefined && known.hash !== checkpoint.hash) doubt('contradiction');
    else {
      byPos.set(checkpoint.pos, checkpoint);
      genuine.push(checkpoint);
    }
  }
  return { genuine, doubts };
}

/** A key id that is trusted already never gets another key. */
function learn(
  keys: Map<string, ReturnType<typeof publicKeyOf>>,
  entry: KeyAnnouncement,
): DoubtReason | null {
  const genuineness = genuinenessOf(entry, keys);
  if (genuineness !== 'genuine') return genuineness;
  const known = keys.get(entry.announces);
  if (known !== undefined) return publicPart(known) === entry.x ? null : 'contradiction';
  try {
    keys.set(entry.announces, publicKeyOf(entry.x));
    return null;
  } catch {
    return 'malformed';
  }
}
