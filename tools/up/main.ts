import { join } from 'node:path';
import pc from 'picocolors';
import { AppProcess } from './app-process.ts';
import { projectRoot } from './infra/environment.ts';
import { isRunning } from './infra/processes.ts';
import { readInstance } from './instance.ts';
import { SIGNED_EVERY } from './signer-process.ts';
import { type Stack, startStack } from './stack.ts';

const DEFAULT_PORT = 8787;

const USAGE = `usage: npm start

Starts Postgres, NATS and all apps on this machine, until Ctrl-C. It takes no arguments: variables say what is
otherwise (SPILLWAY_PORT, SPILLWAY_POSTGRES_URL, SPILLWAY_NATS_URL, SPILLWAY_LANES_FILE, ...: README.md, "Run it").`;

const say = (line: string) => process.stdout.write(`${line}\n`);
let stopping = false;

/** `npm start`: everything on this machine, until Ctrl-C. */
async function main(): Promise<void> {
  const folder = join(projectRoot(), '.spillway');
  const other = readInstance(folder);
  if (other !== null && isRunning(other.pid) && (await answers(other.url))) {
    throw new Error(`it already runs here at ${other.url} (process ${other.pid}).`);
  }
  const starting = startStack({
    folder,
    port: portOf(process.env.SPILLWAY_PORT),
    given: process.env,
    log: (line) => say(pc.dim(line)),
    onUnexpectedExit: (app, how) => {
      if (stopping) return;
      say(pc.red(`${app} ended unexpectedly (${how}); see ${join(folder, 'logs', `${app}.log`)}`));
      void stop(starting, 1);
    },
    onSignerExit: (how) => {
      if (stopping) return;
      say(
        pc.red(
          how === 'code 1'
            ? 'The log contradicts what was signed of it, so nothing is signed any more: see npx spillway audit verify'
            : `Nothing is signed any more (${how}); see ${join(folder, 'logs', 'checkpoint.log')}`,
        ),
      );
    },
  });
  process.on('SIGINT', () => void stop(starting, 0));
  process.on('SIGTERM', () => void stop(starting, 0));

  const { apps, checkpointsFile } = await starting;
  if (stopping) return;
  say('');
  say(`${pc.bold('Spillway is up')} at ${pc.cyan(apps.url)}`);
  say(`  answer questions   ${pc.cyan(`${apps.url}/`)} (the page for approvers)`);
  say(`  report a failure   POST ${apps.url}/api/agent/gpu-allocation/attempt`);
  say(`  place and watch    POST ${apps.url}/api/agent/gpu-allocation/launch`);
  say(`  answer by a call   POST ${apps.url}/api/agent/gpu-allocation/consent`);
  say(`  health             ${apps.url}/api/health`);
  say(`  the API            ${apps.url}/api/docs`);
  say(`  what happened      npx spillway audit timeline --name NAME`);
  say(`  is the log whole   npx spillway audit verify`);
  say(`  signed checkpoints ${checkpointsFile}, every ${SIGNED_EVERY}; keep a copy elsewhere`);
  for (const [index, line] of metricsOf([...Object.values(apps.processes), ...apps.provisioners]).entries())
    say(`  ${index === 0 ? 'metrics' : '       '}            ${line}`);
  say(`  logs               ${apps.logFolder}`);
  say(pc.dim('Authentication is off: only this machine can reach it. Ctrl-C stops everything.'));
}

/** Also in the middle of the start: what has been started by then is stopped once all of it is known. */
async function stop(starting: Promise<Stack>, code: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  say(pc.dim('Stopping ...'));
  const clean = await starting.then(
    (stack) => stack.stop(),
    () => true,
  );
  say(pc.dim('Stopped. The data stays in .spillway/.'));
  process.exit(clean ? code : 1);
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(2_000) })).body?.cancel();
    return true;
  } catch {
    return false;
  }
}

function metricsOf(processes: readonly AppProcess[]): readonly string[] {
  return processes.map(({ app, url }) => `${url}/metrics ${app}`);
}

function portOf(given: string | undefined): number {
  const port = Number(given ?? DEFAULT_PORT);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error('SPILLWAY_PORT is no port.');
  return port;
}

const asked = process.argv.slice(2);
if (asked.length > 0) {
  const isHelp = asked.every((each) => each === '--help' || each === '-h');
  process[isHelp ? 'stdout' : 'stderr'].write(`${USAGE}\n`);
  process.exit(isHelp ? 0 : 2);
}

main().catch((error: unknown) => {
  // Whoever stops it in the middle of the start makes parts of it fail: that is no news.
  if (stopping) return;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${pc.red('Spillway cannot start:')} ${message}\n`);
  process.exit(1);
});
