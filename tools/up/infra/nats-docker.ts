import { randomBytes } from 'node:crypto';
import { answers, freePort, type Refusal } from './chain.ts';
import { dockerAnswers, startContainer } from './docker.ts';
import { infraEnvironment } from './environment.ts';
import { natsConfigText, natsGreeting } from './nats-config.ts';
import { claimFolder } from './owner.ts';
import type { NatsOptions, RunningNats } from './running-nats.ts';

const STORE_IN_CONTAINER = '/data';

/** Starts NATS in a container. Its store goes with the container: the bus is refilled from the log. */
export async function startNatsInDocker(options: NatsOptions): Promise<RunningNats | Refusal> {
  if (!(await dockerAnswers())) return { reason: 'no Docker engine answers' };
  const claim = claimFolder(options.storeDir);
  const name = `spillway-${randomBytes(6).toString('hex')}`;
  const config = options.configText ?? natsConfigText(STORE_IN_CONTAINER, randomBytes(32).toString('hex'));
  try {
    const container = await startContainer({
      image: infraEnvironment().natsImage,
      command: ['-c', '/etc/nats/spillway.conf', '-a', '0.0.0.0', '-p', '4222', '-n', name],
      environment: {},
      port: { container: 4222, host: options.port ?? (await freePort()) },
      files: [{ path: '/etc/nats/spillway.conf', text: config }],
      ready: ({ host, port }) => answers(host, port, 1_000, natsGreeting(name)),
    });
    const { host, port } = container;
    return {
      status: 'running',
      url: `nats://${host}:${port}`,
      host,
      port,
      source: 'docker',
      pid: () => container.pid(),
      stop: async () => {
        await container.stop();
        claim.release();
      },
      kill: () => container.kill(),
      restart: () => container.restart(),
      freeze: () => container.pause(),
      thaw: () => container.resume(),
    };
  } catch (error) {
    claim.release();
    const why = error instanceof Error ? error.message : String(error);
    return { reason: `Docker answers, but the container does not start (${why.split('\n')[0]})` };
  }
}
