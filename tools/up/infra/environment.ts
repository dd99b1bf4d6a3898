import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Every environment variable that the infrastructure chain reads. None is needed: without them the
 * chain tries what the machine has.
 */
export interface InfraEnvironment {
  /** SPILLWAY_POSTGRES_URL: a superuser URL of a PostgreSQL that runs already; nothing is started. */
  readonly postgresUrl: string | undefined;
  /** SPILLWAY_NATS_URL: the URL of a NATS server that runs already; nothing is started. */
  readonly natsUrl: string | undefined;
  /** SPILLWAY_POSTGRES_SOURCES: comma list of what may be tried, in order: docker, local, embedded. */
  readonly postgresSources: readonly string[] | undefined;
  /** SPILLWAY_NATS_SOURCES: comma list of what may be tried, in order: docker, local, download. */
  readonly natsSources: readonly string[] | undefined;
  /** SPILLWAY_POSTGRES_IMAGE: the image used where Docker answers. */
  readonly postgresImage: string;
  /** SPILLWAY_NATS_IMAGE: the image used where Docker answers. */
  readonly natsImage: string;
  /** SPILLWAY_CACHE_DIR: where templates and downloaded binaries are kept; else `.spillway/cache`. */
  readonly cacheDir: string;
  /** DOCKER_HOST: where the Docker engine listens, as the docker client understands it. */
  readonly dockerHost: string | undefined;
  /** HOME: where Docker Desktop keeps its socket. */
  readonly home: string | undefined;
  /** XDG_RUNTIME_DIR: where a rootless Docker keeps its socket. */
  readonly runtimeDir: string | undefined;
  /** PATH: where local binaries are looked for. */
  readonly path: string;
}

/** Reads the variables anew at each call, so that a test can set them. */
export function infraEnvironment(): InfraEnvironment {
  return {
    postgresUrl: value('SPILLWAY_POSTGRES_URL'),
    natsUrl: value('SPILLWAY_NATS_URL'),
    postgresSources: list('SPILLWAY_POSTGRES_SOURCES'),
    natsSources: list('SPILLWAY_NATS_SOURCES'),
    postgresImage: value('SPILLWAY_POSTGRES_IMAGE') ?? 'postgres:17-alpine',
    natsImage: value('SPILLWAY_NATS_IMAGE') ?? 'nats:2.10-alpine',
    cacheDir: value('SPILLWAY_CACHE_DIR') ?? join(projectRoot(), '.spillway', 'cache'),
    dockerHost: value('DOCKER_HOST'),
    home: value('HOME'),
    runtimeDir: value('XDG_RUNTIME_DIR'),
    path: value('PATH') ?? '/usr/local/bin:/usr/bin:/bin',
  };
}

/** The folder of the project's package.json, from the sources and from `dist` alike. */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isProjectRoot(folder)) {
    const above = dirname(folder);
    if (above === folder) throw new Error('No package.json of spillway above the infrastructure chain.');
    folder = above;
  }
  return folder;
}

function isProjectRoot(folder: string): boolean {
  const file = join(folder, 'package.json');
  return existsSync(file) && /"name":\s*"spillway"/.test(readFileSync(file, 'utf8'));
}

function value(name: string): string | undefined {
  const text = process.env[name]?.trim();
  return text === undefined || text === '' ? undefined : text;
}

function list(name: string): readonly string[] | undefined {
  return value(name)
    ?.split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
