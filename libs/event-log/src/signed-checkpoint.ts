import { z } from 'zod';
import type { LogHead } from '#domain/log';
import {
  isSignedBy,
  KeyId,
  type PublicKeys,
  Signature,
  type SigningKey,
  signatureOver,
} from './signing-keys.ts';

const Instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * Where the log stood, signed (design 5): kept outside the database it proves that no tail was cut and that
 * nothing up to `pos` was made anew, since each hash covers all before it.
 */
export const SignedCheckpoint = z.strictObject({
  format: z.literal('spillway-checkpoint-1'),
  log_id: z.string(),
  pos: z.int().positive(),
  /** Of the row at `pos`. */
  hash: Hash,
  /** Of the row at `pos`, by the store's clock. */
  recorded_at: Instant,
  /** By the clock of who signed. */
  signed_at: Instant,
  key_id: KeyId,
  /** Ed25519 over the canonical JSON (RFC 8785) of all other members, base64url. */
  signature: Signature,
});
export type SignedCheckpoint = z.output<typeof SignedCheckpoint>;

/** What is signed of the log. */
export interface CheckpointPlace extends LogHead {
  readonly logId: string;
  readonly recordedAt: string;
}

/** Signs a place of the log. The caller has verified that the log is sound up to it. */
export function signCheckpoint(place: CheckpointPlace, key: SigningKey, signedAt: string): SignedCheckpoint {
  const signed = {
    format: 'spillway-checkpoint-1' as const,
    log_id: place.logId,
    pos: place.pos,
    hash: place.hash,
    recorded_at: place.recordedAt,
    signed_at: signedAt,
    key_id: key.id,
  };
  return { ...signed, signature: signatureOver(signed, key) };
}

/** `forged`: its key is known and did not sign this. `unknown_key`: nobody here can tell. */
export type Genuineness = 'genuine' | 'forged' | 'unknown_key';

/** Whether a checkpoint was signed by one of the keys. */
export function genuinenessOf(
  { signature, ...signed }: { readonly key_id: string; readonly signature: string },
  keys: PublicKeys,
): Genuineness {
  const key = keys.get(signed.key_id);
  if (key === undefined) return 'unknown_key';
  return isSignedBy(key, signed, signature) ? 'genuine' : 'forged';
}
