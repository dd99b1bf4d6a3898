import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { type Identity, plainEnvironment, waitUntil } from './chain.ts';
import { sendSignal } from './processes.ts';

export interface ServerProcess {
  readonly pid: number;
  /** How it ended ("exit code 1", "signal SIGKILL"); undefined while it runs. */
  ended(): string | undefined;
}

export interface ServerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly as?: Identity | undefined;
  /** Gets standard output and error; opened by us, so the server's account needs no right to it. */
  readonly logFile: string;
  /** Asks it to shut down cleanly; sent when this process ends first. */
  readonly stopSignal: NodeJS.Signals;
}

const running = new Map<number, NodeJS.Signals>();
const LAST_STOP_BOUND_MS = 15_000;
let watching = false;

/**
 * Starts a server that ends with this process. It gets a session of its own, because Ctrl-C in a
 * terminal reaches every process of a session at once, and the apps must finish before their store.
 * Only processes started here are ever signalled.
 */
export async function startServer(command: ServerCommand): Promise<ServerProcess> {
  endServersWithThisProcess();
  const log = openSync(command.logFile, 'a', 0o600);
  const child = spawn(command.file, command.args, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
    env: plainEnvironment(),
    ...(command.as && { uid: command.as.uid, gid: command.as.gid }),
  });
  closeSync(log);
  let ended: string | undefined;
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  const { pid } = child;
  if (pid === undefined) {
    await waitUntil(`${command.file} reports why it cannot start`, 5_000, () => failure !== undefined);
    throw new Error(`${command.file} cannot be started: ${failure?.message ?? 'unknown'}`);
  }
  running.set(pid, command.stopSignal);
  child.once('exit', (code, signal) => {
    running.delete(pid);
    ended = signal === null ? `exit code ${code}` : `signal ${signal}`;
  });
  child.unref();
  return { pid, ended: () => ended };
}

function endServersWithThisProcess(): void {
  if (watching) return;
  watching = true;
  process.once('exit', askAllToStop);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const listener = () => {
      // Whoever else listens decides when this process ends; the exit hook does the rest.
      if (process.listenerCount(signal) > 1) return;
      askAllToStop();
      waitUntil('servers stop', LAST_STOP_BOUND_MS, () => running.size === 0)
        .catch((error: unknown) => console.error(error))
        .finally(() => {
          process.off(signal, listener);
          process.kill(process.pid, signal);
        });
    };
    process.on(signal, listener);
  }
}

function askAllToStop(): void {
  for (const [pid, signal] of running) {
    sendSignal(pid, signal);
    // A frozen server takes the request when it goes on.
    sendSignal(pid, 'SIGCONT');
  }
}
