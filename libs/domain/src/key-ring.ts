import { hkdfSync } from 'node:crypto';

/** Key material as configured; at least 32 bytes. */
export interface RingKeyMaterial {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** One key of the ring with its sub-keys, one per purpose (fallback 5). */
export interface RingKey {
  readonly id: string;
  readonly refs: Uint8Array;
  readonly digests: Uint8Array;
  readonly tokens: Uint8Array;
}

const MIN_KEY_BYTES = 32;

/**
 * The deployment's keys, newest first. A new stream takes the newest and keeps it; a look-up tries all, so
 * that a rotation forgets no count, decline or open intent (fallback 5).
 */
export interface KeyRing {
  readonly newest: RingKey;
  readonly newestFirst: readonly RingKey[];
  /** The key a stream was made under. Throws when the ring lacks it: start-up has refused such a ring. */
  byId(id: string): RingKey;
}

/** Builds the ring. Throws on an empty ring, a repeated id, or a key of under 32 bytes; never shows a key. */
export function keyRing(keys: readonly RingKeyMaterial[]): KeyRing {
  const newestFirst = keys.map(subKeys);
  const [newest] = newestFirst;
  if (newest === undefined) throw new Error('the key ring is empty');
  const byId = new Map(newestFirst.map((key) => [key.id, key]));
  if (byId.size !== newestFirst.length) throw new Error('two keys of the ring have the same id');

  return {
    newest,
    newestFirst,
    byId(id) {
      const key = byId.get(id);
      if (key === undefined) throw new Error(`the key ring has no key "${id}"`);
      return key;
    },
  };
}

function subKeys({ id, bytes }: RingKeyMaterial): RingKey {
  if (bytes.length < MIN_KEY_BYTES) throw new Error(`key "${id}" is shorter than ${MIN_KEY_BYTES} bytes`);
  const derive = (purpose: string) =>
    new Uint8Array(hkdfSync('sha256', bytes, new Uint8Array(0), `spillway/v1/${purpose}`, 32));
  return { id, refs: derive('refs'), digests: derive('digests'), tokens: derive('tokens') };
}
