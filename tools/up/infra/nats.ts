import type { Refusal } from './chain.ts';
import { infraEnvironment } from './environment.ts';
import { findDownloadedNats, findLocalNats } from './nats-binary.ts';
import { startNatsInDocker } from './nats-docker.ts';
import { givenNats } from './nats-given.ts';
import { startLocalNats } from './nats-local.ts';
import type { NatsOptions, NatsSource, NatsUnavailable, RunningNats } from './running-nats.ts';

const ALL_SOURCES: readonly NatsSource[] = ['docker', 'local', 'download'];

/**
 * Brings up NATS by the first of these that works: the URL given, Docker, a binary of this machine, the
 * distribution's package unpacked into the cache. Rejects only where something that is there does not
 * work: a given URL that does not answer, a port that is taken, a configuration that is refused.
 */
export async function startNats(options: NatsOptions): Promise<RunningNats | NatsUnavailable> {
  const environment = infraEnvironment();
  const url = options.url ?? (options.controllable ? undefined : environment.natsUrl);
  if (url !== undefined) return await givenNats(url);

  const reasons: string[] = [];
  for (const source of options.sources ?? environment.natsSources ?? ALL_SOURCES) {
    const outcome = await startFrom(source, options);
    if (!('reason' in outcome)) return outcome;
    options.log?.(`NATS by ${source}: ${outcome.reason}.`);
    reasons.push(outcome.reason);
  }
  return {
    status: 'unavailable',
    reason: `NATS cannot be started here (${reasons.join('; ') || 'no source was allowed'})`,
    fix: `${installCommand()}, or set SPILLWAY_NATS_URL to one that runs`,
  };
}

async function startFrom(source: string, options: NatsOptions): Promise<RunningNats | Refusal> {
  switch (source) {
    case 'docker':
      return await startNatsInDocker(options);
    case 'local':
      return await startWith(await findLocalNats(), source, options);
    case 'download':
      return await startWith(await findDownloadedNats(options.log), source, options);
    default:
      return { reason: `"${source}" is no source of NATS` };
  }
}

async function startWith(
  found: string | Refusal,
  source: 'local' | 'download',
  options: NatsOptions,
): Promise<RunningNats | Refusal> {
  return typeof found === 'string' ? await startLocalNats(found, source, options) : found;
}

function installCommand(): string {
  return process.platform === 'darwin'
    ? 'run `brew install nats-server`'
    : 'run `sudo apt-get install nats-server`';
}
