import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { StartedTestContainer } from 'testcontainers';
import { answers, waitUntil } from './chain.ts';
import { infraEnvironment } from './environment.ts';

/** Pulling the image counts into it. */
const START_BOUND_MS = 180_000;
const READY_BOUND_MS = 60_000;
const PING_BOUND_MS = 800;

export interface ContainerRequest {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly port: { readonly container: number; readonly host: number };
  readonly volume?: { readonly name: string; readonly path: string };
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** Whether the server in it takes connections; asked until it does. `run` answers the exit code of a command. */
  ready(
    address: { readonly host: string; readonly port: number },
    run: (command: string[]) => Promise<number>,
  ): Promise<boolean>;
}

export interface RunningContainer {
  readonly host: string;
  readonly port: number;
  /** The main process as the engine sees it; undefined while it is down. */
  pid(): number | undefined;
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Starts again with the same files and port, from whatever state it is in. */
  restart(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** Whether a Docker engine answers; a docker client alone does not count. Asked in less than a second. */
export async function dockerAnswers(): Promise<boolean> {
  const pings = dockerAddresses().map(ping);
  return (await Promise.all(pings)).includes(true);
}

/**
 * Starts a container whose port is open on loopback only. It is removed when this process ends, however
 * that happens (testcontainers sees to it from a container of its own); its volume stays.
 */
export async function startContainer(wanted: ContainerRequest): Promise<RunningContainer> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  const { container: inside, host: outside } = wanted.port;

  class LoopbackContainer extends GenericContainer {
    protected override async beforeContainerCreated() {
      // The library itself would open the port on every interface.
      this.hostConfig.PortBindings = { [`${inside}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: `${outside}` }] };
    }
  }

  const recipe = new LoopbackContainer(wanted.image)
    .withExposedPorts({ container: inside, host: outside })
    .withEnvironment({ ...wanted.environment })
    .withCommand([...wanted.command])
    .withCopyContentToContainer(wanted.files.map(({ path, text }) => ({ target: path, content: text })))
    .withStartupTimeout(START_BOUND_MS);
  const { volume } = wanted;
  if (volume !== undefined) {
    recipe.withBindMounts([{ source: volume.name, target: volume.path, mode: 'rw' }]);
  }
  const started = await startedInTime(recipe.start());
  const engine = (await getContainerRuntimeClient()).container.getById(started.getId());
  const address = {
    host: started.getHost() === 'localhost' ? '127.0.0.1' : started.getHost(),
    port: outside,
  };
  let pid: number | undefined;

  const awaitReady = async () => {
    const run = async (command: string[]) => (await started.exec(command)).exitCode;
    const ready = async () =>
      (await answers(address.host, address.port, 1_000)) && (await wanted.ready(address, run));
    await waitUntil(`the container of ${wanted.image} takes connections`, READY_BOUND_MS, ready, 50);
    pid = (await engine.inspect()).State.Pid;
  };
  const isUp = async () => (await engine.inspect()).State.Running;
  const stop = async () => {
    if ((await engine.inspect()).State.Paused) await engine.unpause();
    if (await isUp()) await engine.stop({ t: 30 });
    pid = undefined;
  };

  try {
    await awaitReady();
  } catch (error) {
    await started.stop();
    throw error;
  }
  return {
    ...address,
    pid: () => pid,
    stop,
    kill: async () => {
      if (await isUp()) await engine.kill({ signal: 'SIGKILL' });
      await waitUntil('the killed container is gone', READY_BOUND_MS, async () => !(await isUp()), 20);
      pid = undefined;
    },
    restart: async () => {
      await stop();
      await engine.start();
      await awaitReady();
    },
    pause: () => engine.pause(),
    resume: () => engine.unpause(),
  };
}

/** A pull may hang without an end; a container that comes after all is not left behind. */
async function startedInTime(starting: Promise<StartedTestContainer>): Promise<StartedTestContainer> {
  const late = new AbortController();
  const bound = pause(START_BOUND_MS, undefined, { signal: late.signal, ref: false }).then(() => {
    starting.then((container) => container.stop()).catch(() => {});
    throw new Error(`the container did not start within ${START_BOUND_MS} ms`);
  });
  try {
    return await Promise.race([starting, bound]);
  } finally {
    bound.catch(() => {});
    late.abort();
  }
}

/** Deletes a volume and the stopped containers that hold it. */
export async function removeVolume(name: string): Promise<void> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const holders = await dockerode.listContainers({ all: true, filters: { volume: [name] } });
  for (const { Id } of holders) await dockerode.getContainer(Id).remove({ force: true });
  await dockerode.getVolume(name).remove();
}

type DockerAddress = { readonly socketPath: string } | { readonly host: string; readonly port: string };

function dockerAddresses(): readonly DockerAddress[] {
  const { dockerHost, home, runtimeDir } = infraEnvironment();
  if (dockerHost !== undefined) {
    if (dockerHost.startsWith('unix://')) return [{ socketPath: dockerHost.slice('unix://'.length) }];
    if (!URL.canParse(dockerHost) || !dockerHost.startsWith('tcp://')) return [];
    const { hostname, port } = new URL(dockerHost);
    return [{ host: hostname, port: port === '' ? '2375' : port }];
  }
  const sockets = [
    '/var/run/docker.sock',
    ...(home === undefined ? [] : [join(home, '.docker', 'run', 'docker.sock')]),
    ...(runtimeDir === undefined ? [] : [join(runtimeDir, 'docker.sock')]),
  ];
  return sockets.filter((path) => existsSync(path)).map((socketPath) => ({ socketPath }));
}

function ping(address: DockerAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ ...address, path: '/_ping', timeout: PING_BOUND_MS }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.once('timeout', () => asked.destroy());
    asked.once('error', () => resolve(false));
    asked.once('close', () => resolve(false));
    asked.end();
  });
}
