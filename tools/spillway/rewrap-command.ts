import type { Command } from 'commander';
import { Sealer } from '#platform/sealer';
import { EXIT, UsageError } from '../../apps/audit/src/command-line/run-program.ts';
import { Settings } from '../../apps/audit/src/command-line/settings.ts';
import type { Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { type AdminOptions, database, withAdminLog } from './admin-log.ts';
import { type Rewrapped, rewrapKeys } from './rewrap-keys.ts';

interface RewrapOptions extends AdminOptions {
  readonly json?: boolean;
}

/** Adds the second half of a rotation of the wrapping key (fallback 5). */
export function addRewrapTool(admin: Command, terminal: Terminal): void {
  database(admin.command('rewrap'))
    .description(
      'Wraps every record key with the first key of SPILLWAY_WRAP_KEYS; no text is sealed anew. Give the new key ' +
        'to every app first, in front of the old one: an app that lacks it cannot read what is wrapped by it, and waits. ' +
        'After it the old key may leave. May be stopped and run again. Ends with 1 when a key could not be opened.',
    )
    .option('--json', 'print one JSON document')
    .action((options: RewrapOptions) => rewrap(terminal, options));
}

async function rewrap(terminal: Terminal, options: RewrapOptions): Promise<void> {
  const settings = new Settings(options);
  const wrapKeys = settings.wrapKeys();
  const newest = wrapKeys[0]?.id;
  if (newest === undefined) throw new UsageError('SPILLWAY_WRAP_KEYS holds no key');
  const progress = terminal.progress('rewrap');
  const done = await withAdminLog(settings, (log) =>
    rewrapKeys({
      store: log.sealed,
      sealer: new Sealer({ store: log.sealed, wrapKeys }),
      newest,
      onProgress: progress.on,
    }),
  ).finally(progress.end);
  if (options.json) terminal.json({ newest, ...done });
  else for (const line of linesOf(newest, done)) terminal.line(line);
  process.exitCode = Object.keys(done.unopened).length === 0 ? EXIT.ok : EXIT.finding;
}

function linesOf(newest: string, { rewrapped, gone, unopened }: Rewrapped): readonly string[] {
  const left = Object.entries(unopened).map(
    ([id, count]) =>
      `${count} wrapped by "${id}" could not be opened: add that key to SPILLWAY_WRAP_KEYS behind the newest one.`,
  );
  const all = `Every record key is wrapped by "${newest}" now: ${rewrapped} ${rewrapped === 1 ? 'was' : 'were'} wrapped anew.`;
  const some = `${rewrapped} record ${rewrapped === 1 ? 'key was' : 'keys were'} wrapped anew by "${newest}".`;
  const meanwhile =
    gone === 0
      ? []
      : [`${gone} ${gone === 1 ? 'was' : 'were'} destroyed or wrapped anew by somebody else meanwhile.`];
  return [left.length === 0 ? all : some, ...left, ...meanwhile];
}
