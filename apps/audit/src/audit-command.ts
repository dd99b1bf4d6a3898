import type { Command } from 'commander';
import { withAuditLog } from './audit-log.ts';
import {
  countArgument,
  type NamedOptions,
  namedOptions,
  refuseUnnamed,
  streamOf,
  unsealerOf,
} from './command-line/log-options.ts';
import { UsageError } from './command-line/run-program.ts';
import { Settings } from './command-line/settings.ts';
import type { Terminal } from './command-line/terminal.ts';
import { addLookTools } from './look-command.ts';
import { printStory } from './print.ts';
import { addProofTools } from './proof-command.ts';
import { addReplayTool } from './replay-command.ts';
import { timeline } from './timeline.ts';

interface TimelineOptions extends NamedOptions {
  readonly unseal?: boolean;
  readonly limit?: number;
  readonly before?: number;
}

/** Adds the auditor's tools to a command. They read under the role spillway_audit and change nothing. */
export function addAuditTools(audit: Command, terminal: Terminal): void {
  namedOptions(audit.command('timeline'))
    .description(
      'Tells the story of one allocation: what was reported, decided, asked and answered, and why.',
    )
    .option('--unseal', 'also show what callers wrote; needs the wrapping keys')
    .option('--limit <count>', 'only the newest events, so many', countArgument(1_000_000))
    .option('--before <position>', 'only events before this position', countArgument(Number.MAX_SAFE_INTEGER))
    .action((ref: string | undefined, options: TimelineOptions) => showTimeline(terminal, ref, options));

  addLookTools(audit, terminal);
  addProofTools(audit, terminal);
  addReplayTool(audit, terminal);
}

async function showTimeline(
  terminal: Terminal,
  ref: string | undefined,
  options: TimelineOptions,
): Promise<void> {
  refuseUnnamed(ref, options);
  const settings = new Settings(options);
  const story = await withAuditLog(settings.databaseUrl, async (log) => {
    const unsealer = options.unseal === true ? await unsealerOf(log, settings) : null;
    return timeline(log, await streamOf(log, settings, ref, options.name), unsealer, options);
  });
  if (story === null) {
    throw new UsageError(`the log has no allocation of this ${ref === undefined ? 'name' : 'ref'}`);
  }
  if (options.json) terminal.json(story);
  else printStory(terminal, story);
}
