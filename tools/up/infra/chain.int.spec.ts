import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { serverFolder } from '#support/server-folder';
import { cached } from './cache.ts';
import { answers, freePort, runCommand, waitUntil } from './chain.ts';
import { dockerAnswers } from './docker.ts';
import { removeServerFolder } from './leftovers.ts';
import { claimFolder } from './owner.ts';
import { startServer } from './supervise.ts';

test('no port is handed out twice', async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()));
  expect(new Set(ports).size).toBe(200);
});

test('waiting ends at its bound and names what did not come', async () => {
  await expect(waitUntil('the sea is empty', 20, () => false)).rejects.toThrow(
    'Waited 20 ms in vain: the sea is empty.',
  );
});

test('a command that hangs is ended at its bound, one that is missing is a result', async () => {
  const hanging = await runCommand('sleep', ['60'], { timeoutMs: 50 });
  expect(hanging).toMatchObject({ ok: false, complaint: 'sleep took longer than 50 ms' });
  const missing = await runCommand('no-such-program', [], { timeoutMs: 50 });
  expect(missing).toMatchObject({ ok: false, complaint: expect.stringContaining('ENOENT') });
});

test('a server program that is missing is said at once', async () => {
  const folder = disposableFolder();
  const command = { file: '/no/such/server', args: [], logFile: join(folder, 'log') };
  await expect(startServer({ ...command, stopSignal: 'SIGTERM' })).rejects.toThrow('cannot be started');
});

test('of two that fill the cache at once, one wins and both get a whole entry', async () => {
  const folder = disposableFolder();
  vi.stubEnv('SPILLWAY_CACHE_DIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  let builds = 0;
  const build = async (draft: string) => {
    builds += 1;
    await waitUntil('both are building', 1_000, () => builds === 2);
    mkdirSync(join(draft, 'inside'));
    writeFileSync(join(draft, 'inside', 'file'), 'whole');
  };

  const entries = await Promise.all([1, 2].map(() => cached('entry', undefined, () => {}, build)));

  expect(entries).toEqual([join(folder, 'entry'), join(folder, 'entry')]);
  expect(readFileSync(join(folder, 'entry', 'inside', 'file'), 'utf8')).toBe('whole');
  expect(readdirSync(folder)).toEqual(['entry']);
});

test('a build that fails leaves nothing in the cache', async () => {
  const folder = disposableFolder();
  vi.stubEnv('SPILLWAY_CACHE_DIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const failing = cached(
    'entry',
    undefined,
    () => {},
    async () => {
      throw new Error('no network');
    },
  );
  await expect(failing).rejects.toThrow('no network');
  expect(readdirSync(folder)).toEqual([]);
});

test('a folder whose owner is dead can be claimed, one whose owner lives cannot', () => {
  const folder = disposableFolder();
  writeFileSync(join(folder, 'owner'), `${process.pid} an earlier process of this number\n`);
  const claim = claimFolder(folder);
  onTestFinished(() => claim.release());
  expect(() => claimFolder(folder)).toThrow(`in use by process ${process.pid}`);

  claim.release();
  expect(existsSync(join(folder, 'owner'))).toBe(false);
});

test('a Docker engine counts when it answers, not when a socket is there', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const engine = createServer((_request, response) => response.end('OK')).listen(0, '127.0.0.1');
  onTestFinished(() => void engine.close());
  const silent = createTcpServer(() => {}).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await waitUntil('both listen', 1_000, () => engine.listening && silent.listening);

  vi.stubEnv('DOCKER_HOST', `tcp://127.0.0.1:${portOf(engine.address())}`);
  expect(await dockerAnswers()).toBe(true);

  vi.stubEnv('DOCKER_HOST', `tcp://127.0.0.1:${portOf(silent.address())}`);
  const asked = performance.now();
  expect(await dockerAnswers()).toBe(false);
  expect(performance.now() - asked).toBeLessThan(2_000);

  vi.stubEnv('DOCKER_HOST', 'unix:///no/such/docker.sock');
  expect(await dockerAnswers()).toBe(false);
});

test('nobody listening is an answer, not an error', async () => {
  expect(await answers('127.0.0.1', await freePort(), 100)).toBe(false);
});

function portOf(address: ReturnType<ReturnType<typeof createTcpServer>['address']>): number {
  return address !== null && typeof address === 'object' ? address.port : 0;
}

function disposableFolder(): string {
  const folder = serverFolder('chain');
  onTestFinished(() => removeServerFolder(folder));
  return folder;
}
