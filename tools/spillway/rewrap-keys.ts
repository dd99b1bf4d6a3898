import type { SealedStore, StreamKey } from '#domain/log-tables';
import type { Sealer } from '#platform/sealer';

export interface Rewrapped {
  /** Keys that the newest wrapping key wraps from now on. */
  readonly rewrapped: number;
  /** Destroyed or wrapped anew by somebody else meanwhile. */
  readonly gone: number;
  /** Keys that none of the given keys opens, by the wrapping key that they name. */
  readonly unopened: Readonly<Record<string, number>>;
}

export interface RewrapOptions {
  readonly store: Pick<SealedStore, 'wrappedOtherwise' | 'countWrappedOtherwise' | 'rewrap'>;
  readonly sealer: Pick<Sealer, 'rewrapped'>;
  /** Id of the wrapping key that is to wrap every key. */
  readonly newest: string;
  readonly pageSize?: number;
  readonly onProgress?: (done: number, of: number) => void;
}

const PAGE_SIZE = 500;

/**
 * Wraps every record key with the newest wrapping key: seals nothing anew (fallback 5). Each key is replaced by
 * itself and only while it is wrapped as it was read, so that it may be stopped anywhere, run again, and run
 * beside itself or an erasure.
 */
export async function rewrapKeys(options: RewrapOptions): Promise<Rewrapped> {
  const { store, newest, pageSize = PAGE_SIZE, onProgress = () => {} } = options;
  const of = await store.countWrappedOtherwise(newest);
  let [done, rewrapped, gone] = [0, 0, 0];
  const unopened: Record<string, number> = {};
  for (let after = ''; ; ) {
    const page = await store.wrappedOtherwise(newest, pageSize, after);
    for (const one of page) {
      const outcome = await rewrapOne(options, one);
      if (outcome === 'rewrapped') rewrapped += 1;
      if (outcome === 'gone') gone += 1;
      if (outcome === 'unopened') unopened[one.key.wrappedBy] = (unopened[one.key.wrappedBy] ?? 0) + 1;
      after = one.key.keyId;
      done += 1;
      onProgress(Math.min(done, of), of);
    }
    if (page.length < pageSize) return { rewrapped, gone, unopened };
  }
}

async function rewrapOne(
  { store, sealer }: RewrapOptions,
  { stream, key }: StreamKey,
): Promise<'rewrapped' | 'gone' | 'unopened'> {
  const wrapping = sealer.rewrapped(stream, key);
  if (wrapping === null) return 'unopened';
  return (await store.rewrap(key.keyId, key.wrappedBy, wrapping)) ? 'rewrapped' : 'gone';
}
