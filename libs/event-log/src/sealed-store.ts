import type { Pool } from 'pg';
import type { RecordKeyRow, SealedRow } from '#domain/log';
import type { ErasedCount, SealedStore, SealedText, StreamKey } from '#domain/log-tables';
import { reading } from './failures.ts';
import { safeInt } from './rows.ts';

const SELECT_TEXTS = `
  select s.digest, s.kind, s.key_id, s.nonce, s.ciphertext, spillway.iso(s.expires_at) as expires_at,
         k.wrapped_by, k.nonce as key_nonce, k.wrapped
  from spillway.sealed s left join spillway.record_key k on k.key_id = s.key_id`;

interface SealedTextRow {
  readonly digest: string;
  readonly kind: SealedRow['kind'];
  readonly key_id: string;
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
  readonly expires_at: string | null;
  readonly wrapped_by: string | null;
  readonly key_nonce: Buffer | null;
  readonly wrapped: Buffer | null;
}

interface KeyRow {
  readonly key_id: string;
  readonly wrapped_by: string;
  readonly nonce: Buffer;
  readonly wrapped: Buffer;
}

/** Storage of sealed texts and wrapped keys. Erasing and re-wrapping need the role spillway_admin. */
export function sealedStore(pool: Pool): SealedStore {
  async function texts(
    name: string,
    condition: string,
    values: readonly unknown[],
  ): Promise<readonly SealedText[]> {
    const { rows } = await reading(() =>
      pool.query<SealedTextRow>({
        name,
        text: `${SELECT_TEXTS} where ${condition} order by s.digest, s.key_id`,
        values: [...values],
      }),
    );
    return rows.map(sealedTextOf);
  }

  async function count(text: string, values: readonly unknown[]): Promise<number> {
    const { rows } = await reading(() => pool.query<{ count: string }>(text, [...values]));
    return safeInt(rows[0]?.count ?? '0');
  }

  async function strings(text: string, values: readonly unknown[]): Promise<readonly string[]> {
    const { rows } = await reading(() => pool.query<{ value: string }>(text, [...values]));
    return rows.map((row) => row.value);
  }

  async function erased(text: string, value: string): Promise<ErasedCount> {
    const { rows } = await reading(() => pool.query<{ keys: string; texts: string }>(text, [value]));
    return { keys: safeInt(rows[0]?.keys ?? '0'), texts: safeInt(rows[0]?.texts ?? '0') };
  }

  async function keys(text: string, values: readonly unknown[]): Promise<readonly StreamKey[]> {
    const { rows } = await reading(() => pool.query<KeyRow & { stream: string }>(text, [...values]));
    return rows.map((row) => ({ stream: row.stream, key: recordKeyOf(row) }));
  }

  return {
    find: (stream, digest) => texts('sealed-text', 's.stream = $1 and s.digest = $2', [stream, digest]),
    ofStream: (stream) => texts('sealed-of-stream', 's.stream = $1', [stream]),

    async keysOf(stream) {
      const { rows } = await reading(() =>
        pool.query<KeyRow>({
          name: 'record-keys',
          text: `select key_id, wrapped_by, nonce, wrapped from spillway.record_key
                 where stream = $1 order by created_at, key_id`,
          values: [stream],
        }),
      );
      return rows.map(recordKeyOf);
    },

    async ringKeyOf(stream) {
      const [id] = await strings('select ring_key_id as value from spillway.stream_key where stream = $1', [
        stream,
      ]);
      return id ?? null;
    },

    async ringKeys(afterStream, limit) {
      const { rows } = await reading(() =>
        pool.query<{ stream: string; ring_key_id: string }>(
          `select stream, ring_key_id from spillway.stream_key
           where stream > $1 order by stream limit $2`,
          [afterStream, limit],
        ),
      );
      return rows.map((row) => ({ stream: row.stream, ringKeyId: row.ring_key_id }));
    },

    async keyIdsInUse() {
      const [ring, wrapping] = await Promise.all([
        strings('select distinct ring_key_id as value from spillway.stream_key order by 1', []),
        strings('select distinct wrapped_by as value from spillway.record_key order by 1', []),
      ]);
      return { ring, wrapping };
    },

    keysWrappedBy: (wrapKeyId, limit) =>
      keys(
        `select stream, key_id, wrapped_by, nonce, wrapped from spillway.record_key
         where wrapped_by = $1 limit $2`,
        [wrapKeyId, limit],
      ),

    async addKey(stream, key) {
      await reading(() =>
        pool.query(
          `insert into spillway.record_key (key_id, stream, wrapped_by, nonce, wrapped)
           values ($1, $2, $3, $4, $5) on conflict (key_id) do nothing`,
          [key.keyId, stream, key.wrappedBy, key.nonce, key.wrapped],
        ),
      );
    },

    wrappedOtherwise: (wrapKeyId, limit, afterKeyId = '') =>
      keys(
        `select stream, key_id, wrapped_by, nonce, wrapped from spillway.record_key
         where wrapped_by <> $1 and key_id > $3 order by key_id limit $2`,
        [wrapKeyId, limit, afterKeyId],
      ),

    countWrappedOtherwise: (wrapKeyId) =>
      count('select count(*) as count from spillway.record_key where wrapped_by <> $1', [wrapKeyId]),

    async rewrap(keyId, from, to) {
      const changed = await count(
        `with changed as (
           update spillway.record_key set wrapped_by = $3, nonce = $4, wrapped = $5
           where key_id = $1 and wrapped_by = $2 returning 1
         ) select count(*) as count from changed`,
        [keyId, from, to.wrappedBy, to.nonce, to.wrapped],
      );
      return changed > 0;
    },

    erase: (stream) =>
      erased(
        `with keys as (delete from spillway.record_key where stream = $1 returning 1),
              texts as (delete from spillway.sealed where stream = $1 returning 1)
         select (select count(*) from keys) as keys, (select count(*) from texts) as texts`,
        stream,
      ),

    eraseKey: (keyId) =>
      erased(
        `with keys as (delete from spillway.record_key where key_id = $1 returning 1),
              texts as (delete from spillway.sealed where key_id = $1 returning 1)
         select (select count(*) from keys) as keys, (select count(*) from texts) as texts`,
        keyId,
      ),

    dropExpired: (limit) => count('select spillway.drop_expired($1) as count', [limit]),
  };
}

function recordKeyOf(row: KeyRow): RecordKeyRow {
  return { keyId: row.key_id, wrappedBy: row.wrapped_by, nonce: row.nonce, wrapped: row.wrapped };
}

function sealedTextOf(row: SealedTextRow): SealedText {
  const key =
    row.wrapped_by === null || row.key_nonce === null || row.wrapped === null
      ? null
      : { keyId: row.key_id, wrappedBy: row.wrapped_by, nonce: row.key_nonce, wrapped: row.wrapped };
  return {
    row: {
      digest: row.digest,
      kind: row.kind,
      keyId: row.key_id,
      nonce: row.nonce,
      ciphertext: row.ciphertext,
      expiresAt: row.expires_at,
    },
    key,
  };
}
