import type { SealedStore } from '#domain/log-tables';
import { LogUnusable } from './assert-usable.ts';

export interface KeyIds {
  /** Ids of the key ring. */
  readonly ring: readonly string[];
  /** Ids of the keys that wrap record keys. */
  readonly wrapping: readonly string[];
}

/**
 * Start-up check (fallback 5): without a key that the log names, an allocation would be begun anew under its
 * old name, its count and declines forgotten. Rejects with LogUnusable that names every missing key.
 */
export async function assertKeys(store: Pick<SealedStore, 'keyIdsInUse'>, have: KeyIds): Promise<void> {
  const used = await store.keyIdsInUse();
  const problems = [
    ...lacking(used.ring, have.ring).map((id) => missing('SPILLWAY_KEY_RING', id)),
    ...lacking(used.wrapping, have.wrapping).map((id) => missing('SPILLWAY_WRAP_KEYS', id)),
  ];
  if (problems.length > 0) throw new LogUnusable(problems.join('\n'));
}

function lacking(used: readonly string[], have: readonly string[]): readonly string[] {
  return used.filter((id) => !have.includes(id));
}

function missing(variable: string, id: string): string {
  return `${variable} lacks the key "${id}", which the log names. Add it again behind the newest one.`;
}
