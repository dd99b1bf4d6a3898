import pg from 'pg';
import { type LogRole, withRole } from '#event-log/connect';
import { migrate } from '#event-log/migrate';
import { PostgresLog, type PostgresLogOptions } from '#event-log/postgres-log';

/** The log of a test database, migrated, under the rights of a role. */
export async function openLog(
  url: string,
  options: Partial<PostgresLogOptions> & { readonly role?: LogRole } = {},
): Promise<PostgresLog> {
  const { role = 'spillway_app', ...rest } = options;
  await migrate(url);
  return PostgresLog.open({
    url: withRole(url, role),
    applicationName: 'test',
    now: () => performance.now(),
    ...rest,
  });
}

/** Runs something on a connection of its own, as the superuser of the test database or whoever `url` says. */
export async function withClient<Result>(
  url: string,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}
