import { LRUCache } from 'lru-cache';
import { type RecordKeyRow, type SealedRow, WrapKeyMissing } from '#domain/log';
import type { SealedStore } from '#domain/log-tables';
import {
  KEY_BYTES,
  NONCE_BYTES,
  openBytes,
  sealBytes,
  sealContext,
  wrapContext,
  wrappingKey,
} from '#domain/sealing';
import type { RecordedEvent } from '#events/envelope';
import { randomBytes, randomId } from './ids.ts';
import type { NamedKey } from './variables.ts';

/** A text to be sealed under its digest. */
export interface ToSeal {
  readonly kind: SealedRow['kind'];
  readonly digest: string;
  readonly text: string;
  /** When it may be dropped; null = kept until its key is erased. */
  readonly expiresAt: string | null;
}

/** What a command carries so that the texts are stored with its events. */
export interface Sealing {
  readonly recordKey?: RecordKeyRow;
  readonly sealed: readonly SealedRow[];
}

interface RecordKey {
  readonly keyId: string;
  readonly bytes: Uint8Array;
}

export interface SealerOptions {
  readonly store: SealedStore;
  /** Newest first; the newest wraps new record keys. */
  readonly wrapKeys: readonly NamedKey[];
  /** Told once of each wrapping key that is missing here although texts are to be read under it. */
  readonly onKeyMissing?: (wrapKeyId: string) => void;
  /** Streams whose key is kept in memory. */
  readonly cachedKeysMax?: number;
}

const CACHED_KEYS_MAX = 10_000;
const RESEND_AFTER_MS = 60 * 60 * 1000;

/**
 * Seals what must never stand in clear under a key per allocation, and opens it again (fallback 7). A stream may
 * have several keys, when two writers each made one: each text names its own.
 */
export class Sealer {
  readonly #options: SealerOptions;
  readonly #keys: LRUCache<string, RecordKey>;
  /** By id: deriving one costs more than sealing with it. */
  readonly #wrappingKeys: ReadonlyMap<string, Uint8Array>;
  /** Keys that were made here, by the row that is to store them. */
  readonly #made = new WeakMap<RecordKeyRow, RecordKey>();
  /** Texts known to be stored already, so that a repeated failure is not sealed and sent again. */
  readonly #stored: LRUCache<string, true>;
  readonly #missing = new Set<string>();

  constructor(options: SealerOptions) {
    this.#options = options;
    const max = options.cachedKeysMax ?? CACHED_KEYS_MAX;
    this.#keys = new LRUCache({ max });
    this.#stored = new LRUCache({ max: max * 4 });
    this.#wrappingKeys = new Map(options.wrapKeys.map(({ id, bytes }) => [id, wrappingKey(bytes)]));
  }

