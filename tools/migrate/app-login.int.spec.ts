import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withRole } from '#event-log/connect';
import { migrate } from '#event-log/migrate';
import { withPostgres } from '#support/infra';
import { AppLoginRefused, ensureAppLogin } from './app-login.ts';

const db = withPostgres();
// Logins belong to the cluster, which other specs share.
const login = `apps_${randomBytes(6).toString('hex')}`;

function urlWith(password: string): string {
  const url = new URL(db.url);
  url.username = login;
  url.password = encodeURIComponent(password);
  return url.href;
}

async function run(url: string, statement: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  await migrate(db.url);
});

afterAll(async () => {
  await run(db.url, `drop role if exists ${login}`);
});

test('the login may be the apps and nobody else, however often it is made', async () => {
  const url = urlWith("it's a \\ password");
  await ensureAppLogin(db.url, url);
  await ensureAppLogin(db.url, url);
  expect(await run(withRole(url, 'spillway_app'), 'select current_user as role')).toEqual([
    { role: 'spillway_app' },
  ]);
  for (const role of ['spillway_admin', 'spillway_audit'] as const) {
    await expect(run(withRole(url, role), 'select 1')).rejects.toThrow(/permission denied|not allowed/);
  }
  await expect(run(withRole(url, 'spillway_app'), 'delete from spillway.event')).rejects.toThrow(
    /permission denied/,
  );
});

test('a login of the audit may read and nothing else', async () => {
  const url = urlWith('of the audit');
  await run(db.url, `drop role if exists ${login}`);
  await ensureAppLogin(db.url, url, 'spillway_audit');
  expect(await run(withRole(url, 'spillway_audit'), 'select count(*)::integer from spillway.event')).toEqual([
    { count: 0 },
  ]);
  for (const role of ['spillway_admin', 'spillway_app'] as const) {
    await expect(run(withRole(url, role), 'select 1')).rejects.toThrow(/permission denied|not allowed/);
  }
  await expect(run(withRole(url, 'spillway_audit'), `select spillway.append('[]'::jsonb)`)).rejects.toThrow(
    /permission denied/,
  );
});

test('the apps never get the login of the administrator, nor one without a password', async () => {
  await expect(ensureAppLogin(db.url, db.url)).rejects.toBeInstanceOf(AppLoginRefused);
  await expect(ensureAppLogin(db.url, urlWith(''))).rejects.toBeInstanceOf(AppLoginRefused);
});
