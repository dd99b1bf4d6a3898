import type { LogHead } from '#domain/log';
import type { SignedCheckpoint } from '#events/signed-checkpoint';
import { isSignedBy, type PublicKeys, type SigningKey, signatureOver } from './signing-keys.ts';

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
