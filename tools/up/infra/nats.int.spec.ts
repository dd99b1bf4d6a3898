import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ownNats, withNats } from '#support/infra';
import { type CompiledInfra, compileInfra } from '#support/infra-process';
import { serverFolder } from '#support/server-folder';
import { answers, freePort, waitUntil } from './chain.ts';
import { removeServerFolder } from './leftovers.ts';
import { startNats } from './nats.ts';
import { isRunning } from './processes.ts';
import type { NatsOptions } from './running-nats.ts';

const STOP_BOUND_MS = 20_000;
const ANSWER_BOUND_MS = 300;

let compiled: CompiledInfra;
beforeAll(() => {
  compiled = compileInfra();
});
afterAll(() => compiled.remove());

test('keeps its streams, port and key over SIGKILL and restart', async () => {
  const nats = await ownNats();
  onTestFinished(() => nats.remove());
  const { port } = nats;
  await publish(nats.url, 'kept');
  const killed = nats.pid() ?? 0;

  await nats.kill();
  expect(isRunning(killed)).toBe(false);
  expect(nats.pid()).toBeUndefined();

  await nats.restart();
  expect(nats.port).toBe(port);
  expect(await firstMessage(nats.url)).toBe('kept');
});

test('a frozen server accepts and says nothing; thawed it goes on', async () => {
  const nats = await ownNats();
  onTestFinished(() => nats.remove());
  await publish(nats.url, 'kept');

  await nats.freeze();
  expect(await answers(nats.host, nats.port, ANSWER_BOUND_MS)).toBe(true);
  expect(await answers(nats.host, nats.port, ANSWER_BOUND_MS, /^INFO/)).toBe(false);

  await nats.thaw();
  expect(await firstMessage(nats.url)).toBe('kept');
});

test('a frozen server can be stopped, and a stopped one restarted', async () => {
  const nats = await ownNats();
  onTestFinished(() => nats.remove());
  await nats.freeze();
  await nats.stop();
  await nats.stop();
  expect(nats.pid()).toBeUndefined();

  await nats.restart();
  expect(await answers(nats.host, nats.port, ANSWER_BOUND_MS, /^INFO/)).toBe(true);
});

test('what rests in the store cannot be read without the key, and key and configuration are private', async () => {
  const storeDir = serverFolder('nats');
  onTestFinished(() => removeServerFolder(storeDir));
  const nats = await start({ storeDir });
  await publish(nats.url, 'caller-text');

  const files = readdirSync(storeDir, { recursive: true, encoding: 'utf8' }).map((name) =>
    join(storeDir, name),
  );
  const stored = files.filter((file) => file.endsWith('.blk'));
  expect(stored).not.toEqual([]);
  for (const file of stored) expect(readFileSync(file).includes('caller-text')).toBe(false);
  for (const name of ['nats.conf', 'jetstream.key']) {
    expect(lstatSync(join(storeDir, name)).mode & 0o077).toBe(0);
  }
});

test('uses the configuration given, on our address all the same', async () => {
  const storeDir = serverFolder('nats');
  onTestFinished(() => removeServerFolder(storeDir));
  const nats = await start({ storeDir, configText: 'listen: 0.0.0.0:4222\nmax_payload: 4KB\n' });

  expect(nats.host).toBe('127.0.0.1');
  expect(await answers(nats.host, nats.port, ANSWER_BOUND_MS, /"max_payload":4096\b/)).toBe(true);
});

test('a configuration that is refused is an error with the words of the server', async () => {
  const storeDir = serverFolder('nats');
  onTestFinished(() => removeServerFolder(storeDir));
  await expect(start({ storeDir, configText: 'max_payload: nonsense' })).rejects.toThrow(/nats.conf/);
});

test('refuses a port that is taken, rather than take the server there for its own', async () => {
  const { url } = withSharedNats;
  const storeDir = serverFolder('nats');
  onTestFinished(() => removeServerFolder(storeDir));
  await expect(start({ storeDir, port: Number(new URL(url).port) })).rejects.toThrow(
    'address already in use',
  );
});
const withSharedNats = withNats();

