import { type ChildProcess, spawn } from 'node:child_process';
import type { WriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { childLog } from './child-log.ts';
import { waitUntil } from './infra/chain.ts';
import { sendSignal } from './infra/processes.ts';

export interface SignerOptions {
  /** A login that may read the log and no more. */
  readonly databaseUrl: string;
  readonly checkpointKeysFile: string;
  /** The checkpoints go there, one a line. */
  readonly checkpointsFile: string;
  readonly deployment: string;
  /** Absent = there is no bus to publish to. */
  readonly natsUrl?: string;
  readonly busPrefix?: string;
  /** Gets standard output and error. */
  readonly logFile: string;
  /** Told when it ends without being asked to, as it does when the log contradicts what was signed. */
  readonly onUnexpectedExit: (how: string) => void;
}

/** The schedule of docker-compose.yml. */
export const SIGNED_EVERY = '10m';

const BUILT = new URL(import.meta.url.includes('/dist/tools/') ? '../../' : '../../dist/', import.meta.url);
const STOP_DEADLINE_MS = 10_000;

/** `spillway admin checkpoint --every`, as Compose runs it: a process of its own, with a key that no app has (design 5). */
export class SignerProcess {
  readonly #child: ChildProcess;
  readonly #log: WriteStream;
  #ended: string | null = null;
  #expected = false;

  constructor(options: SignerOptions) {
    const { databaseUrl, checkpointKeysFile, checkpointsFile, deployment, natsUrl, busPrefix } = options;
    const main = fileURLToPath(new URL('tools/spillway/main.js', BUILT));
    const bus = natsUrl === undefined ? [] : ['--publish'];
    const call = ['admin', 'checkpoint', '--every', SIGNED_EVERY, '--out', checkpointsFile, ...bus];
    this.#child = spawn(process.execPath, ['--enable-source-maps', main, ...call], {
      env: {
        PATH: process.env.PATH ?? '',
        SPILLWAY_DATABASE_URL: databaseUrl,
        SPILLWAY_CHECKPOINT_KEYS_FILE: checkpointKeysFile,
        SPILLWAY_DEPLOYMENT: deployment,
        ...(natsUrl === undefined ? {} : { SPILLWAY_NATS_URL: natsUrl }),
        ...(busPrefix === undefined ? {} : { SPILLWAY_BUS_PREFIX: busPrefix }),
        SPILLWAY_END_WITH_STDIN: 'yes',
      },
      // Out of reach of a terminal's Ctrl-C, like the apps: it is stopped once, and ends with this process all the same.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#log = childLog(this.#child, options.logFile);
    this.#child.once('exit', (code, signal) => {
      this.#ended = signal ?? `code ${code}`;
      if (!this.#expected) options.onUnexpectedExit(this.#ended);
    });
  }

  /** Lets a signature that has begun be finished, and waits for the end. */
  async stop(): Promise<void> {
    this.#expected = true;
    const { pid } = this.#child;
    if (pid !== undefined && this.#ended === null) {
      sendSignal(pid, 'SIGTERM');
      const ends = () => waitUntil('the signer ends', STOP_DEADLINE_MS, () => this.#ended !== null);
      await ends().catch(() => {
        sendSignal(pid, 'SIGKILL');
        return ends();
      });
    }
    this.#log.end();
  }
}
