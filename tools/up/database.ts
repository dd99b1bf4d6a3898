import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { migrate } from '#event-log/migrate';
import { ensureAppLogin } from '../migrate/app-login.ts';

export interface Database {
  /** A login that may assume every role: for migrations and the command line. */
  readonly adminUrl: string;
  /** A login that may only be `spillway_app`: for the apps. */
  readonly appUrl: string;
}

const DATABASE = 'spillway';
const APP_LOGIN = 'spillway_apps';

/** Makes the database, its schema and the apps' login, whichever are missing. `serverUrl` is a superuser's. */
export async function prepareDatabase(serverUrl: string): Promise<Database> {
  await withClient(serverUrl, async (client) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE} template template0 encoding 'UTF8'`);
  });
  const admin = new URL(serverUrl);
  admin.pathname = `/${DATABASE}`;
  await migrate(admin.href);

  // Set anew at each start: nobody has to keep it, and an old copy is worth nothing.
  const app = new URL(admin.href);
  app.username = APP_LOGIN;
  app.password = randomBytes(24).toString('hex');
  await ensureAppLogin(admin.href, app.href);
  return { adminUrl: admin.href, appUrl: app.href };
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
