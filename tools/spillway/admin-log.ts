import type { Command } from 'commander';
import { withRole } from '#event-log/connect';
import { PostgresLog } from '#event-log/postgres-log';
import { systemClock } from '#platform/clock';
import type { Settings } from '../../apps/audit/src/command-line/settings.ts';

/** What every admin command may be told. */
export interface AdminOptions {
  readonly databaseUrl?: string;
}

/** Lets a command be told which database it changes. */
export function database(command: Command): Command {
  return command.option(
    '--database-url <url>',
    'Postgres of the log; else SPILLWAY_DATABASE_URL, else .spillway/instance.json',
  );
}

/** Opens the log under the role spillway_admin for as long as `use` takes. */
export async function withAdminLog<Result>(
  settings: Settings,
  use: (log: PostgresLog) => Promise<Result>,
): Promise<Result> {
  const log = await PostgresLog.open({
    url: withRole(settings.databaseUrl.reveal(), 'spillway_admin'),
    applicationName: 'spillway-admin',
    now: () => systemClock.monotonicMs(),
    readConnections: 2,
  });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}
