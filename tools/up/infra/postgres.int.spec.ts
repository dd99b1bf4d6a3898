import { spawn } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createDatabase, ownPostgres, withPostgres } from '#support/infra';
import { type CompiledInfra, compileInfra } from '#support/infra-process';
import { serverFolder } from '#support/server-folder';
import { type Identity, runCommand, waitUntil } from './chain.ts';
import { projectRoot } from './environment.ts';
import { serverIdentity } from './identity.ts';
import { removeServerFolder } from './leftovers.ts';
import { startPostgres } from './postgres.ts';
import { findEmbeddedBinaries, findLocalBinaries, usableCopy } from './postgres-binaries.ts';
import { childrenOf, commandLine, isRunning } from './processes.ts';
import type { PostgresOptions } from './running-postgres.ts';

const STOP_BOUND_MS = 20_000;
const as = serverIdentity();
const local = await findLocalBinaries(as, undefined);
const embedded = await findEmbeddedBinaries(as, undefined);
const nobody: Identity = { name: 'nobody', uid: 65_534, gid: 65_534 };

let compiled: CompiledInfra;
beforeAll(() => {
  compiled = compileInfra();
});
afterAll(() => compiled.remove());

describe.each([
  { source: 'local', found: local },
  { source: 'embedded', found: embedded },
] as const)('from $source binaries', ({ source, found }) => {
  let postgres: Awaited<ReturnType<typeof ownPostgres>>;
  beforeAll(async () => {
    if (!('reason' in found)) postgres = await ownPostgres({ sources: [source] });
  });
  afterAll(() => postgres?.remove());

  test.skipIf('reason' in found)('takes connections with its password and on loopback only', async () => {
    expect(postgres.source).toBe(source);
    expect(await ask(postgres.url, 'SHOW listen_addresses')).toEqual(['127.0.0.1']);
    expect(await ask(postgres.url, 'SHOW unix_socket_directories')).toEqual(['']);
    const stranger = new URL(postgres.url);
    stranger.password = 'guessed';
    await expect(ask(stranger.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
  });

  test.skipIf('reason' in found)('keeps what it acknowledged over kill -9 and restart', async () => {
    const { port } = postgres;
    await ask(postgres.url, 'CREATE TABLE kept (n int)');
    await ask(postgres.url, 'INSERT INTO kept VALUES (7)');
    const postmaster = postgres.pid() ?? 0;
    const children = childrenOf(postmaster);
    expect(children).not.toEqual([]);

    await postgres.kill();
    expect([postmaster, ...children].filter(isRunning)).toEqual([]);
    expect(postgres.pid()).toBeUndefined();

    await postgres.restart();
    expect(postgres.port).toBe(port);
    expect(await ask(postgres.url, 'SELECT n FROM kept')).toEqual([7]);
  });
});

describe('over one data folder', () => {
  // Each test leaves a stopped server: the next one need not wait for a new cluster.
  const dataDir = serverFolder('postgres');
  afterAll(() => removeServerFolder(dataDir));

  test('commits durably, and its log never holds what callers sent', async () => {
    const postgres = await start({ dataDir });
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      expect(await ask(postgres.url, `SHOW ${setting}`)).toEqual(['on']);
    }

    await expect(ask(postgres.url, "SELECT 'caller-text'::int")).rejects.toThrow('caller-text');
    await expect(ask(postgres.url, 'SELECT $1::int', ['caller-text'])).rejects.toThrow('caller-text');

    const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8');
    expect(log).toContain('ready to accept connections');
    expect(log).not.toContain('caller-text');
  });

  test('starts again over the same data folder after a stop', async () => {
    const first = await start({ dataDir });
    await ask(first.url, 'CREATE TABLE after_stop AS SELECT 7 AS n');
    await first.stop();
    await first.stop();

    const second = await start({ dataDir });
    expect(await ask(second.url, 'SELECT n FROM after_stop')).toEqual([7]);
  });

  test('refuses a data folder that a living process uses, and names that process', async () => {
    const first = await start({ dataDir });

    await expect(start({ dataDir })).rejects.toThrow(`in use by process ${process.pid}`);
    expect(await ask(first.url, 'SELECT 1 AS one')).toEqual([1]);
  });

  test('a paused server keeps its connections and answers when it is resumed', async () => {
    const postgres = await start({ dataDir });
    const client = await connect(postgres.url);
    await postgres.pause();
    let answered = false;
    const answer = client.query('SELECT 1').then(() => {
      answered = true;
    });
    const fresh = new pg.Client({ connectionString: postgres.url, connectionTimeoutMillis: 200 });
    await expect(fresh.connect()).rejects.toThrow('timeout');
    expect(answered).toBe(false);

    await postgres.resume();
    await answer;
    await client.end();
  });

  describe('when the process that started it ends', () => {
    test.each(['SIGTERM', 'SIGINT'] as const)('by %s, the server is stopped cleanly', async (signal) => {
      const parent = await compiled.start('startPostgres', { dataDir, controllable: true, throwaway: true });
      const logFile = join(dataDir, 'postgres.log');
      const before = readFileSync(logFile, 'utf8').length;

      await parent.end(signal);

      await waitUntil('the server is gone', STOP_BOUND_MS, () => !isRunning(parent.server.pid));
      expect(readFileSync(logFile, 'utf8').slice(before)).toContain('database system is shut down');
    });

    test('by kill -9, the next start finds the server, stops it and keeps its data', async () => {
      const parent = await compiled.start('startPostgres', { dataDir, controllable: true, throwaway: true });
      await ask(parent.server.url, 'CREATE TABLE kept AS SELECT 7 AS n');
      await parent.end('SIGKILL');
      expect(isRunning(parent.server.pid)).toBe(true);

      const said: string[] = [];
      const next = await start({ dataDir, log: (line) => said.push(line) });

      expect(isRunning(parent.server.pid)).toBe(false);
      expect(said.join('\n')).toContain(`Stopping the PostgreSQL (process ${parent.server.pid})`);
      expect(await ask(next.url, 'SELECT n FROM kept')).toEqual([7]);
    });

    test('a process that since got the number in the pid file is left alone', async () => {
      const first = await start({ dataDir });
      await first.stop();
      const bystander = spawn('sleep', ['60'], { stdio: 'ignore', ...(as && { uid: as.uid, gid: as.gid }) });
      onTestFinished(() => void bystander.kill());
      const pidFile = join(dataDir, 'cluster', 'postmaster.pid');
      writeFileSync(pidFile, `${bystander.pid}\n${join(dataDir, 'cluster')}\n0\n0\n\n127.0.0.1\n\nready\n`);

      const second = await start({ dataDir });

      expect(await ask(second.url, 'SELECT 1 AS one')).toEqual([1]);
      expect(isRunning(bystander.pid ?? 0)).toBe(true);
    });
  });
});

describe.runIf(process.getuid?.() === 0)('as root', () => {
  test('runs the server under an account without rights', async () => {
    const dataDir = serverFolder('postgres');
    onTestFinished(() => removeServerFolder(dataDir));
    const postgres = await start({ dataDir });
    const owner = lstatSync(`/proc/${postgres.pid()}`).uid;
    expect(owner).toBe(as?.uid);
    expect(owner).not.toBe(0);
  });

  test('keeps the data elsewhere, and says so, where that account cannot enter', async () => {
    const home = mkdtempSync(join(tmpdir(), 'spillway-private-'));
    chmodSync(home, 0o700);
    const dataDir = join(home, 'data');
    onTestFinished(() => rmSync(home, { recursive: true }));
    onTestFinished(() => removeServerFolder(dataDir));
    const said: string[] = [];
    const first = await start({ dataDir, log: (line) => said.push(line) });
    await ask(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    const elsewhere = readFileSync(join(dataDir, 'moved-to'), 'utf8').trim();
    expect(said.join('\n')).toContain(`kept in ${elsewhere}`);

    const second = await start({ dataDir });
    expect(commandLine(second.pid() ?? 0)).toContain(join(elsewhere, 'cluster'));
    expect(await ask(second.url, 'SELECT n FROM kept')).toEqual([7]);
  });

  test('an ordinary user gets a server of their own', async ({ skip }) => {
    const node = await runCommand(process.execPath, ['--version'], { as: nobody, timeoutMs: 5_000 });
    const source = join(projectRoot(), 'package.json');
    const read = await runCommand('/bin/cat', [source], { as: nobody, timeoutMs: 5_000 });
    if (!node.ok || !read.ok) skip('nobody can run neither Node nor this checkout');
    const dataDir = mkdtempSync(join(tmpdir(), 'spillway-nobody-'));
    chownSync(dataDir, nobody.uid, nobody.gid);
    onTestFinished(() => removeServerFolder(dataDir));

    const parent = await compiled.start(
      'startPostgres',
      { dataDir, controllable: true, throwaway: true },
      nobody,
    );
    onTestFinished(() => parent.end('SIGTERM'));

    expect(lstatSync(`/proc/${parent.server.pid}`).uid).toBe(nobody.uid);
    expect(await ask(parent.server.url, 'SELECT 1 AS one')).toEqual([1]);
  });
});

describe('what is missing', () => {
  test('where nothing can be had, one sentence names the command that helps', async () => {
    const dataDir = serverFolder('postgres');
    onTestFinished(() => removeServerFolder(dataDir));
    await expect(start({ dataDir, sources: [] })).rejects.toThrow(
      /^PostgreSQL cannot be started here \(.*\): run `npm install --include=optional`, or set [A-Z_]+ to one that runs\.$/,
    );
  });

  test('data of another version is not touched, and the version is named', async () => {
    const dataDir = serverFolder('postgres');
    onTestFinished(() => removeServerFolder(dataDir));
    await mkdir(join(dataDir, 'cluster'));
    writeFileSync(join(dataDir, 'cluster', 'PG_VERSION'), '12\n');

    await expect(start({ dataDir, sources: ['local', 'embedded'] })).rejects.toThrow(
      /written by PostgreSQL 12 .*: install PostgreSQL 12, or move the data folder away to start anew\.$/,
    );
  });

  test.skipIf('reason' in embedded)('libraries that npm left without links get them in a copy', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-package-'));
    chmodSync(folder, 0o755);
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const installed = 'reason' in embedded ? '' : join(embedded.folder, '..');
    const native = join(folder, 'native');
    await cp(installed, native, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
    vi.stubEnv('SPILLWAY_CACHE_DIR', join(folder, 'cache'));
    onTestFinished(() => void vi.unstubAllEnvs());
    const broken = await runCommand(join(native, 'bin', 'postgres'), ['--version'], { as, timeoutMs: 5_000 });
    expect(broken.ok).toBe(false);

    const copy = await usableCopy({ native, version: 'unlinked' }, as, () => {});

    expect(copy).not.toBe(native);
    const repaired = await runCommand(join(copy, 'bin', 'postgres'), ['--version'], { as, timeoutMs: 5_000 });
    expect(repaired.stdout).toContain('PostgreSQL');
  });
});

describe('given by URL', () => {
  const shared = withPostgres();

  test('is used and never controlled', async () => {
    const given = await startPostgres({ dataDir: '/nonexistent', url: shared.url });

    expect(given).toMatchObject({ source: 'given', url: shared.url });
    expect(given.pid()).toBeUndefined();
    await expect(given.kill()).rejects.toThrow('not ours to control');
    await given.stop();
    expect(await ask(shared.url, 'SELECT 1 AS one')).toEqual([1]);
  });

  test('is an error where it does not answer: no other takes its place', async () => {
    const url = 'postgresql://someone@127.0.0.1:1/postgres';
    await expect(startPostgres({ dataDir: '/nonexistent', url })).rejects.toThrow(
      'does not answer at 127.0.0.1:1',
    );
  });
});

test('each spec file has a database of its own, copied from another if asked', async () => {
  const one = await createDatabase();
  onTestFinished(() => one.drop());
  await ask(one.url, 'CREATE TABLE kept AS SELECT 7 AS n');
  const copy = await createDatabase({ template: one.name });
  onTestFinished(() => copy.drop());

  await ask(one.url, 'DROP TABLE kept');
  expect(await ask(copy.url, 'SELECT n FROM kept')).toEqual([7]);
});

/** Hooks of onTestFinished run last first, so the server is stopped before its folder is removed. */
async function start(options: PostgresOptions) {
  const postgres = await startPostgres({ controllable: true, throwaway: true, ...options });
  onTestFinished(() => postgres.stop());
  return postgres;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // A server that is stopped under a connection tells it so.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** The first column of all rows. */
async function ask(url: string, sql: string, values: readonly unknown[] = []): Promise<readonly unknown[]> {
  const client = await connect(url);
  try {
    const { rows } = await client.query({ text: sql, values: [...values], rowMode: 'array' });
    return rows.map((row) => row[0]);
  } finally {
    await client.end();
  }
}
