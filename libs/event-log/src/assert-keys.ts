import type { RingKeyMaterial } from '#domain/key-ring';
import type { SealedStore } from '#domain/log-tables';
import { unwrapKey } from '#domain/sealing';
import { LogUnusable } from './assert-usable.ts';

/** What a process was given. */
export interface GivenKeys {
  readonly ring: readonly Pick<RingKeyMaterial, 'id'>[];
  /** Keys that wrap record keys. */
  readonly wrapping: readonly RingKeyMaterial[];
}

/** One row that was damaged must not stop every app. */
const TRIED_KEYS = 8;

type KeyStore = Pick<SealedStore, 'keyIdsInUse' | 'keysWrappedBy'>;

/**
 * Start-up check (fallback 5): without a key that the log names, an allocation would be begun anew under its
 * old name, its count and declines forgotten, and what was sealed would be taken for erased. Rejects with
 * LogUnusable that names every missing key, and every wrapping key that is another one under the same id.
 */
export async function assertKeys(store: KeyStore, given: GivenKeys): Promise<void> {
  const used = await store.keyIdsInUse();
  const lackedRing = lacking(used.ring, given.ring).map((id) => missing('SPILLWAY_KEY_RING', id));
  refuse([...lackedRing, ...(await wrappingProblems(store, used.wrapping, given.wrapping))]);
}

/** The same of the wrapping keys alone, for whoever only reads texts. */
export async function assertWrapKeys(store: KeyStore, given: GivenKeys['wrapping']): Promise<void> {
  const used = await store.keyIdsInUse();
  refuse(await wrappingProblems(store, used.wrapping, given));
}

async function wrappingProblems(
  store: KeyStore,
  used: readonly string[],
  given: GivenKeys['wrapping'],
): Promise<readonly string[]> {
  const problems = lacking(used, given).map((id) => missing('SPILLWAY_WRAP_KEYS', id));
  for (const { id, bytes } of given.filter((key) => used.includes(key.id))) {
    const tried = await store.keysWrappedBy(id, TRIED_KEYS);
    const isOther =
      tried.length > 0 && tried.every(({ stream, key }) => unwrapKey(bytes, stream, key) === null);
    if (isOther) problems.push(another(id));
  }
  return problems;
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new LogUnusable(problems.join('\n'));
}

function lacking(used: readonly string[], given: readonly { readonly id: string }[]): readonly string[] {
  return used.filter((id) => !given.some((key) => key.id === id));
}

function missing(variable: string, id: string): string {
  return `${variable} lacks the key "${id}", which the log names. Add it again behind the newest one.`;
}

function another(id: string): string {
  return `The key "${id}" of SPILLWAY_WRAP_KEYS does not open what the log says was wrapped by it: it is another key under the same id. Give back the one that the log was written with, and the key ring of that time.`;
}
