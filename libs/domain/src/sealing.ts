import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const TAG_BYTES = 16;
/** GCM's own nonce length; a nonce is drawn at random for every text and never used twice with one key. */
export const NONCE_BYTES = 12;
export const KEY_BYTES = 32;

/**
 * AES-256-GCM. `context` (stream, digest, kind) is authenticated with the text, so that a sealed row moved
 * to another address does not open (fallback 7). The tag stands at the end.
 */
export function sealBytes(
  key: Uint8Array,
  nonce: Uint8Array,
  context: string,
  plain: Uint8Array,
): Uint8Array {
  const cipher = createCipheriv(CIPHER, key, nonce);
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** The text again; null when key, context or bytes are not those that were sealed. */
export function openBytes(
  key: Uint8Array,
  nonce: Uint8Array,
  context: string,
  sealed: Uint8Array,
): Uint8Array | null {
  if (sealed.length < TAG_BYTES) return null;
  const decipher = createDecipheriv(CIPHER, key, nonce);
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    return null;
  }
}

/** What is authenticated with a sealed text: where it belongs. */
export function sealContext(stream: string, kind: string, digest: string): string {
  return `${stream}\n${kind}\n${digest}`;
}

/** What is authenticated with a wrapped record key. */
export function wrapContext(stream: string, keyId: string): string {
  return `${stream}\nrecord-key\n${keyId}`;
}

/** A record key again; null when it was not wrapped by this material, or not for this place. */
export function unwrapKey(
  material: Uint8Array,
  stream: string,
  {
    keyId,
    nonce,
    wrapped,
  }: { readonly keyId: string; readonly nonce: Uint8Array; readonly wrapped: Uint8Array },
): Uint8Array | null {
  return openBytes(wrappingKey(material), nonce, wrapContext(stream, keyId), wrapped);
}

/** The AES key that wraps record keys, derived from configured material of at least 32 bytes. */
export function wrappingKey(material: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', material, new Uint8Array(0), 'spillway/v1/wrap', KEY_BYTES));
}
