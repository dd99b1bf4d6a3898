import type { Command } from 'commander';
import { StreamFinder } from '#event-log/find-stream';
import { allocationStream } from '#events/streams';
import { Sealer } from '#platform/sealer';
import { type AuditLog, withAuditLog } from './audit-log.ts';
import { refArgument } from './command-line/ref-argument.ts';
import { UsageError } from './command-line/run-program.ts';
import { Settings } from './command-line/settings.ts';
import type { Terminal } from './command-line/terminal.ts';
import { printStory } from './print.ts';
import { addProofTools } from './proof-command.ts';
import { addReplayTool } from './replay-command.ts';
import { timeline } from './timeline.ts';

interface CommonOptions {
  readonly databaseUrl?: string;
  readonly json?: boolean;
}

interface TimelineOptions extends CommonOptions {
  readonly name?: string;
  readonly unseal?: boolean;
}

/** Adds the auditor's tools to a command. They read under the role spillway_audit and change nothing. */
export function addAuditTools(audit: Command, terminal: Terminal): void {
  common(audit.command('timeline'))
    .description(
      'Tells the story of one allocation: what was reported, decided, asked and answered, and why.',
    )
    .argument('[ref]', 'ref of the allocation, 64 hex digits', refArgument)
    .option('--name <name>', 'logical name instead of the ref; every key of the ring is tried')
    .option('--unseal', 'also show what callers wrote; needs the wrapping keys')
    .action((ref: string | undefined, options: TimelineOptions) => showTimeline(terminal, ref, options));

  addProofTools(audit, terminal);
  addReplayTool(audit, terminal);
}

function common(command: Command): Command {
  return command
    .option(
      '--database-url <url>',
      'Postgres of the log; else SPILLWAY_DATABASE_URL, else .spillway/instance.json',
    )
    .option('--json', 'print one JSON document');
}

async function showTimeline(
  terminal: Terminal,
  ref: string | undefined,
  options: TimelineOptions,
): Promise<void> {
  if ((ref === undefined) === (options.name === undefined)) {
    throw new UsageError('give either the ref of the allocation or --name');
  }

  const settings = new Settings(options);
  const story = await withAuditLog(settings.databaseUrl, async (log) => {
    const unsealer =
      options.unseal === true ? new Sealer({ store: log.sealed, wrapKeys: settings.wrapKeys() }) : null;
    return timeline(log, await streamOf(log, settings, ref, options.name ?? ''), unsealer);
  });
  if (story === null) {
    throw new UsageError(`the log has no allocation of this ${ref === undefined ? 'name' : 'ref'}`);
  }
  if (options.json) terminal.json(story);
  else printStory(terminal, story);
}

async function streamOf(
  log: AuditLog,
  settings: Settings,
  ref: string | undefined,
  name: string,
): Promise<string> {
  if (ref !== undefined) return allocationStream(ref);
  return (await new StreamFinder(settings.keyRing(), log).find(name.trim())).stream;
}
