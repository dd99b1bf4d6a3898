import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type Refusal } from './chain.ts';
import { dockerAnswers, type RunningContainer, startContainer } from './docker.ts';
import { infraEnvironment } from './environment.ts';
import { claimFolder } from './owner.ts';
import { POSTGRES_SETTINGS, SUPERUSER, volumeFile } from './postgres-cluster.ts';
import type { PostgresOptions, RunningPostgres } from './running-postgres.ts';

/** Starts PostgreSQL in a container with a volume of its own, which the data folder names. */
export async function startPostgresInDocker(options: PostgresOptions): Promise<RunningPostgres | Refusal> {
  if (!(await dockerAnswers())) return { reason: 'no Docker engine answers' };
  const claim = claimFolder(options.dataDir);
  const isNew = !existsSync(volumeFile(options.dataDir));
  try {
    const password = kept(join(options.dataDir, 'docker-password'), () => randomBytes(24).toString('hex'));
    const container = await startContainer({
      image: infraEnvironment().postgresImage,
      command: ['postgres', ...settingArguments(options.settings ?? {})],
      environment: {
        POSTGRES_PASSWORD: password,
        POSTGRES_INITDB_ARGS: '--encoding=UTF8 --locale=C',
        PGDATA: '/var/lib/postgresql/data/pgdata',
      },
      port: { container: 5432, host: options.port ?? (await freePort()) },
      volume: { name: volumeOf(options.dataDir), path: '/var/lib/postgresql/data' },
      files: [],
      // While the image sets itself up, its server listens on a socket only.
      ready: async (_address, run) => (await run(['pg_isready', '-h', '127.0.0.1', '-U', SUPERUSER])) === 0,
    });
    return inContainer(container, password, () => claim.release());
  } catch (error) {
    // Nothing is in the volume yet: the next source may have the folder.
    if (isNew) rmSync(volumeFile(options.dataDir), { force: true });
    claim.release();
    return { reason: `Docker answers, but the container does not start (${firstLine(error)})` };
  }
}

function inContainer(container: RunningContainer, password: string, release: () => void): RunningPostgres {
  const { host, port } = container;
  return {
    url: `postgresql://${SUPERUSER}:${password}@${host}:${port}/postgres`,
    host,
    port,
    superuser: SUPERUSER,
    source: 'docker',
    pid: () => container.pid(),
    stop: async () => {
      await container.stop();
      release();
    },
    kill: () => container.kill(),
    restart: () => container.restart(),
    pause: () => container.pause(),
    resume: () => container.resume(),
  };
}

function settingArguments(settings: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries({ ...POSTGRES_SETTINGS, ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
}

function volumeOf(dataDir: string): string {
  return kept(volumeFile(dataDir), () => `spillway-postgres-${randomBytes(8).toString('hex')}`);
}

function kept(file: string, make: () => string): string {
  if (!existsSync(file)) writeFileSync(file, `${make()}\n`, { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n')[0] ?? '';
}
