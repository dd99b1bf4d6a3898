import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { publicKeyFile, type SigningKey, signingKeys } from '#event-log/signing-keys';
import type { SignedCheckpoint } from '#events/signed-checkpoint';
import { publishCheckpoint } from '#messaging/checkpoint-record';
import { openBus } from '#messaging/open-bus';
import { systemClock } from '#platform/clock';
import { endWithStdin } from '#platform/shutdown';
import type { NamedKey } from '#platform/variables';
import { withAuditLog } from '../../apps/audit/src/audit-log.ts';
import { EXIT, sentenceOf, UsageError } from '../../apps/audit/src/command-line/run-program.ts';
import { checkpointKeysAtHand, Settings } from '../../apps/audit/src/command-line/settings.ts';
import type { Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { printDamage } from '../../apps/audit/src/print-proof.ts';
import { type AdminOptions, database } from './admin-log.ts';
import { appendLines, readWholeLines } from './checkpoint-file.ts';
import { type SignedHead, signHead } from './sign-head.ts';

interface CheckpointOptions extends AdminOptions {
  readonly out?: string;
  readonly publish?: boolean;
  readonly every?: string;
  readonly json?: boolean;
}

/** Adds what signs the log for those who do not trust who keeps it. It reads under the role spillway_audit. */
export function addCheckpointTools(admin: Command, terminal: Terminal): void {
  database(admin.command('checkpoint'))
    .description(
      'Verifies the log from the last checkpoint on and signs where it stands. Ends with 1 when the log contradicts what was signed.',
    )
    .option('--out <file>', 'append it to this file, one JSON object a line; keep a copy elsewhere')
    .option('--publish', 'also publish it on the bus and wait until it is stored there')
    .option('--every <time>', 'go on for ever, such as 10m; also 30s, 1h')
    .option('--json', 'print one JSON document')
    .action((options: CheckpointOptions) => runCheckpoint(terminal, options));

  admin
    .command('public-keys')
    .description('Prints the public half of the keys that sign: what verifiers are given.')
    .option('--out <file>', 'write it to this file')
    .action((options: { readonly out?: string }) => {
      const text = publicKeyFile(ringOf(checkpointKeysAtHand()));
      if (options.out === undefined) return terminal.line(text.trimEnd());
      writeFileSync(options.out, text);
      return terminal.line(`Wrote ${options.out}.`);
    });
}

async function runCheckpoint(terminal: Terminal, options: CheckpointOptions): Promise<void> {
  const settings = new Settings(options);
  const signer = new Signer(settings, options, terminal);
  const everyMs = options.every === undefined ? null : durationMs(options.every);
  if (everyMs === null) {
    await signer.once();
    return;
  }
  const stop = stopSignal();
  const letGo = settings.endsWithStdin ? endWithStdin() : () => undefined;
  await signUntil(stop, signer, everyMs);
  letGo();
}

/** Until it is asked to end, or the log contradicts what was signed. */
async function signUntil(stop: StopSignal, signer: Signer, everyMs: number): Promise<void> {
  for (;;) {
    // What passes is tried again at the next turn; a finding stays one.
    await signer.once().catch((error: unknown) => {
      process.stderr.write(`spillway: ${sentenceOf(error)}\n`);
    });
    if (
      process.exitCode === EXIT.finding ||
      (await stop.within(signer.hasSeenEvents ? everyMs : Math.min(everyMs, EMPTY_LOG_MS)))
    )
      return;
  }
}

/** An empty log is looked at again soon: whoever asks first what was signed shall not wait a whole turn for it. */
const EMPTY_LOG_MS = 2_000;

/** Signs one head after the other, and publishes again what the bus did not take. */
class Signer {
  readonly #settings: Settings;
  readonly #options: CheckpointOptions;
  readonly #terminal: Terminal;
  readonly #ring: readonly SigningKey[];
  /** Lines so far, where there is no file. */
  #lines = '';
  #unpublished: SignedCheckpoint | null = null;
  #isFirst = true;
  #hasSeenEvents = false;

  constructor(settings: Settings, options: CheckpointOptions, terminal: Terminal) {
    this.#settings = settings;
    this.#options = options;
    this.#terminal = terminal;
    this.#ring = ringOf(settings.checkpointKeys());
    if (options.publish) settings.bus();
  }

  /** False as long as the log was empty. */
  get hasSeenEvents(): boolean {
    return this.#hasSeenEvents;
  }

  async once(): Promise<void> {
    const { out } = this.#options;
    const at = systemClock.now();
    const progress = this.#terminal.progress('verify');
    const sofar = out === undefined ? this.#lines : await readWholeLines(out);
    const signed = await withAuditLog(this.#settings.databaseUrl, (log) =>
      signHead(log, { ring: this.#ring, sofar, at, onProgress: progress.on }),
    ).finally(progress.end);
    // A process that starts does not know whether the one before it could publish.
    if (this.#isFirst && signed.kind === 'nothing_new') this.#unpublished = signed.checkpoint;
    const isEmptyAgain = !this.#isFirst && !this.#hasSeenEvents && isEmpty(signed);
    this.#isFirst = false;
    this.#hasSeenEvents ||= !isEmpty(signed);
    if (signed.kind === 'signed') this.#unpublished = signed.checkpoint;
    if (signed.kind !== 'damaged') await this.#keep(signed.kind === 'signed' ? signed.lines : '', at);
    if (!isEmptyAgain) this.#say(signed);
    if (signed.kind === 'damaged') process.exitCode = EXIT.finding;
    if (this.#options.publish) await this.#publish();
  }

  async #keep(lines: string, at: string): Promise<void> {
    const { out } = this.#options;
    if (out === undefined) this.#lines += lines;
    else await appendLines(out, lines, at);
  }

  #say(signed: SignedHead): void {
    if (this.#options.json) {
      this.#terminal.json(signed.kind === 'damaged' ? signed.damage : signed.checkpoint);
      return;
    }
    switch (signed.kind) {
      case 'signed': {
        const { pos, hash, key_id } = signed.checkpoint;
        this.#terminal.line(`Signed position ${pos}, hash ${hash}, by key ${key_id}.`);
        // A signature that is kept nowhere proves nothing, and must not look as if it did.
        if (this.#options.out === undefined && this.#options.publish !== true)
          this.#terminal.line('It is kept nowhere: give --out or --publish, or print it by --json.');
        return;
      }
      case 'nothing_new':
        this.#terminal.line(
          signed.checkpoint === null
            ? 'The log is empty: nothing to sign.'
            : `Position ${signed.checkpoint.pos} is signed already: nothing to do.`,
        );
        return;
      case 'damaged':
        printDamage(this.#terminal, signed.damage);
        return;
    }
  }

  async #publish(): Promise<void> {
    const checkpoint = this.#unpublished;
    if (checkpoint === null) return;
    const { url, prefix, deployment } = this.#settings.bus();
    const quiet = { onState: () => {}, onTrouble: () => {} };
    // How the events are dealt to partitions does not matter to one subject beside them.
    const { bus, topology } = openBus(
      { url, prefix, deployment, partitions: 1 },
      'spillway-checkpoint',
      quiet,
    );
    try {
      const id = `${checkpoint.log_id}:${checkpoint.pos}:${checkpoint.signature}`;
      await publishCheckpoint(bus, topology, { id, text: JSON.stringify(checkpoint) });
    } catch {
      const { out } = this.#options;
      throw new UsageError(
        `the bus did not take the checkpoint of position ${checkpoint.pos}${out === undefined ? '' : '; it stands in the file'}`,
      );
    } finally {
      await bus.close();
    }
    this.#unpublished = null;
  }
}

function isEmpty(signed: SignedHead): boolean {
  return signed.kind === 'nothing_new' && signed.checkpoint === null;
}

function ringOf(keys: readonly NamedKey[] | null): readonly SigningKey[] {
  if (keys === null) throw new UsageError('signing needs a key: set SPILLWAY_CHECKPOINT_KEYS');
  return signingKeys(keys);
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

function durationMs(text: string): number {
  const [, digits, unit = ''] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (digits === undefined || unitMs === undefined) {
    throw new UsageError('--every is a time such as 30s, 10m or 1h');
  }
  return Number(digits) * unitMs;
}

interface StopSignal {
  /** True as soon as this process was asked to end, false after `ms`. */
  within(ms: number): Promise<boolean>;
}

/** Tells whether this process was asked to end, also while it waits. */
function stopSignal(): StopSignal {
  let wake = (): void => {};
  let isStopped = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      isStopped = true;
      wake();
    });
  }
  return {
    within: (ms: number): Promise<boolean> =>
      new Promise((resolve) => {
        if (isStopped) return resolve(true);
        const timer = setTimeout(() => resolve(false), ms);
        wake = () => {
          clearTimeout(timer);
          resolve(true);
        };
      }),
  };
}
