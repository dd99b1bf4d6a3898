import { existsSync, readFileSync } from 'node:fs';
import { type PublicKeys, publicKeysOf, signingKeys } from '#event-log/signing-keys';
import type { NamedKey } from '#platform/variables';

export interface OwnProof {
  readonly keys: PublicKeys;
  /** Whole lines of signed checkpoints. */
  readonly text: string;
}

/**
 * What an instance has signed of its own log, with the public half of its keys; null = nothing yet. It proves that
 * the database was not changed behind the instance's back, to whoever trusts the folder that both are in.
 */
export function ownProof(file: string | null, keys: readonly NamedKey[] | null): OwnProof | null {
  if (file === null || keys === null || !existsSync(file)) return null;
  const text = readFileSync(file, 'utf8');
  // A line may just be on its way into the file.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1);
  return lines === '' ? null : { keys: publicKeysOf(signingKeys(keys)), text: lines };
}
