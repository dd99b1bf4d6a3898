import type { Pool } from 'pg';
import type { DeadLetter, DeadLetters } from '#domain/log-tables';
import { reading } from './failures.ts';
import { safeInt } from './rows.ts';

interface DeadLetterRow {
  readonly id: string;
  readonly at: string;
  readonly subject: string;
  readonly id_digest: string | null;
  readonly body_digest: string;
  readonly size_bytes: number;
  readonly problem: string;
}

/** Rows of refused input. Only after its row is a message acknowledged (fallback 1.5). */
export function deadLetters(pool: Pool): DeadLetters {
  return {
    async add(row) {
      await reading(() =>
        pool.query(
          `insert into spillway.dead_letter (id, subject, id_digest, body_digest, size_bytes, problem)
           values ($1, $2, $3, $4, $5, $6) on conflict (id) do nothing`,
          [row.id, row.subject, row.idDigest, row.bodyDigest, row.sizeBytes, row.problem],
        ),
      );
    },

    async list(limit) {
      const { rows } = await reading(() =>
        pool.query<DeadLetterRow>(
          `select id, spillway.iso(at) as at, subject, id_digest, body_digest, size_bytes, problem
           from spillway.dead_letter d order by d.at desc, id limit $1`,
          [limit],
        ),
      );
      return rows.map(deadLetterOf);
    },

    async count() {
      const { rows } = await reading(() =>
        pool.query<{ count: string }>('select count(*) as count from spillway.dead_letter'),
      );
      return safeInt(rows[0]?.count ?? '0');
    },
  };
}

function deadLetterOf(row: DeadLetterRow): DeadLetter {
  return {
    id: row.id,
    at: row.at,
    subject: row.subject,
    idDigest: row.id_digest,
    bodyDigest: row.body_digest,
    sizeBytes: row.size_bytes,
    problem: row.problem,
  };
}
