import { z } from 'zod';
import { genuinenessOf } from '#event-log/signed-checkpoint';
import { type PublicKeys, type SigningKey, signatureOver } from '#event-log/signing-keys';
import { KeyId, Signature } from '#events/signed-checkpoint';

/** Forms of a row in an export: ours, or CloudEvents 1.0. Both are lossless. */
export const ROW_FORMATS = ['jsonl', 'cloudevents'] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

/** Of a CloudEvent: who reads types of several services tells ours by it. */
export const TYPE_PREFIX = 'spillway.';

export const MANIFEST_FILE = 'manifest.json';
/** Checkpoints of the exported range, where some were given. */
export const CHECKPOINTS_FILE = 'checkpoints.jsonl';
export const STREAM_KEYS_FILE = 'stream-keys.jsonl';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Place = z.strictObject({ pos: z.int().nonnegative(), hash: Hash });
// A name that could stand for another folder is refused: an export comes from elsewhere.
const FileName = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,63}$/);

const ExportFile = z.strictObject({
  name: FileName,
  /** First and last position in it. */
  from: z.int().positive(),
  to: z.int().positive(),
  count: z.int().positive(),
  bytes: z.int().positive(),
  sha256: Hash,
});
export type ExportFile = z.output<typeof ExportFile>;

const SideFile = z.strictObject({ name: FileName, count: z.int().nonnegative(), sha256: Hash });

/**
 * What an export holds (design 5). With a signature it says that who holds the key read exactly these rows out of
 * the log, which stood at `head` then.
 */
export const Manifest = z.strictObject({
  format: z.literal('spillway-export-1'),
  log_id: z.string(),
  rows: z.enum(ROW_FORMATS),
  /** Null = all rows of the range; else the rows of one allocation, whose chain is not in the export. */
  allocation: z.string().nullable(),
  from: z.int().positive(),
  to: z.int().nonnegative(),
  count: z.int().nonnegative(),
  /** Hash that the first row follows on. */
  prev_hash: Hash,
  /** Of the first and the last row; null in an empty export. */
  first_hash: Hash.nullable(),
  last_hash: Hash.nullable(),
  head: Place,
  exported_at: z.string(),
  files: z.array(ExportFile),
  /** Ids of the ring keys under which the allocations were begun; names and texts are not in an export. */
  stream_keys: SideFile.nullable(),
  checkpoints: SideFile.nullable(),
  key_id: KeyId.nullable(),
  signature: Signature.nullable(),
});
export type Manifest = z.output<typeof Manifest>;
export type UnsignedManifest = Omit<Manifest, 'key_id' | 'signature'>;

/** The manifest with the key's signature over all its other members; `null` = nobody signs. */
export function signedManifest(unsigned: UnsignedManifest, key: SigningKey | null): Manifest {
  if (key === null) return { ...unsigned, key_id: null, signature: null };
  const signed = { ...unsigned, key_id: key.id };
  return { ...signed, signature: signatureOver(signed, key) };
}

/** Whether it is signed, and by a key that is trusted; `not_checked` = no keys were given. */
export type ManifestProof = 'genuine' | 'forged' | 'unknown_key' | 'unsigned' | 'not_checked';

/** What the signature of a manifest proves to who trusts these keys. */
export function manifestProof(manifest: Manifest, keys: PublicKeys | null): ManifestProof {
  const { signature, key_id, ...rest } = manifest;
  if (signature === null || key_id === null) return 'unsigned';
  return keys === null ? 'not_checked' : genuinenessOf({ ...rest, key_id, signature }, keys);
}
