import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import pc from 'picocolors';
import { z } from 'zod';
import { processTerminal, type Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { projectRoot } from '../up/infra/environment.ts';
import { isRunning } from '../up/infra/processes.ts';
import { readInstance } from '../up/instance.ts';
import { Calls } from './calls.ts';
import { folded } from './lines.ts';
import { type DemoStack, startOwnStack } from './own-stack.ts';
import { proveStory } from './proof.ts';
import { Stage } from './stage.ts';
import { tellStory } from './story.ts';

const PAUSE_MS = 900;
const HANGING = ' '.repeat(12);

const Options = z.object({ fast: z.boolean().default(false), own: z.boolean().default(false) });

/** Where the story is told, and what ends with it. */
interface Place {
  readonly url: string;
  readonly databaseUrl: string;
  readonly own: DemoStack | null;
}

/** `npm run demo`: a real story over HTTP, and the log's proof of it. Ends with 1 if anything is not as told. */
async function main(): Promise<number> {
  const command = new Command('demo')
    .description('Plays a real story through Spillway over HTTP and shows what it answers.')
    .option('--fast', 'no pauses')
    .option('--own', 'start a Spillway of its own even if one is running')
    .parse();
  const { fast, own } = Options.parse(command.opts());
  const watched = process.stdout.isTTY === true && !fast;
  const terminal = narrow(processTerminal());
  const colours = pc.createColors(process.stdout.isTTY === true && pc.isColorSupported);

  const place = await findPlace(own, (line) => terminal.line(colours.dim(line)));
  try {
    const run = `demo-${randomBytes(4).toString('hex')}`;
    terminal.line();
    terminal.line(`${colours.bold('Spillway: placement failed again, what now?')}`);
    terminal.line(colours.dim(`A story told over HTTP to ${place.url}, under the name ${run}.`));
    const stage = new Stage({
      calls: new Calls(place.url),
      colours,
      say: terminal.line,
      pause: async () => {
        if (watched) await sleep(PAUSE_MS);
      },
    });
    const { declinedRef } = await tellStory(stage, run);
    await proveStory(stage, terminal, place.databaseUrl, declinedRef);

    const { held, broken } = stage.claims;
    terminal.line();
    terminal.line(
      broken === 0
        ? colours.green(`All ${held} claims of the story hold.`)
        : colours.red(`${broken} of ${held + broken} claims do not hold.`),
    );
    return broken === 0 && ((await place.own?.stop()) ?? true) ? 0 : 1;
  } finally {
    await place.own?.stop();
  }
}

/** The command line's terminal with lines that fit: what it prints is made for any width. */
function narrow(terminal: Terminal): Terminal {
  return {
    ...terminal,
    line: (text = '') => {
      for (const line of folded(text, HANGING)) terminal.line(line);
    },
  };
}

async function findPlace(own: boolean, log: (line: string) => void): Promise<Place> {
  const folder = join(projectRoot(), '.spillway');
  const running = own ? null : readInstance(folder);
  // What answers there may be somebody else's by now: the story is told to our own process only.
  if (running !== null && isRunning(running.pid) && (await new Calls(running.url).isUp())) {
    return { url: running.url, databaseUrl: running.databaseUrl, own: null };
  }
  log('No Spillway is running here: one is started for this story and stopped at its end.');
  const starting = startOwnStack(folder, {
    log,
    onUnexpectedExit: (what) => {
      if (!interrupted) process.stderr.write(`${what} while the story was told\n`);
    },
  });
  stopOnSignal(starting);
  const stack = await starting;
  return { url: stack.url, databaseUrl: stack.databaseUrl, own: stack };
}

let interrupted = false;

/** Ctrl-C ends the story where it is; what was started for it, or is being started, must not stay behind. */
function stopOnSignal(starting: Promise<DemoStack>): void {
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      if (!interrupted) process.stderr.write('Stopping ...\n');
      interrupted = true;
      starting
        .then((stack) => stack.stop())
        .then(
          () => process.exit(exitCode),
          () => process.exit(exitCode),
        );
    });
  }
}

const code = await main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  // The signal's own end is under way: it decides when and how.
  if (interrupted) return new Promise<number>(() => undefined);
  process.stderr.write(`${pc.red('The demo cannot go on:')} ${message}\n`);
  return 1;
});
// What is shown is shown: an idle connection must not hold the terminal.
process.exit(code);
