import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cached, copyFolder } from './cache.ts';
import { type Identity, type Log, runCommand } from './chain.ts';
import { canEnter, reachableTmpdir } from './identity.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import type { PostgresOptions } from './running-postgres.ts';

export const SUPERUSER = 'postgres';

/** Where the files of one server are. `home` is ours; below it only `cluster` belongs to the server's account. */
export interface ClusterPlace {
  readonly home: string;
  readonly cluster: string;
  readonly logFile: string;
  readonly configFile: string;
  readonly accessFile: string;
}

/**
 * Where the data of this data folder is: in it, or, where the server's account cannot enter it, in a
 * private folder for temporary files that a pointer file in the data folder names.
 */
export async function placeCluster(
  dataDir: string,
  as: Identity | undefined,
  log: Log,
): Promise<ClusterPlace> {
  const moved = movedTo(dataDir);
  if (moved !== undefined) return placeIn(moved);
  if (as !== undefined) chmodSync(dataDir, 0o711);
  if (await canEnter(dataDir, as)) return placeIn(resolve(dataDir));

  const home = mkdtempSync(join(await reachableTmpdir(as), 'spillway-postgres-'));
  chmodSync(home, 0o711);
  writeFileSync(pointerFile(dataDir), `${home}\n`);
  log(
    `User ${as?.name} cannot enter ${dataDir}: the data of PostgreSQL is kept in ${home}, ` +
      `which the system may clear (to keep it for good, choose a folder outside of private homes).`,
  );
  return placeIn(home);
}

/** The place if there is one already; nothing is created. */
export function existingPlace(dataDir: string): ClusterPlace {
  return placeIn(movedTo(dataDir) ?? resolve(dataDir));
}

/** Where earlier starts put the data of this folder, or undefined where there is none yet. */
export function existingData(
  dataDir: string,
):
  | { readonly in: 'folder'; readonly major: number }
  | { readonly in: 'volume'; readonly volume: string; readonly major?: undefined }
  | undefined {
  const volume = readIfThere(volumeFile(dataDir));
  if (volume !== undefined) return { in: 'volume', volume };
  const version = readIfThere(join(existingPlace(dataDir).cluster, 'PG_VERSION'));
  return version === undefined ? undefined : { in: 'folder', major: Number.parseInt(version, 10) };
}

/** Names the Docker volume that holds the data of this folder. */
export function volumeFile(dataDir: string): string {
  return join(dataDir, 'docker-volume');
}

/** Makes the cluster if there is none, writes its settings anew, and answers its password. */
export async function prepareCluster(
  place: ClusterPlace,
  binaries: PostgresBinaries,
  as: Identity | undefined,
  options: Pick<PostgresOptions, 'settings' | 'throwaway' | 'log'>,
): Promise<string> {
  if (!existsSync(place.cluster)) await createCluster(place, binaries, as, options);
  await makeOwned(place.cluster, as);
  writeFileSync(place.configFile, configText(place, options.settings ?? {}), { mode: 0o644 });
  writeFileSync(place.accessFile, 'host all all 127.0.0.1/32 scram-sha-256\n', { mode: 0o644 });
  return readFileSync(passwordFile(place), 'utf8').trim();
}

/**
 * Copies a template: initdb takes 0.6-0.9 s, the copy 0.1 s. The template's password comes with it, so
 * all clusters of one user on one machine share it; what it keeps out is the machine's other users.
 */
async function createCluster(
  place: ClusterPlace,
  binaries: PostgresBinaries,
  as: Identity | undefined,
  { throwaway = false, log = () => {} }: Pick<PostgresOptions, 'throwaway' | 'log'>,
): Promise<void> {
  const name = `postgres-template-${binaries.version}-${as?.uid ?? process.getuid?.() ?? 'user'}`;
  const template = await cached(name, as, log, (draft) => initialise(draft, binaries, as));
  const draft = `${place.cluster}.draft`;
  await rm(draft, { recursive: true, force: true });
  await copyFile(join(template, 'password'), passwordFile(place));
  chmodSync(passwordFile(place), 0o600);
  await copyFolder(join(template, 'cluster'), draft);
  // The copy is in the page cache only; acknowledged commits must not stand on files that are not on disk.
  if (!throwaway) await succeed(binaries, ['--sync-only', '-D', draft], as);
  renameSync(draft, place.cluster);
}

