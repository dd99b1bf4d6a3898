import { z } from 'zod';
import { Digest, Instant } from './define-event.ts';

/** Id of a key that signs: public, and written beside what was signed with it. */
export const KeyId = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/);

/** An Ed25519 signature in base64url. */
export const Signature = z.string().regex(/^[A-Za-z0-9_-]{86}$/);

/**
 * Where the log stood, signed (design 5): kept outside the database it proves that no tail was cut and that
 * nothing up to `pos` was made anew, since each hash covers all before it.
 */
export const SignedCheckpoint = z.strictObject({
  format: z.literal('spillway-checkpoint-1'),
  log_id: z.string(),
  pos: z.int().positive(),
  /** Of the row at `pos`. */
  hash: Digest,
  /** Of the row at `pos`, by the store's clock. */
  recorded_at: Instant,
  /** By the clock of who signed. */
  signed_at: Instant,
  key_id: KeyId,
  /** Ed25519 over the canonical JSON (RFC 8785) of all other members, base64url. */
  signature: Signature,
});
export type SignedCheckpoint = z.output<typeof SignedCheckpoint>;
