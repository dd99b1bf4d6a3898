import type { Command } from 'commander';
import { migrate } from '#event-log/migrate';
import type { PostgresLog } from '#event-log/postgres-log';
import { type Release, releaseParked } from '#event-log/release-parked';
import { allocationStream, refOfStream } from '#events/streams';
import { systemClock } from '#platform/clock';
import { wholeNumber } from '#platform/variables';
import { refArgument } from '../../apps/audit/src/command-line/ref-argument.ts';
import { EXIT, UsageError } from '../../apps/audit/src/command-line/run-program.ts';
import { Settings } from '../../apps/audit/src/command-line/settings.ts';
import { type Terminal, visible } from '../../apps/audit/src/command-line/terminal.ts';
import { type AdminOptions, database, withAdminLog } from './admin-log.ts';
import { addCheckpointTools } from './checkpoint-command.ts';
import { deadLetterCells } from './dead-letter-cells.ts';
import { addEraseTool } from './erase-command.ts';
import { addImportTool } from './import-command.ts';
import { addNoticeTools } from './notices-command.ts';
import { addRewoundTools } from './rewound-command.ts';
import { addRewrapTool } from './rewrap-command.ts';

interface ListOptions extends AdminOptions {
  readonly json?: boolean;
}

/** Adds what changes something to a command: each runs under the role spillway_admin and says what it did. */
export function addAdminTools(admin: Command, terminal: Terminal): void {
  database(admin.command('migrate'))
    .description("Brings the database to this build's schema. The login must be allowed to create roles.")
    .action((options: AdminOptions) => runMigrate(terminal, options));

  list(admin.command('parked'))
    .description('Lists the allocations that wait for an operator, by consumer.')
    .action((options: ListOptions) => showParked(terminal, options));

  database(admin.command('requeue'))
    .description('Lets a consumer try a parked allocation again.')
    .argument('<consumer>', 'who parked it, such as classifier')
    .argument('<ref>', 'ref of the allocation, 64 hex digits', refArgument)
    .action((consumer: string, ref: string, options: AdminOptions) =>
      release(terminal, consumer, ref, 'requeued', options),
    );

  database(admin.command('skip'))
    .description(
      'Lets a consumer pass over the event that parked an allocation. What it would have decided is missing for ever.',
    )
    .argument('<consumer>', 'who parked it, such as classifier')
    .argument('<ref>', 'ref of the allocation, 64 hex digits', refArgument)
    .action((consumer: string, ref: string, options: AdminOptions) =>
      release(terminal, consumer, ref, 'skipped', options),
    );

  addRewoundTools(admin, terminal);
  addEraseTool(admin, terminal);
  addRewrapTool(admin, terminal);
  addCheckpointTools(admin, terminal);
  addImportTool(admin, terminal);
  addNoticeTools(admin, terminal);

  list(admin.command('dead-letters'))
    .description('Lists refused messages of the bus, newest first: digests and sizes, never what they said.')
    .option('--limit <number>', 'how many, 1 to 10000', '20')
    .action((options: ListOptions & { readonly limit: string }) => showDeadLetters(terminal, options));
}

function list(command: Command): Command {
  return database(command).option('--json', 'print one JSON document');
}

async function runMigrate(terminal: Terminal, options: AdminOptions): Promise<void> {
  const applied = await migrate(new Settings(options).databaseUrl.reveal());
  terminal.line(
    applied.length === 0
      ? "The schema is this build's already: nothing to do."
      : `Applied ${applied.length === 1 ? 'migration' : 'migrations'} ${applied.join(', ')}.`,
  );
}

async function showParked(terminal: Terminal, options: ListOptions): Promise<void> {
  const rows = await withAdminLog(new Settings(options), (log) => log.parked.list());
  if (options.json) return terminal.json(rows);
  if (rows.length === 0) return terminal.line('Nothing is parked.');
  terminal.table(
    ['consumer', 'allocation', 'first position', 'reason', 'tries', 'since', 'state'],
    rows.map((row) => [
      row.consumer,
      refOfStream(row.stream) ?? row.stream,
      String(row.firstPos),
      row.reason,
      String(row.tries),
      row.parkedAt,
      row.state,
    ]),
  );
}

async function release(
  terminal: Terminal,
  consumer: string,
  ref: string,
  as: Release,
  options: AdminOptions,
): Promise<void> {
  const stream = allocationStream(ref);
  const released = await withAdminLog(new Settings(options), async (log) => {
    await refuseUnknown(log, consumer, stream);
    return releaseParked(log, { consumer, stream, as, at: systemClock.now() });
  });
  const done = as === 'requeued' ? 'requeued' : 'told to be passed over';
  switch (released.outcome) {
    case 'released':
      return terminal.line(
        `Position ${released.row.firstPos} is ${done}: ${consumer} goes on within seconds.`,
      );
    case 'released_already':
      return terminal.line(`Position ${released.row.firstPos} was ${done} already: nothing to do.`);
    case 'nothing_parked':
      return terminal.line(`Nothing of this allocation is parked for ${consumer}: nothing to do.`);
    case 'moved_on':
      process.exitCode = EXIT.finding;
      return terminal.line(
        `Position ${released.row.firstPos} is no longer what ${consumer} waits at. Look again: spillway admin parked`,
      );
  }
}

/** A slip of the pen must not look like "nothing to do". */
async function refuseUnknown(log: PostgresLog, consumer: string, stream: string): Promise<void> {
  if ((await log.decisionVersion(stream)) === null)
    throw new UsageError('the log has no allocation of this ref');
  const known = [
    ...(await log.checkpoints.all()).map((row) => row.consumer),
    ...(await log.parked.list()).map((row) => row.consumer),
  ];
  if (known.includes(consumer)) return;
  const names = known.length === 0 ? 'none has run yet' : [...new Set(known)].sort().join(', ');
  throw new UsageError(`no consumer has this name; there is: ${names}`);
}

async function showDeadLetters(
  terminal: Terminal,
  options: ListOptions & { readonly limit: string },
): Promise<void> {
  const limit = wholeNumber(1, 10_000).safeParse(options.limit);
  if (!limit.success) throw new UsageError('--limit is a whole number from 1 to 10000');
  const { rows, count } = await withAdminLog(new Settings(options), async (log) => ({
    rows: await log.deadLetters.list(limit.data),
    count: await log.deadLetters.count(),
  }));
  if (options.json) return terminal.json({ count, rows });
  if (rows.length === 0) return terminal.line('There is no dead letter.');
  terminal.table(
    ['at', 'subject', 'bytes', 'body', 'message id', 'refused for'],
    rows.map((row) => deadLetterCells(row).map(visible)),
  );
  if (rows.length < count) terminal.line(`The newest ${rows.length} of ${count} are shown.`);
}
