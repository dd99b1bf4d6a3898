import { join } from 'node:path';
import pc from 'picocolors';
import { projectRoot } from './infra/environment.ts';
import { startStack } from './stack.ts';

const DEFAULT_PORT = 8787;

const say = (line: string) => process.stdout.write(`${line}\n`);

/** `npm start`: everything on this machine, until Ctrl-C. */
async function main(): Promise<void> {
  const folder = join(projectRoot(), '.spillway');
  const port = portOf(process.env.SPILLWAY_PORT);
  let stopping = false;
  const starting = startStack({
    folder,
    port,
    log: (line) => say(pc.dim(line)),
    onUnexpectedExit: (app, how) => {
      if (stopping) return;
      say(pc.red(`${app} ended unexpectedly (${how}); see ${join(folder, 'logs', `${app}.log`)}`));
      void stop(1);
    },
  });

  // Also in the middle of the start: what has been started by then is stopped once all of it is known.
  async function stop(code: number): Promise<void> {
    if (stopping) return;
    stopping = true;
    say(pc.dim('Stopping ...'));
    const clean = await starting.then(
      (stack) => stack.stop(),
      () => true,
    );
    process.exit(clean ? code : 1);
  }
  process.on('SIGINT', () => void stop(0));
  process.on('SIGTERM', () => void stop(0));

  const { url, logFolder } = (await starting).apps;
  if (stopping) return;
  say('');
  say(`${pc.bold('Spillway is up')} at ${pc.cyan(url)}`);
  say(`  report a failure   POST ${url}/api/agent/gpu-allocation/attempt`);
  say(`  answer a question  POST ${url}/api/agent/gpu-allocation/consent`);
  say(`  health             ${url}/api/health`);
  say(`  the API            ${url}/api/docs`);
  say(`  what happened      npx spillway audit timeline --name NAME`);
  say(`  logs               ${logFolder}`);
  say(pc.dim('Authentication is off: only this machine can reach it. Ctrl-C stops everything.'));
}

function portOf(given: string | undefined): number {
  const port = Number(given ?? DEFAULT_PORT);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error('SPILLWAY_PORT is no port.');
  return port;
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${pc.red('Spillway cannot start:')} ${message}\n`);
  if (isPortTaken(error)) process.stderr.write('Set SPILLWAY_PORT to another port.\n');
  process.exit(1);
});

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}
