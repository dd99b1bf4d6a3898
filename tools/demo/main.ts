import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Argument, Command } from 'commander';
import pc from 'picocolors';
import { z } from 'zod';
import { systemClock } from '#platform/clock';
import { folded } from '../../apps/audit/src/command-line/fold.ts';
import { processTerminal, type Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { projectRoot } from '../up/infra/environment.ts';
import { isRunning } from '../up/infra/processes.ts';
import { readInstance } from '../up/instance.ts';
import type { StackOptions } from '../up/stack.ts';
import { Calls } from './calls.ts';
import { countdown } from './countdown.ts';
import { brief } from './failover-lines.ts';
import { tellFailover } from './failover-story.ts';
import { COLUMNS, type Colours } from './lines.ts';
import { type DemoStack, startOwnStack } from './own-stack.ts';
import { type Proven, proveFailover, proveStory, recordedOf } from './proof.ts';
import { Stage } from './stage.ts';
import { tellStory } from './story.ts';

const PAUSE_MS = 900;
const HANGING = ' '.repeat(12);

const Options = z.object({
  fast: z.boolean().default(false),
  own: z.boolean().default(false),
  /** Commander's form of `--no-kill`. */
  kill: z.boolean().default(true),
});
const StoryName = z.enum(['consent', 'failover']).default('consent');

/** Where the story is told, and what ends with it. */
interface Place extends Proven {
  readonly url: string;
  readonly own: DemoStack | null;
}

/** How the story is told. */
interface Telling {
  readonly terminal: Terminal;
  readonly colours: Colours;
  readonly run: string;
  readonly watched: boolean;
  readonly kills: boolean;
}

/** `npm run demo`: a real story over HTTP, and the log's proof of it. Ends with 1 if anything is not as told. */
async function main(): Promise<number> {
  const command = new Command('demo')
    .description('Plays a real story through Spillway over HTTP and shows what it answers.')
    .addArgument(new Argument('[story]', 'which one').choices(StoryName.unwrap().options).default('consent'))
    .option('--fast', 'no pauses')
    .option('--own', 'start a Spillway of its own even if one is running; that of failover always does')
    .option('--no-kill', 'failover without the killed worker, which saves the minute of its lease')
    .parse();
  const { fast, own, kill } = Options.parse(command.opts());
  const story = StoryName.parse(command.args[0]);
  const terminal = narrow(processTerminal());
  const telling: Telling = {
    terminal,
    colours: pc.createColors(process.stdout.isTTY === true && pc.isColorSupported),
    run: `demo-${randomBytes(4).toString('hex')}`,
    watched: process.stdout.isTTY === true && !fast,
    kills: kill,
  };
  const log = (line: string) => terminal.line(telling.colours.dim(line));
  // A worker is killed and the cloud is moved: that is done to nobody's running instance.
  const place = story === 'failover' ? await startOwn(log, FAILOVER_STACK) : await findPlace(own, log);
  try {
    const stage = stageOf(telling, place);
    await (story === 'failover' ? playFailover : playConsent)(stage, telling, place);
    const { held, broken } = stage.claims;
    terminal.line();
    terminal.line(
      broken === 0
        ? telling.colours.green(`All ${held} claims of the story hold.`)
        : telling.colours.red(`${broken} of ${held + broken} claims do not hold.`),
    );
    return broken === 0 && ((await place.own?.stop()) ?? true) ? 0 : 1;
  } finally {
    await place.own?.stop();
  }
}

function stageOf({ terminal, colours, watched }: Telling, { url }: Place): Stage {
  return new Stage({
    calls: new Calls(url),
    colours,
    say: terminal.line,
    pause: async () => {
      if (watched) await sleep(PAUSE_MS);
    },
  });
}

function openTelling({ terminal, colours, run }: Telling, title: string, url: string): void {
  terminal.line();
  terminal.line(colours.bold(title));
  terminal.line(colours.dim(`A story told over HTTP to ${url}, under the name ${run}.`));
}

async function playConsent(stage: Stage, telling: Telling, place: Place): Promise<void> {
  openTelling(telling, 'Spillway: placement failed again, what now?', place.url);
  const { declinedRef } = await tellStory(stage, telling.run);
  await proveStory(stage, telling.terminal, place, declinedRef);
}

/** Everything that Spillway polls or passes over in minutes comes by within seconds here. Leases are as ever. */
const FAILOVER_STACK = {
  provisioners: 0,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_WATCH_EVERY_S: '2' },
} as const;

async function playFailover(stage: Stage, telling: Telling, place: Place): Promise<void> {
  const { own, url, databaseUrl } = place;
  if (!own?.cloud) throw new Error('the lanes are real ones (SPILLWAY_LANES): this story would buy machines');
  const { kills, run, terminal } = telling;
  const how = kills ? 'a provisioner is killed with a machine in its hands' : 'an instance vanishes';
  openTelling(telling, `Spillway: ${how}, what now?`, url);
  if (kills) {
    const about = 'It takes about two minutes: for one of them the lease of the dead worker has to run out.';
    terminal.line(telling.colours.dim(about));
  }
  const draws = process.stderr.isTTY === true;
  const position = await tellFailover(
    {
      stage,
      calls: new Calls(url),
      apps: own.apps,
      cloud: own.cloud.client,
      kills,
      now: systemClock.now,
      recorded: (at) => recordedOf(databaseUrl, at),
      wait: (what, expectedS, boundS, isOver) => {
        if (!draws) terminal.line(`    ${what}: about ${expectedS} s ...`);
        const draw = draws ? (text: string) => void process.stderr.write(text) : null;
        return countdown({ what, expectedS, boundS, isOver, draw, nowMs: () => performance.now() });
      },
    },
    run,
  );
  await proveFailover(stage, terminal, place, position);
}

/** The command line's terminal with lines that fit: what it prints is made for any width. */
function narrow(terminal: Terminal): Terminal {
  return {
    ...terminal,
    columns: Number.POSITIVE_INFINITY,
    line: (text = '') => {
      for (const line of folded(brief(text), HANGING, COLUMNS)) terminal.line(line);
    },
  };
}

async function findPlace(own: boolean, log: (line: string) => void): Promise<Place> {
  const folder = join(projectRoot(), '.spillway');
  const running = own ? null : readInstance(folder);
  // What answers there may be somebody else's by now: the story is told to our own process only.
  if (running !== null && isRunning(running.pid) && (await new Calls(running.url).isUp())) {
    return { url: running.url, databaseUrl: running.databaseUrl, signed: running, own: null };
  }
  log('No Spillway is running here: one is started for this story and stopped at its end.');
  return startOwn(log);
}

async function startOwn(
  log: (line: string) => void,
  options: Pick<StackOptions, 'env' | 'provisioners'> = {},
): Promise<Place> {
  const starting = startOwnStack(join(projectRoot(), '.spillway'), {
    ...options,
    log,
    onUnexpectedExit: (what) => {
      if (!interrupted) process.stderr.write(`${what} while the story was told\n`);
    },
  });
  stopOnSignal(starting);
  const stack = await starting;
  return { url: stack.url, databaseUrl: stack.databaseUrl, signed: stack.signed, own: stack };
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
