import type { ClientBase, Pool } from 'pg';
import { SCHEMA_VERSION } from './migrations/migrations.ts';

/** The database must not be used as it is. The message says what to do. */
export class LogUnusable extends Error {
  override readonly name = 'LogUnusable';
}

/** Waiting mends none of these; a person has to. */
export function isLogUnusable(error: unknown): boolean {
  return error instanceof LogUnusable;
}

interface Settings {
  readonly synchronous_commit: string;
  readonly fsync: string;
  readonly encoding: string;
  readonly version_num: string;
  readonly migrated: boolean;
  readonly readable: boolean;
}

/**
 * Start-up check (design 5): refuses a database that would lose what it has acknowledged, or whose schema is
 * not this build's. Rejects with LogUnusable, whose message has every repair.
 */
export async function assertUsable(client: ClientBase | Pool): Promise<void> {
  const { rows } = await client.query<Settings>(`
    select current_setting('synchronous_commit') as synchronous_commit,
           current_setting('fsync') as fsync,
           current_setting('server_encoding') as encoding,
           current_setting('server_version_num') as version_num,
           m.oid is not null as migrated,
           coalesce(
             has_schema_privilege(m.relnamespace, 'usage') and has_table_privilege(m.oid, 'select'), false
           ) as readable
    from (values (1)) one
    left join pg_class m on m.relname = 'migration' and m.relnamespace = (
      select oid from pg_namespace where nspname = 'spillway'
    )`);
  const [settings] = rows;
  if (!settings) throw new LogUnusable('the database answers nothing about its settings');

  const problems = problemsOf(settings);
  if (settings.readable) problems.push(...(await schemaProblems(client)));
  if (problems.length > 0) throw new LogUnusable(problems.join('\n'));
}

function problemsOf(settings: Settings): string[] {
  const problems: string[] = [];
  if (settings.synchronous_commit === 'off') {
    problems.push(
      'synchronous_commit is off: a crash would lose acknowledged events. Run: ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf(); and remove any ALTER ROLE or ALTER DATABASE setting of it.',
    );
  }
  if (settings.fsync === 'off') {
    problems.push(
      'fsync is off: a crash would corrupt the log. Run: ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();',
    );
  }
  if (settings.encoding !== 'UTF8') {
    problems.push(
      `the database is encoded in ${settings.encoding}: texts would not keep their bytes. Run: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0, and use that one.`,
    );
  }
  if (Number(settings.version_num) < 150_000) {
    problems.push(`PostgreSQL ${settings.version_num} is too old. Upgrade to 15 or newer.`);
  }
  if (!settings.migrated) {
    problems.push('the schema "spillway" is missing. Run: spillway admin migrate');
  } else if (!settings.readable) {
    problems.push(
      'this login may not read the schema "spillway". Run: GRANT spillway_app TO <login>; and connect with options=-c role=spillway_app',
    );
  }
  return problems;
}

async function schemaProblems(client: ClientBase | Pool): Promise<readonly string[]> {
  const { rows } = await client.query<{ version: number }>(
    'select coalesce(max(version), 0) as version from spillway.migration',
  );
  const version = rows[0]?.version ?? 0;
  if (version < SCHEMA_VERSION) {
    return [
      `the schema is at version ${version}, this build needs ${SCHEMA_VERSION}. Run: spillway admin migrate`,
    ];
  }
  if (version > SCHEMA_VERSION) {
    return [
      `the schema is at version ${version}, this build knows ${SCHEMA_VERSION} at most. Start the newer build of Spillway.`,
    ];
  }
  return [];
}
