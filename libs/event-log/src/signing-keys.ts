import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '#events/canonical-json';
import { jsonOrNull } from '#events/json-or-null';
import { KeyId } from '#events/signed-checkpoint';

/** Bytes of an Ed25519 seed: the whole private key. */
const SEED_BYTES = 32;

/** A key that signs what leaves the database (design 5). The id is public. */
export interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
}

/** Keys that a verifier trusts, by id. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** The file of public keys cannot be used. The message says why and quotes nothing of it. */
export class PublicKeysUnreadable extends Error {
  override readonly name = 'PublicKeysUnreadable';
}

/** The ring's keys, newest first. Throws RangeError for a seed that is not 32 bytes long. */
export function signingKeys(
  ring: readonly { readonly id: string; readonly bytes: Uint8Array }[],
): readonly SigningKey[] {
  return ring.map(({ id, bytes }) => {
    if (bytes.length !== SEED_BYTES) throw new RangeError(`a signing key is ${SEED_BYTES} bytes long`);
    const key = Buffer.concat([PKCS8_BEFORE_SEED, bytes]);
    return { id, privateKey: createPrivateKey({ key, format: 'der', type: 'pkcs8' }) };
  });
}

/** The public half of a ring, for verifiers in the same process. */
export function publicKeysOf(ring: readonly SigningKey[]): PublicKeys {
  return new Map(ring.map(({ id, privateKey }) => [id, createPublicKey(privateKey)]));
}

/** The public half of a ring as a JSON Web Key Set (RFC 7517, RFC 8037): what verifiers are given. */
export function publicKeyFile(ring: readonly SigningKey[]): string {
  const keys = ring.map(({ id, privateKey }) => ({
    kty: 'OKP',
    crv: 'Ed25519',
    kid: id,
    x: publicPart(privateKey),
    use: 'sig',
  }));
  return `${JSON.stringify({ keys }, null, 2)}\n`;
}

/** Reads a JSON Web Key Set of Ed25519 keys. Throws PublicKeysUnreadable. */
export function readPublicKeys(text: string): PublicKeys {
  const parsed = KeySet.safeParse(jsonOrNull(text));
  if (!parsed.success) {
    throw new PublicKeysUnreadable('it is no JSON Web Key Set of Ed25519 keys, each with a kid');
  }
  const keys = new Map(parsed.data.keys.map(({ kid, x }) => [kid, publicKeyOf(x)]));
  if (keys.size < parsed.data.keys.length) throw new PublicKeysUnreadable('it names a key id twice');
  return keys;
}

/** The public key of its 32 bytes in base64url. Throws PublicKeysUnreadable where they are no key. */
export function publicKeyOf(x: string): KeyObject {
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch (cause) {
    throw new PublicKeysUnreadable('a key in it is no Ed25519 key', { cause });
  }
}

/** The 32 public bytes of a key, public or private, in base64url. */
export function publicPart(key: KeyObject): string {
  return key.export({ format: 'jwk' }).x ?? '';
}

/** Signature in base64url over the canonical JSON of what is signed. */
export function signatureOver(signed: object, key: SigningKey): string {
  return sign(null, Buffer.from(canonicalJson(signed)), key.privateKey).toString('base64url');
}

/** Whether a signature is that of a key over the canonical JSON of what is signed. */
export function isSignedBy(key: KeyObject, signed: object, signature: string): boolean {
  return verify(null, Buffer.from(canonicalJson(signed)), key, Buffer.from(signature, 'base64url'));
}

/** 32 bytes in base64url. */
export const PublicPart = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

// A key set may say more of its keys than is read here.
const KeySet = z.object({
  keys: z
    .array(z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), kid: KeyId, x: PublicPart }))
    .min(1),
});

/** What stands before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410). */
const PKCS8_BEFORE_SEED = Buffer.from('302e020100300506032b657004220420', 'hex');
