import { type ChildProcess, spawn } from 'node:child_process';
import type { WriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { childLog } from './child-log.ts';
import { waitUntil } from './infra/chain.ts';
import { sendSignal } from './infra/processes.ts';

export type App = 'ingest' | 'classifier' | 'consent' | 'provisioner' | 'audit';

export interface AppProcessOptions {
  readonly app: App;
  readonly port: number;
  /** All variables of the process: nothing is inherited, so that a run is the same everywhere. */
  readonly env: Readonly<Record<string, string>>;
  /** Gets standard output and error. */
  readonly logFile: string;
  readonly startDeadlineMs?: number;
  /** Told when the process ends without being asked to. */
  readonly onUnexpectedExit?: (app: App, how: string) => void;
}

/** Apps always run built, also when this file itself is run from its source by a test. */
const BUILT = new URL(import.meta.url.includes('/dist/tools/') ? '../../' : '../../dist/', import.meta.url);

/** The audit's main file is its command line. */
const ENTRY: Readonly<Partial<Record<App, string>>> = { audit: 'server' };

const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 15_000;

/** One running app: `node dist/apps/X/src/main.js` (of the audit `server.js`), never `nest start`, which does not hand on SIGTERM. */
export class AppProcess {
  readonly app: App;
  readonly #options: AppProcessOptions;
  #child: ChildProcess | null = null;
  #log: WriteStream | null = null;
  #ended: string | null = null;
  #expected = false;

  constructor(options: AppProcessOptions) {
    this.app = options.app;
    this.#options = options;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#options.port}`;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** How the last process ended, such as "code 0" or "SIGKILL"; null while one runs. */
  get ended(): string | null {
    return this.#ended;
  }

  /** Starts the process and waits until it answers. Rejects with the reason when it ends first. */
  async start(): Promise<void> {
    const { app, env, port, logFile, startDeadlineMs, onUnexpectedExit } = this.#options;
    this.#ended = null;
    this.#expected = false;
    const main = fileURLToPath(new URL(`apps/${app}/src/${ENTRY[app] ?? 'main'}.js`, BUILT));
    const child = spawn(process.execPath, ['--enable-source-maps', main], {
      env: { ...env, SPILLWAY_PORT: String(port), SPILLWAY_END_WITH_STDIN: 'yes' },
      // Ctrl-C goes to all of a terminal's group. An app would get it and then our SIGTERM, and a second signal
      // cuts an orderly end off. It ends with this process all the same, by its standard input.
      detached: true,
      // Standard input is never written: it closes when this process ends, however it ends.
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#log = childLog(child, logFile);
    child.once('exit', (code, signal) => {
      this.#ended = signal ?? `code ${code}`;
      if (!this.#expected) onUnexpectedExit?.(app, this.#ended);
    });
    await waitUntil(`${app} answers`, startDeadlineMs ?? START_DEADLINE_MS, async () => {
      if (this.#ended !== null) {
        throw new Error(`${app} ended with ${this.#ended} before it answered; see ${logFile}`);
      }
      return await answers(`${this.url}/health/live`);
    });
  }

  /** SIGTERM, and waits for the end. Returns how it ended. */
  async stop(): Promise<string> {
    return this.#end('SIGTERM');
  }

  /** SIGKILL, and waits for the end. */
  async kill(): Promise<string> {
    return this.#end('SIGKILL');
  }

  /** Waits until it has ended by itself, as a process does that a test has told to kill itself. */
  async untilEnded(boundMs: number): Promise<string> {
    this.#expected = true;
    await waitUntil(`${this.app} ends by itself`, boundMs, () => this.#ended !== null);
    this.#log?.end();
    return this.#ended ?? 'never started';
  }

  pause(): void {
    if (this.pid !== null) sendSignal(this.pid, 'SIGSTOP');
  }

  resume(): void {
    if (this.pid !== null) sendSignal(this.pid, 'SIGCONT');
  }

  /** True when every check of the app passes. */
  async isReady(): Promise<boolean> {
    return answers(`${this.url}/health/ready`);
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<string> {
    this.#expected = true;
    const pid = this.pid;
    if (pid !== null && this.#ended === null) {
      sendSignal(pid, signal);
      await waitUntil(`${this.app} ends`, STOP_DEADLINE_MS, () => this.#ended !== null).catch(() => {
        sendSignal(pid, 'SIGKILL');
      });
      await waitUntil(`${this.app} ends`, STOP_DEADLINE_MS, () => this.#ended !== null);
    }
    this.#log?.end();
    return this.#ended ?? 'never started';
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
