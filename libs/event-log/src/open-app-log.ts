import { assertKeys, type GivenKeys } from './assert-keys.ts';
import { type LogRole, withRole } from './connect.ts';
import { PostgresLog, type PostgresLogOptions } from './postgres-log.ts';

export interface AppLogOptions
  extends Pick<PostgresLogOptions, 'url' | 'now' | 'readConnections' | 'onFault'> {
  /** Seen in pg_stat_activity. */
  readonly app: string;
  readonly role: Exclude<LogRole, 'spillway_admin'>;
  readonly keys: GivenKeys;
}

/**
 * The log as an app opens it: under its role, with every key that the log names. Rejects with LogUnusable when
 * waiting will not mend it, with another error when the database cannot be reached; nothing stays open then.
 */
export async function openAppLog({ app, role, keys, url, ...options }: AppLogOptions): Promise<PostgresLog> {
  const log = await PostgresLog.open({
    ...options,
    url: withRole(url, role),
    applicationName: `spillway-${app}`,
  });
  try {
    await assertKeys(log.sealed, keys);
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}
