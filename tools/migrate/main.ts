import { migrate } from '#event-log/migrate';
import { ConfigError, loadConfig } from '#platform/load-config';
import { AppLoginRefused, ensureAppLogin } from './app-login.ts';
import { MigrateConfig } from './migrate-config.ts';

/** What runs once before the apps of a deployment: this build's schema, and the logins that the apps and the audit use. */
async function main(): Promise<void> {
  const config = loadConfig(MigrateConfig);
  const adminUrl = config.SPILLWAY_ADMIN_DATABASE_URL.reveal();
  const applied = await migrate(adminUrl);
  await ensureAppLogin(adminUrl, config.SPILLWAY_DATABASE_URL.reveal());
  const auditUrl = config.SPILLWAY_AUDIT_DATABASE_URL?.reveal();
  if (auditUrl !== undefined) await ensureAppLogin(adminUrl, auditUrl, 'spillway_audit');
  const done = applied.length === 0 ? 'nothing to migrate' : `applied ${applied.join(', ')}`;
  process.stdout.write(`The database is ready: ${done}.\n`);
}

await main().catch((error: unknown) => {
  // A driver's message may hold a URL: only our own sentences are repeated.
  const known = error instanceof ConfigError || error instanceof AppLoginRefused;
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  process.stderr.write(known ? `${error.message}\n` : `The database cannot be made ready${code}.\n`);
  process.exitCode = 1;
});
