import { existsSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type Identity, type Log, waitUntil } from './chain.ts';
import { serverIdentity } from './identity.ts';
import { claimFolder, type Ownership } from './owner.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { type ClusterPlace, placeCluster, prepareCluster, SUPERUSER } from './postgres-cluster.ts';
import { childrenOf, commandLine, inspectProcess, isRunning, sendSignal } from './processes.ts';
import type { PostgresOptions, RunningPostgres } from './running-postgres.ts';
import { type ServerProcess, startServer } from './supervise.ts';

/** Crash recovery counts into it, so it is long. */
const READY_BOUND_MS = 60_000;
const STOP_BOUND_MS = 30_000;
const KILL_BOUND_MS = 10_000;
const LOG_LIMIT_BYTES = 10_000_000;
/** Someone else may take the port between choosing and binding it. */
const PORT_TRIES = 3;

/** Starts PostgreSQL from a folder of binaries; the claim on the data folder is held until stop(). */
export async function startLocalPostgres(
  binaries: PostgresBinaries,
  source: 'local' | 'embedded',
  options: PostgresOptions,
): Promise<RunningPostgres> {
  const log = options.log ?? (() => {});
  const claim = claimFolder(options.dataDir);
  try {
    const as = serverIdentity();
    const place = await placeCluster(options.dataDir, as, log);
    await stopLeftover(place, log);
    const password = await prepareCluster(place, binaries, as, options);
    const postgres = new LocalPostgres(claim, options.dataDir, place, binaries, source, as, password);
    await postgres.startOn(options.port);
    return postgres;
  } catch (error) {
    claim.release();
    throw error;
  }
}

/**
 * Stops the server that a killed process left behind over this data. A process is ours only if its
 * command line names our cluster: the number in the pid file may since belong to anything.
 */
export async function stopLeftover(place: ClusterPlace, log: Log): Promise<void> {
  const pid = postmasterOf(place);
  if (pid === undefined) return;
  if (!isRunning(pid) || !commandLine(pid).includes(place.cluster)) {
    // PostgreSQL clears away what a dead one left, but takes any process of that number, a zombie too, for its
    // other self and refuses to start.
    if (numberIsTaken(pid)) rmSync(pidFile(place), { force: true });
    return;
  }
  log(`Stopping the PostgreSQL (process ${pid}) that an earlier, killed process left behind.`);
  await shutDown(pid);
}

class LocalPostgres implements RunningPostgres {
  readonly host = '127.0.0.1';
  readonly superuser = SUPERUSER;
  private chosenPort = 0;
  private server: ServerProcess | undefined;

  constructor(
    private claim: Ownership | undefined,
    private readonly dataDir: string,
    private readonly place: ClusterPlace,
    private readonly binaries: PostgresBinaries,
    readonly source: 'local' | 'embedded',
    private readonly as: Identity | undefined,
    private readonly password: string,
  ) {}

  get port(): number {
    return this.chosenPort;
  }

  get url(): string {
    return `postgresql://${this.superuser}:${this.password}@${this.host}:${this.port}/postgres`;
  }

  pid(): number | undefined {
    return this.server !== undefined && isRunning(this.server.pid) ? this.server.pid : undefined;
  }

