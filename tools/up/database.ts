import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { LogRole } from '#event-log/connect';
import { migrate } from '#event-log/migrate';
import { ensureAppLogin } from '../migrate/app-login.ts';

export interface Database {
  /** A login that may assume every role: for migrations and the command line. */
  readonly adminUrl: string;
  /** A login that may only be `spillway_app`: for the apps. */
  readonly appUrl: string;
  /** A login that may only be `spillway_audit`: for the reading server. */
  readonly auditUrl: string;
}

const DATABASE = 'spillway';
const APP_LOGIN = 'spillway_apps';
const AUDIT_LOGIN = 'spillway_auditors';

/** Makes the database, its schema and the logins, whichever are missing. `serverUrl` is a superuser's. */
export async function prepareDatabase(serverUrl: string): Promise<Database> {
  await withClient(serverUrl, async (client) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE} template template0 encoding 'UTF8'`);
  });
  const admin = new URL(serverUrl);
  admin.pathname = `/${DATABASE}`;
  await migrate(admin.href);

  return {
    adminUrl: admin.href,
    appUrl: await loginOf(admin.href, APP_LOGIN, 'spillway_app'),
    auditUrl: await loginOf(admin.href, AUDIT_LOGIN, 'spillway_audit'),
  };
}

/** Its password is set anew at each start: nobody has to keep it, and an old copy is worth nothing. */
async function loginOf(adminUrl: string, login: string, role: LogRole): Promise<string> {
  const url = new URL(adminUrl);
  url.username = login;
  url.password = randomBytes(24).toString('hex');
  await ensureAppLogin(adminUrl, url.href, role);
  return url.href;
}

async function withClient(url: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}