  /** Seals texts of a stream. Rejects when the log cannot be reached. */
  async seal(stream: string, texts: readonly ToSeal[]): Promise<Sealing> {
    const missing = texts.filter(({ digest, kind }) => !this.#stored.has(storedKey(stream, kind, digest)));
    if (missing.length === 0) return { sealed: [] };

    const known = this.#keys.get(stream) ?? (await this.#keyInStore(stream));
    const key = known ?? { keyId: randomId(), bytes: randomBytes(KEY_BYTES) };
    const sealed = missing.map(({ kind, digest, text, expiresAt }) => {
      const nonce = randomBytes(NONCE_BYTES);
      const ciphertext = sealBytes(key.bytes, nonce, sealContext(stream, kind, digest), Buffer.from(text));
      return { digest, kind, keyId: key.keyId, nonce, ciphertext, expiresAt };
    });
    if (known !== null) return { sealed };
    const recordKey = this.#wrap(stream, key);
    this.#made.set(recordKey, key);
    return { recordKey, sealed };
  }

  /** The command that carried `sealing` was appended: its key and texts are in the store. */
  stored(stream: string, sealing: Sealing): void {
    if (sealing.recordKey !== undefined) {
      const key = this.#made.get(sealing.recordKey);
      if (key !== undefined) this.#keys.set(stream, key);
    }
    for (const { kind, digest, expiresAt } of sealing.sealed) {
      // A text with a retention is sent again now and then, so that its time counts from its newest use.
      const ttl = expiresAt === null ? 0 : RESEND_AFTER_MS;
      this.#stored.set(storedKey(stream, kind, digest), true, { ttl });
    }
  }

  /** To be told of every row of the log: a key that was erased is used no more. */
  observe({ type, stream }: Pick<RecordedEvent, 'type' | 'stream'>): void {
    if (type === 'AllocationErased') this.forget(stream);
  }

  /** The stream's key was destroyed: what is sealed from now on gets a new one. */
  forget(stream: string): void {
    this.#keys.delete(stream);
    for (const key of this.#stored.keys()) if (key.startsWith(`${stream}\n`)) this.#stored.delete(key);
  }

  /**
   * The text again; null when it was erased, dropped by its retention, or never stored. Rejects with WrapKeyMissing
   * when it is there and the keys given here cannot read it.
   */
  async open(stream: string, kind: SealedRow['kind'], digest: string): Promise<string | null> {
    let missing: string | null = null;
    for (const { row, key } of await this.#options.store.find(stream, digest)) {
      if (key === null || row.kind !== kind) continue;
      if (!this.#has(key.wrappedBy)) missing = key.wrappedBy;
      const bytes = this.#unwrap(stream, key);
      if (bytes === null) continue;
      const plain = openBytes(bytes, row.nonce, sealContext(stream, kind, digest), row.ciphertext);
      if (plain !== null) return Buffer.from(plain).toString('utf8');
    }
    if (missing !== null) throw this.#lacking(missing);
    return null;
  }

  /**
   * A record key wrapped by the newest wrapping key instead; the key itself, and every text under it, stays as it
   * is (fallback 5). Null when the key that wraps it now is not given, or does not open it.
   */
  rewrapped(stream: string, row: RecordKeyRow): Omit<RecordKeyRow, 'keyId'> | null {
    const bytes = this.#unwrap(stream, row);
    if (bytes === null) return null;
    const { keyId: _same, ...wrapping } = this.#wrap(stream, { keyId: row.keyId, bytes });
    return wrapping;
  }

  async #keyInStore(stream: string): Promise<RecordKey | null> {
    for (const row of await this.#options.store.keysOf(stream)) {
      const bytes = this.#unwrap(stream, row);
      if (bytes === null) continue;
      const key = { keyId: row.keyId, bytes };
      this.#keys.set(stream, key);
      return key;
    }
    return null;
  }

  #wrap(stream: string, key: RecordKey): RecordKeyRow {
    const [newest] = this.#options.wrapKeys;
    if (newest === undefined) throw new Error('there is no key to wrap record keys with');
    const wrapKey = this.#wrappingKeys.get(newest.id);
    if (wrapKey === undefined) throw new Error('a wrapping key was not derived');
    const nonce = randomBytes(NONCE_BYTES);
    const wrapped = sealBytes(wrapKey, nonce, wrapContext(stream, key.keyId), key.bytes);
    return { keyId: key.keyId, wrappedBy: newest.id, nonce, wrapped };
  }

  #unwrap(stream: string, row: RecordKeyRow): Uint8Array | null {
    const wrapKey = this.#wrappingKeys.get(row.wrappedBy);
    if (wrapKey === undefined) return null;
    return openBytes(wrapKey, row.nonce, wrapContext(stream, row.keyId), row.wrapped);
  }

  #has(wrapKeyId: string): boolean {
    return this.#wrappingKeys.has(wrapKeyId);
  }

  #lacking(wrapKeyId: string): WrapKeyMissing {
    if (!this.#missing.has(wrapKeyId)) this.#options.onKeyMissing?.(wrapKeyId);
    this.#missing.add(wrapKeyId);
    return new WrapKeyMissing(wrapKeyId);
  }
}

function storedKey(stream: string, kind: string, digest: string): string {
  return `${stream}\n${kind}\n${digest}`;
}