  async startOn(port: number | undefined): Promise<void> {
    for (let tries = 1; ; tries++) {
      this.chosenPort = port ?? (await freePort());
      try {
        return await this.start();
      } catch (error) {
        const taken = error instanceof StartFailure && /Address already in use/i.test(error.lastWords);
        if (!taken || port !== undefined || tries === PORT_TRIES) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    const pid = this.pid();
    if (pid !== undefined) await shutDown(pid);
    this.claim?.release();
    this.claim = undefined;
  }

  async kill(): Promise<void> {
    const pid = this.pid();
    if (pid !== undefined) await killFamily(pid);
  }

  async restart(): Promise<void> {
    const pid = this.pid();
    if (pid !== undefined) await shutDown(pid);
    this.claim ??= claimFolder(this.dataDir);
    const deadline = performance.now() + KILL_BOUND_MS;
    for (;;) {
      try {
        return await this.start();
      } catch (error) {
        // A child of the killed server may still be on its way out.
        const stillLeaving =
          error instanceof StartFailure &&
          /pre-existing shared memory|lock file .* already exists/.test(error.lastWords);
        if (!stillLeaving || performance.now() > deadline) throw error;
      }
    }
  }

  async pause(): Promise<void> {
    const pid = this.pid();
    if (pid !== undefined) await freezeFamily(pid);
  }

  async resume(): Promise<void> {
    const pid = this.pid();
    if (pid === undefined) return;
    for (const member of [...childrenOf(pid), pid]) sendSignal(member, 'SIGCONT');
  }

  private async start(): Promise<void> {
    const { cluster, configFile, logFile } = this.place;
    if (sizeOf(logFile) > LOG_LIMIT_BYTES) truncateSync(logFile);
    const logStart = sizeOf(logFile);
    const server = await startServer({
      file: join(this.binaries.folder, 'postgres'),
      args: ['-D', cluster, '-c', `config_file=${configFile}`, '-p', String(this.chosenPort)],
      as: this.as,
      logFile,
      stopSignal: 'SIGINT',
    });
    const ready = () => server.ended() !== undefined || isReady(this.place, server.pid);
    try {
      await waitUntil('PostgreSQL takes connections', READY_BOUND_MS, ready);
    } catch (error) {
      await killFamily(server.pid);
      throw error;
    }
    const ended = server.ended();
    if (ended !== undefined) throw new StartFailure(ended, logFile, readFileSync(logFile).subarray(logStart));
    this.server = server;
  }
}

class StartFailure extends Error {
  override readonly name = 'StartFailure';
  readonly lastWords: string;

  constructor(ended: string, logFile: string, output: Buffer) {
    const lastWords = output.toString('utf8').trim();
    super(`PostgreSQL ended at start with ${ended}; ${logFile} says:\n${lastWords.slice(-2_000)}`);
    this.lastWords = lastWords;
  }
}

function numberIsTaken(pid: number): boolean {
  try {
    return sendSignal(pid, 0);
  } catch {
    return true;
  }
}

async function shutDown(pid: number): Promise<void> {
  sendSignal(pid, 'SIGINT');
  for (const member of [...childrenOf(pid), pid]) sendSignal(member, 'SIGCONT');
  try {
    await waitUntil('PostgreSQL stops', STOP_BOUND_MS, () => !isRunning(pid));
  } catch {
    // Recovery at the next start repairs what a kill leaves, so a hanging shutdown may end this way.
    await killFamily(pid);
  }
}

async function killFamily(pid: number): Promise<void> {
  const family = await freezeFamily(pid);
  for (const member of family) sendSignal(member, 'SIGKILL');
  await waitUntil('killed PostgreSQL is gone', KILL_BOUND_MS, () => !family.some(isRunning));
}

/** The postmaster is stopped first, so that it can neither start further children nor notice lost ones. */
async function freezeFamily(pid: number): Promise<readonly number[]> {
  sendSignal(pid, 'SIGSTOP');
  await waitUntil('PostgreSQL is frozen', KILL_BOUND_MS, () => inspectProcess(pid)?.stopped !== false);
  const children = childrenOf(pid);
  for (const child of children) sendSignal(child, 'SIGSTOP');
  return [...children, pid];
}

/** The postmaster writes its state into the eighth line of its pid file; that is what pg_ctl waits for. */
function isReady(place: ClusterPlace, pid: number): boolean {
  const lines = pidFileLines(place);
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

function postmasterOf(place: ClusterPlace): number | undefined {
  const pid = Number(pidFileLines(place)[0]);
  return Number.isInteger(pid) && pid > 0 ? pid : undefined;
}

function pidFileLines(place: ClusterPlace): readonly string[] {
  try {
    return readFileSync(pidFile(place), 'utf8').split('\n');
  } catch {
    return [];
  }
}

function pidFile(place: ClusterPlace): string {
  return join(place.cluster, 'postmaster.pid');
}

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}
