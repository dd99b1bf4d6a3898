import pg from 'pg';
import type { LogRole } from '#event-log/connect';

/** The URL of the apps (or of the audit) names no login that could be theirs; the message says why, and holds nothing of it. */
export class AppLoginRefused extends Error {
  override readonly name = 'AppLoginRefused';
}

/**
 * Makes the login that the apps use, or gives it the password of `appUrl`, so that a rotated secret holds from the
 * next start on. It may be the one role and nothing else. The database must be migrated.
 */
export async function ensureAppLogin(
  adminUrl: string,
  appUrl: string,
  role: LogRole = 'spillway_app',
): Promise<void> {
  const { username, password } = new URL(appUrl);
  const login = decodeURIComponent(username);
  if (login === '' || password === '')
    throw new AppLoginRefused('The URL of the apps needs a user and a password.');
  if (login === decodeURIComponent(new URL(adminUrl).username)) {
    throw new AppLoginRefused(
      'The apps need a login of their own: under that of the administrator the log is not immutable.',
    );
  }

  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1', [login]);
    const name = client.escapeIdentifier(login);
    // A utility statement takes no parameters, so the password is quoted by the driver.
    const secret = client.escapeLiteral(decodeURIComponent(password));
    await client.query(`${rowCount === 0 ? 'create' : 'alter'} role ${name} login password ${secret}`);
    await client.query(`grant ${role} to ${name}`);
  } finally {
    await client.end();
  }
}
