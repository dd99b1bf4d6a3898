import pg from 'pg';
import { type LogRole, withRole } from '#event-log/connect';
import { PostgresLog } from '#event-log/postgres-log';

/** The log as an app of this role opens it. To be closed. */
export function openBenchLog(databaseUrl: string, role: LogRole = 'spillway_app'): Promise<PostgresLog> {
  return PostgresLog.open({
    url: withRole(databaseUrl, role),
    applicationName: 'spillway-bench',
    now: () => performance.now(),
  });
}

/** Connections beside the log, at most `max`, that outlive a server which ends one. To be ended. */
export function benchPool(connectionString: string, max = 2): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Makes a database of its own on the same server. Returns its address. */
export async function newDatabase(databaseUrl: string, name: string): Promise<string> {
  const pool = benchPool(databaseUrl, 1);
  try {
    await pool.query(`create database ${name} template template0 encoding 'UTF8'`);
  } finally {
    await pool.end();
  }
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}
