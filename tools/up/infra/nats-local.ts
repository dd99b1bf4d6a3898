import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { answers, freePort, type Log, waitUntil } from './chain.ts';
import { natsConfigText, natsGreeting, natsStoreKey } from './nats-config.ts';
import { claimFolder, type Ownership } from './owner.ts';
import { commandLine, isRunning, sendSignal } from './processes.ts';
import type { NatsOptions, RunningNats } from './running-nats.ts';
import { type ServerProcess, startServer } from './supervise.ts';

/** Reading a large store back counts into it. */
const READY_BOUND_MS = 30_000;
const STOP_BOUND_MS = 15_000;
const KILL_BOUND_MS = 10_000;
const LOG_LIMIT_BYTES = 10_000_000;
/** Someone else may take the port between choosing and binding it. */
const PORT_TRIES = 3;

/** Starts NATS from a binary; the claim on the store folder is held until stop(). */
export async function startLocalNats(
  binary: string,
  source: 'local' | 'download',
  options: NatsOptions,
): Promise<RunningNats> {
  const storeDir = resolve(options.storeDir);
  const claim = claimFolder(storeDir);
  try {
    await stopLeftoverNats(storeDir, options.log ?? (() => {}));
    const config = options.configText ?? natsConfigText(storeDir, natsStoreKey(storeDir));
    rmSync(configFile(storeDir), { force: true });
    writeFileSync(configFile(storeDir), config, { mode: 0o600 });
    const nats = new LocalNats(claim, storeDir, binary, source);
    await nats.startOn(options.port);
    return nats;
  } catch (error) {
    claim.release();
    throw error;
  }
}

/** Stops the server that a killed process left behind over this store; known by its command line. */
export async function stopLeftoverNats(storeDir: string, log: Log): Promise<void> {
  const pid = existsSync(pidFile(storeDir)) ? Number(readFileSync(pidFile(storeDir), 'utf8')) : 0;
  if (!(pid > 0) || !commandLine(pid).includes(configFile(resolve(storeDir)))) return;
  log(`Stopping the NATS (process ${pid}) that an earlier, killed process left behind.`);
  await shutDown(pid);
}

class LocalNats implements RunningNats {
  readonly status = 'running';
  readonly host = '127.0.0.1';
  private chosenPort = 0;
  private server: ServerProcess | undefined;

  constructor(
    private claim: Ownership | undefined,
    private readonly storeDir: string,
    private readonly binary: string,
    readonly source: 'local' | 'download',
  ) {}

  get port(): number {
    return this.chosenPort;
  }

  get url(): string {
    return `nats://${this.host}:${this.port}`;
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
        const taken = error instanceof Error && /address already in use/.test(error.message);
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
    if (pid !== undefined) await killNow(pid);
  }

  async restart(): Promise<void> {
    const pid = this.pid();
    if (pid !== undefined) await shutDown(pid);
    this.claim ??= claimFolder(this.storeDir);
    await this.start();
  }

  async freeze(): Promise<void> {
    const pid = this.pid();
    if (pid !== undefined) sendSignal(pid, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    const pid = this.pid();
    if (pid !== undefined) sendSignal(pid, 'SIGCONT');
  }

  private async start(): Promise<void> {
    const logFile = join(this.storeDir, 'nats-server.log');
    if (sizeOf(logFile) > LOG_LIMIT_BYTES) truncateSync(logFile);
    const logStart = sizeOf(logFile);
    // Asked for by name, so that another server on the port is not taken for ours.
    const name = `spillway-${randomBytes(6).toString('hex')}`;
    const address = ['-a', this.host, '-p', String(this.port), '-n', name];
    const server = await startServer({
      file: this.binary,
      args: ['-c', configFile(this.storeDir), ...address],
      logFile,
      stopSignal: 'SIGTERM',
    });
    writeFileSync(pidFile(this.storeDir), String(server.pid));
    const ready = async () =>
      server.ended() !== undefined || (await answers(this.host, this.port, 1_000, natsGreeting(name)));
    try {
      await waitUntil('NATS takes connections', READY_BOUND_MS, ready);
    } catch (error) {
      await killNow(server.pid);
      throw error;
    }
    const ended = server.ended();
    if (ended !== undefined) {
      const lastWords = readFileSync(logFile).subarray(logStart).toString('utf8').trim().slice(-2_000);
      throw new Error(`NATS ended at start with ${ended}; ${logFile} says:\n${lastWords}`);
    }
    this.server = server;
  }
}

async function shutDown(pid: number): Promise<void> {
  sendSignal(pid, 'SIGTERM');
  sendSignal(pid, 'SIGCONT');
  try {
    await waitUntil('NATS stops', STOP_BOUND_MS, () => !isRunning(pid));
  } catch {
    // The bus is disposable and the log is not: a hanging broker is not worth waiting for.
    await killNow(pid);
  }
}

async function killNow(pid: number): Promise<void> {
  sendSignal(pid, 'SIGKILL');
  await waitUntil('killed NATS is gone', KILL_BOUND_MS, () => !isRunning(pid));
}

function configFile(storeDir: string): string {
  return join(storeDir, 'nats.conf');
}

function pidFile(storeDir: string): string {
  return join(storeDir, 'nats-server.pid');
}

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}
