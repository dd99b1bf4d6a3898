import { LRUCache } from 'lru-cache';
import { allocationRef } from '#domain/attempt/assess';
import type { KeyRing, RingKey } from '#domain/key-ring';
import type { LogReader } from '#domain/log';
import type { SealedStore } from '#domain/log-tables';
import { allocationStream, refOfStream } from '#events/streams';

/** Where an allocation's story stands, and the ring key under which everything about it is made. */
export interface FoundStream {
  readonly key: RingKey;
  readonly ref: string;
  readonly stream: string;
}

type StreamLog = Pick<LogReader, 'decisionVersion'> & { readonly sealed: Pick<SealedStore, 'ringKeyOf'> };

const CACHED_MAX = 20_000;

/**
 * Finds an allocation's stream by name: a stream keeps the key it was begun under, so every key of the ring is
 * tried, newest first; a new allocation takes the newest (fallback 5).
 */
export class StreamFinder {
  readonly #ring: KeyRing;
  readonly #log: StreamLog;
  /** By the ref under the newest key, and by stream. */
  readonly #found = new LRUCache<string, FoundStream>({ max: CACHED_MAX });

  constructor(ring: KeyRing, log: StreamLog) {
    this.#ring = ring;
    this.#log = log;
  }

  /** Where the allocation's events go, whether or not it was ever reported. */
  async find(trimmedName: string): Promise<FoundStream> {
    const newest = place(trimmedName, this.#ring.newest);
    if (this.#ring.newestFirst.length === 1) {
      // The name of a stream is made with its key: whoever asks by it needs no look into the log.
      this.#found.set(newest.stream, newest);
      return newest;
    }
    const cached = this.#found.get(newest.ref);
    if (cached !== undefined) return cached;

    for (const key of this.#ring.newestFirst) {
      const candidate = key === this.#ring.newest ? newest : place(trimmedName, key);
      if ((await this.#log.decisionVersion(candidate.stream)) !== null) {
        this.#found.set(newest.ref, candidate);
        return candidate;
      }
    }
    return newest;
  }

  /** The ring key of a stream that exists. Throws for a stream that is no allocation's. */
  async ofStream(stream: string): Promise<FoundStream> {
    const cached = this.#found.get(stream);
    if (cached !== undefined) return cached;
    const ref = refOfStream(stream);
    const keyId = await this.#log.sealed.ringKeyOf(stream);
    if (ref === null || keyId === null) throw new Error('the stream is no allocation that was reported');
    const found = { key: this.#ring.byId(keyId), ref, stream };
    this.#found.set(stream, found);
    return found;
  }
}

function place(trimmedName: string, key: RingKey): FoundStream {
  const ref = allocationRef(trimmedName, key);
  return { key, ref, stream: allocationStream(ref) };
}
