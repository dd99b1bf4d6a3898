import type { Command } from 'commander';
import type { Sealer } from '#platform/sealer';
import { type AuditLog, withAuditLog } from './audit-log.ts';
import { countArgument, type LogOptions, logOptions, unsealerOf } from './command-line/log-options.ts';
import { type RuleOptions, ruleOptions, rulesOf } from './command-line/rule-options.ts';
import { EXIT, UsageError } from './command-line/run-program.ts';
import { Settings } from './command-line/settings.ts';
import type { Terminal } from './command-line/terminal.ts';
import { printReplay } from './print.ts';
import { printCompare } from './print-compare.ts';
import { replay } from './replay.ts';
import { type CompareOptions, type CompareReport, replayCompare } from './replay-compare.ts';

interface ReplayCommandOptions extends LogOptions, RuleOptions {
  readonly until?: number;
  readonly compare?: boolean;
}

/** Adds `replay` to the auditor's tools. It reads under the role spillway_audit and can reach no provider. */
export function addReplayTool(audit: Command, terminal: Terminal): void {
  const command = logOptions(audit.command('replay'))
    .description(
      "Folds the log with today's rules and compares it with every decision's record and with the allocation table. With --compare every attempt, observation and answer is decided again on the state that its decision saw, and each decision that today's rules make otherwise is listed with both explanations; --json holds all of them. Ends with 1 on any difference.",
    )
    .option(
      '--until <position>',
      'look at nothing behind this position',
      countArgument(Number.MAX_SAFE_INTEGER),
    )
    .option('--compare', 'decide again; failures are classified again where the wrapping keys are given');
  ruleOptions(command).action((options: ReplayCommandOptions) => {
    if (options.compare === true) return showCompare(terminal, options);
    refuseRules(options);
    return showReplay(terminal, options);
  });
}

/** A setting that changes nothing must not look as if it had been tried. */
function refuseRules({ threshold, promptBudget, tokenLife }: RuleOptions): void {
  if (threshold === undefined && promptBudget === undefined && tokenLife === undefined) return;
  throw new UsageError(
    '--threshold, --prompt-budget and --token-life say what is decided again: add --compare',
  );
}

async function showReplay(terminal: Terminal, options: ReplayCommandOptions): Promise<void> {
  const progress = terminal.progress('replay');
  const { databaseUrl } = new Settings(options);
  const report = await withAuditLog(databaseUrl, (log) =>
    replay(log, { until: options.until ?? null, onProgress: progress.on }),
  ).finally(progress.end);
  if (options.json) terminal.json(report);
  else printReplay(terminal, report);
  process.exitCode = report.ok ? EXIT.ok : EXIT.finding;
}

async function showCompare(terminal: Terminal, options: ReplayCommandOptions): Promise<void> {
  const settings = new Settings(options);
  const rules = rulesOf(options);
  const progress = terminal.progress('replay --compare');
  const asked = { rules, until: options.until ?? null, onProgress: progress.on };
  const compare = (more: Pick<CompareOptions, 'onDifference' | 'keepMax'>): Promise<CompareReport> =>
    withAuditLog(settings.databaseUrl, async (log) =>
      replayCompare(log, { ...asked, ...more, unsealer: await unsealerIfAny(log, settings) }),
    ).finally(progress.end);
  const report = options.json ? await compareAsJson(terminal, compare) : await compare({});
  if (!options.json) printCompare(terminal, report);
  process.exitCode = report.ok ? EXIT.ok : EXIT.finding;
}

/** One document with every difference, written as they are found: they need not fit into memory. */
async function compareAsJson(
  terminal: Terminal,
  compare: (more: Pick<CompareOptions, 'onDifference' | 'keepMax'>) => Promise<CompareReport>,
): Promise<CompareReport> {
  let opens = '{"differences":[';
  const report = await compare({
    keepMax: 0,
    onDifference: (difference) => {
      terminal.line(`${opens}${JSON.stringify(difference)}`);
      opens = ',';
    },
  });
  const { differences: _written, ...rest } = report;
  terminal.line(`${opens === ',' ? '' : opens}],${JSON.stringify(rest).slice(1)}`);
  return report;
}

/** Without wrapping keys the decisions are compared all the same: on what was recorded of each failure. */
async function unsealerIfAny(log: AuditLog, settings: Settings): Promise<Sealer | null> {
  return settings.wrapKeysIfAny() === null ? null : unsealerOf(log, settings);
}