async function initialise(
  draft: string,
  binaries: PostgresBinaries,
  as: Identity | undefined,
): Promise<void> {
  const cluster = join(draft, 'cluster');
  const password = randomBytes(24).toString('hex');
  const handOver = join(draft, 'password-for-initdb');
  mkdirSync(cluster, { mode: 0o700 });
  writeFileSync(join(draft, 'password'), `${password}\n`, { mode: 0o600 });
  writeFileSync(handOver, `${password}\n`, { mode: 0o600 });
  if (as !== undefined) {
    chownSync(cluster, as.uid, as.gid);
    chownSync(handOver, as.uid, as.gid);
  }
  const locale = ['--encoding=UTF8', '--locale=C'];
  const auth = ['--auth=scram-sha-256', `--pwfile=${handOver}`, `--username=${SUPERUSER}`];
  await succeed(binaries, ['-D', cluster, '--no-sync', '--no-instructions', ...locale, ...auth], as);
  rmSync(handOver);
}

async function succeed(binaries: PostgresBinaries, args: readonly string[], as: Identity | undefined) {
  const result = await runCommand(join(binaries.folder, 'initdb'), args, { as, timeoutMs: 60_000 });
  if (!result.ok) throw new Error(`initdb failed: ${result.complaint || result.stdout.trim()}`);
}

/** Where root runs it, a cluster made by an ordinary user is handed over; the other way round is refused. */
async function makeOwned(cluster: string, as: Identity | undefined): Promise<void> {
  const owner = lstatSync(cluster).uid;
  if (owner === (as?.uid ?? process.getuid?.() ?? owner)) return;
  if (as === undefined) {
    throw new Error(`${cluster} belongs to another user: start as that user, or choose another data folder.`);
  }
  if (!existsSync(join(cluster, 'PG_VERSION'))) throw new Error(`${cluster} holds no PostgreSQL data.`);
  const owners = `${as.uid}:${as.gid}`;
  const { ok, complaint } = await runCommand('chown', ['-R', '-h', owners, cluster], { timeoutMs: 30_000 });
  if (!ok) throw new Error(`Cannot hand ${cluster} to user ${as.name}: ${complaint}`);
}

function configText(place: ClusterPlace, settings: Readonly<Record<string, string>>): string {
  const all = {
    ...LOOPBACK_ONLY,
    ...RECOVERY,
    ...POSTGRES_SETTINGS,
    hba_file: place.accessFile,
    ...settings,
  };
  return Object.entries(all)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join('');
}

/**
 * After a crash PostgreSQL syncs all its files, some 970, one by one (measured: 1.3-3.6 s on a busy disk);
 * one call for the whole file system took 0.2-0.6 s. Other systems do not have that call.
 */
const RECOVERY = process.platform === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {};

const LOOPBACK_ONLY = { listen_addresses: '127.0.0.1', unix_socket_directories: '' };

/**
 * Durable as in production. The log never holds a statement, a parameter or an error's text: these
 * carry what callers sent, and the client gets them anyway.
 */
export const POSTGRES_SETTINGS = {
  password_encryption: 'scram-sha-256',
  max_connections: '200',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_checkpoints: 'off',
};

function placeIn(home: string): ClusterPlace {
  return {
    home,
    cluster: join(home, 'cluster'),
    logFile: join(home, 'postgres.log'),
    configFile: join(home, 'postgresql.conf'),
    accessFile: join(home, 'pg_hba.conf'),
  };
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

function movedTo(dataDir: string): string | undefined {
  const home = readIfThere(pointerFile(dataDir));
  if (home === undefined) return undefined;
  // Temporary folders are shared: one of that name that is not ours took the place of one cleared away.
  return existsSync(home) && lstatSync(home).uid === process.getuid?.() ? home : undefined;
}

function pointerFile(dataDir: string): string {
  return join(dataDir, 'moved-to');
}

function passwordFile(place: ClusterPlace): string {
  return join(place.home, 'password');
}
