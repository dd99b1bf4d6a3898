import { Client } from 'pg';
import { clientConfig } from './connect.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { ROLES_SQL } from './migrations/roles.ts';

const MIGRATION_LOCK = 7309464726742;

/**
 * Brings the database to this build's schema and answers the versions that it applied: none when nothing was
 * to do. Safe to run by several processes at once. `adminUrl` must be allowed to create roles and a schema.
 */
export async function migrate(adminUrl: string): Promise<readonly number[]> {
  const client = new Client(
    clientConfig({
      url: adminUrl,
      applicationName: 'spillway-migrate',
      statementTimeoutMs: 600_000,
      lockTimeoutMs: 60_000,
    }),
  );
  await client.connect();
  try {
    await client.query('begin');
    // Held to the end of the transaction: the loser of a race waits, then finds everything done.
    await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(ROLES_SQL);
    const applied = await applyMissing(client);
    await client.query('commit');
    return applied;
  } finally {
    // Ending the connection rolls back what was not committed.
    await client.end();
  }
}

async function applyMissing(client: Client): Promise<readonly number[]> {
  await client.query(`
    create schema if not exists spillway authorization spillway_owner;
    set local role spillway_owner;
    create table if not exists spillway.migration (
      version    integer primary key,
      name       text not null,
      applied_at timestamptz(3) not null default clock_timestamp()
    );
  `);
  const { rows } = await client.query<{ version: number }>('select version from spillway.migration');
  const present = new Set(rows.map((row) => row.version));
  const missing = MIGRATIONS.filter((migration) => !present.has(migration.version));
  for (const { version, name, sql } of missing) {
    await client.query(sql);
    await client.query('insert into spillway.migration (version, name) values ($1, $2)', [version, name]);
  }
  return missing.map((migration) => migration.version);
}
