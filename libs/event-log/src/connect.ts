import type { ClientConfig } from 'pg';

export type LogRole = 'spillway_app' | 'spillway_audit' | 'spillway_admin';

export interface ConnectOptions {
  readonly url: string;
  /** Seen in pg_stat_activity: which app holds a connection. */
  readonly applicationName: string;
  /** The server gives a statement up after this. */
  readonly statementTimeoutMs?: number;
  /** The server gives up waiting for a lock after this: a holder that hangs must not hang everybody. */
  readonly lockTimeoutMs?: number;
  /** The server ends a session that sits in a transaction: it would hold the append lock. */
  readonly idleInTransactionTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
}

/**
 * How every connection of the log is made: bounded in all its waits, with the settings that the append
 * function needs whatever the database's defaults are.
 */
export function clientConfig(options: ConnectOptions): ClientConfig {
  return {
    connectionString: withServerOptions(options.url, [
      '-c default_transaction_isolation=read\\ committed',
      // Named statements keep the plan of an empty table otherwise, and scan the log when it has grown.
      '-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off',
    ]),
    application_name: options.applicationName,
    statement_timeout: options.statementTimeoutMs ?? 10_000,
    lock_timeout: options.lockTimeoutMs ?? 5_000,
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 5_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 3_000,
    keepAlive: true,
  };
}

/** The same database under a role's rights: the login of `url` must be a member of the role. */
export function withRole(url: string, role: LogRole): string {
  return withServerOptions(url, [`-c role=${role}`]);
}

function withServerOptions(url: string, added: readonly string[]): string {
  const parsed = new URL(url);
  const present = parsed.searchParams.get('options');
  parsed.searchParams.delete('options');
  const options = encodeURIComponent([...(present === null ? [] : [present]), ...added].join(' '));
  // URLSearchParams would write a blank as "+", which libpq (psql, pg_dump) does not read back.
  const query = [...new Set(parsed.search.replace(/^\?/, '').split('&')), `options=${options}`];
  parsed.search = '';
  return `${parsed.href}?${query.filter((part) => part !== '').join('&')}`;
}