describe('when the process that started it ends', () => {
  test('by SIGTERM, the server is stopped cleanly', async () => {
    const storeDir = serverFolder('nats');
    onTestFinished(() => removeServerFolder(storeDir));
    const parent = await compiled.start('startNats', { storeDir, controllable: true });

    await parent.end('SIGTERM');

    await waitUntil('the server is gone', STOP_BOUND_MS, () => !isRunning(parent.server.pid));
    expect(readFileSync(join(storeDir, 'nats-server.log'), 'utf8')).toContain('Server Exiting');
  });

  test('by kill -9, the next start finds the server, stops it and keeps its store', async () => {
    const storeDir = serverFolder('nats');
    onTestFinished(() => removeServerFolder(storeDir));
    const parent = await compiled.start('startNats', { storeDir, controllable: true });
    await publish(parent.server.url, 'kept');
    await parent.end('SIGKILL');
    expect(isRunning(parent.server.pid)).toBe(true);

    const next = await start({ storeDir });

    expect(isRunning(parent.server.pid)).toBe(false);
    expect(await firstMessage(next.url)).toBe('kept');
  });
});

describe('what is missing', () => {
  test('where no NATS can be had, that is an outcome with the command that helps', async () => {
    expect(await startNats({ storeDir: '/nonexistent', sources: [], controllable: true })).toEqual({
      status: 'unavailable',
      reason: 'NATS cannot be started here (no source was allowed)',
      fix: expect.stringMatching(/^run `.*install nats-server`, or set SPILLWAY_NATS_URL to one that runs$/),
    });
  });

  test('where it is neither installed nor to be fetched, each reason is named', async () => {
    const folder = serverFolder('cache');
    onTestFinished(() => removeServerFolder(folder));
    vi.stubEnv('SPILLWAY_CACHE_DIR', folder);
    vi.stubEnv('PATH', '/nonexistent');
    onTestFinished(() => void vi.unstubAllEnvs());

    const outcome = await startNats({ storeDir: '/nonexistent', sources: ['download'], controllable: true });
    expect(outcome).toMatchObject({
      status: 'unavailable',
      reason: expect.stringContaining('apt-get, which fetches nats-server on Debian and Ubuntu, is not here'),
    });
  });
});

describe('given by URL', () => {
  test('is used and never controlled', async () => {
    const given = await startNats({ storeDir: '/nonexistent', url: withSharedNats.url });
    expect(given).toMatchObject({ status: 'running', source: 'given', url: withSharedNats.url });
    if (given.status !== 'running') return;
    await expect(given.kill()).rejects.toThrow('not ours to control');
    await given.stop();
    expect((await connected(withSharedNats.url, async (connection) => connection.info))?.jetstream).toBe(
      true,
    );
  });

  test('is an error where it does not answer: no other takes its place', async () => {
    const url = `nats://127.0.0.1:${await freePort()}`;
    await expect(startNats({ storeDir: '/nonexistent', url })).rejects.toThrow('does not answer');
  });
});

async function start(options: NatsOptions) {
  const nats = await startNats({ controllable: true, ...options });
  if (nats.status === 'unavailable') throw new Error(`${nats.reason}: ${nats.fix}.`);
  onTestFinished(() => nats.stop());
  return nats;
}

async function publish(url: string, text: string): Promise<void> {
  await connected(url, async (connection) => {
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: 'kept', subjects: ['kept'], storage: 'file' });
    await jetstream(connection).publish('kept', text);
  });
}

async function firstMessage(url: string): Promise<string | undefined> {
  return await connected(url, async (connection) => {
    const manager = await jetstreamManager(connection);
    return (await manager.streams.getMessage('kept', { seq: 1 }))?.string();
  });
}

async function connected<T>(
  url: string,
  use: (connection: Awaited<ReturnType<typeof connect>>) => Promise<T>,
): Promise<T> {
  const connection = await connect({ servers: url, timeout: 5_000 });
  try {
    return await use(connection);
  } finally {
    await connection.close();
  }
}
