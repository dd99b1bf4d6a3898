import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AllocationListRow, StateView } from '#domain/audit/views';
import { Scalars } from '#events/scalars';
import { allocationStream } from '#events/streams';
import { OUTCOMES } from '#events/watch.events';
import { systemClock } from '#platform/clock';
import { type AuditLog, withAuditLog } from './audit-log.ts';
import {
  countArgument,
  type LogOptions,
  logOptions,
  type NamedOptions,
  namedOptions,
  refuseUnnamed,
  streamOf,
  unsealerOf,
} from './command-line/log-options.ts';
import { EXIT, UsageError } from './command-line/run-program.ts';
import { Settings } from './command-line/settings.ts';
import type { Terminal } from './command-line/terminal.ts';
import { printList, printState } from './print-look.ts';
import { allocationList, type ListSearch } from './views/allocation-list.ts';
import { type AsOf, parseAsOf, stateAsOf, stateNow } from './views/as-of.ts';
import { ListQuery, REF_PREFIX, ROWS_DEFAULT, ROWS_MAX } from './views/queries.ts';

interface StateOptions extends NamedOptions {
  readonly asOf?: AsOf;
}

interface ListOptions extends LogOptions {
  readonly status?: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly lane?: string;
  readonly bills?: boolean;
  readonly alerts?: boolean;
  readonly since?: string;
  readonly until?: string;
  readonly refPrefix?: string;
  readonly limit: number;
  readonly unseal?: boolean;
}

/** More than a person reads, for scripts. */
const LISTED_MAX = 100_000;
const MOMENT = 'a position, or a time such as 2026-11-29T12:00:00Z';

/** Adds `state` and `list`: where an allocation stood at a moment, and which allocations there are. */
export function addLookTools(audit: Command, terminal: Terminal): void {
  namedOptions(audit.command('state'))
    .description(
      'Shows where one allocation stands, or stood: its record, its placement, what the provider said, what bills. Ends with 1 when nothing was recorded of it by then, or an event cannot be read.',
    )
    .option('--as-of <moment>', `${MOMENT}; else now`, momentArgument)
    .action((ref: string | undefined, options: StateOptions) => showState(terminal, ref, options));

  logOptions(audit.command('list'))
    .description('Lists allocations, newest change first. Ends with 1 when none is as asked.')
    .addOption(new Option('--status <status>', 'of the record').choices(Scalars.shape.status.options))
    .addOption(new Option('--outcome <outcome>', 'of the placement').choices(OUTCOMES))
    .option('--reason <reason>', 'why the placement is so')
    .option('--lane <lane>', 'of the current instance')
    .option('--bills', 'something of it bills')
    .option('--no-bills', 'nothing of it bills')
    .option('--alerts', 'an alert about it is open')
    .option('--no-alerts', 'no alert about it is open')
    .option('--since <moment>', `changed last at or after ${MOMENT}`)
    .option('--until <moment>', 'changed last at or before it')
    .option('--ref-prefix <hex>', 'its ref begins so')
    .option('--limit <count>', 'at most so many', countArgument(LISTED_MAX), ROWS_DEFAULT)
    .option('--unseal', 'also show names; needs the wrapping keys')
    .action((options: ListOptions) => showList(terminal, options));
}

function momentArgument(text: string): AsOf {
  const moment = parseAsOf(text);
  if (moment === null) throw new InvalidArgumentError(`Give ${MOMENT}.`);
  return moment;
}

async function showState(terminal: Terminal, ref: string | undefined, options: StateOptions): Promise<void> {
  refuseUnnamed(ref, options);
  const settings = new Settings(options);
  const state = await withAuditLog(settings.databaseUrl, async (log) => {
    const stream = await streamOf(log, settings, ref, options.name);
    if ((await log.decisionVersion(stream)) === null) {
      throw new UsageError(`the log has no allocation of this ${ref === undefined ? 'name' : 'ref'}`);
    }
    return askedState(log, stream, options.asOf);
  });
  if (options.json) terminal.json(state);
  else printState(terminal, state);
  process.exitCode = state === null || state.unreadable !== null ? EXIT.finding : EXIT.ok;
}

function askedState(log: AuditLog, stream: string, asOf: AsOf | undefined): Promise<StateView | null> {
  return asOf === undefined ? stateNow(log, stream, systemClock.now()) : stateAsOf(log, stream, asOf);
}

async function showList(terminal: Terminal, options: ListOptions): Promise<void> {
  const settings = new Settings(options);
  const search = searchOf(options);
  const page = await withAuditLog(settings.databaseUrl, async (log) => {
    const found = await listed(log, search, options.limit);
    if (options.unseal !== true) return found;
    const sealer = await unsealerOf(log, settings);
    const rows: AllocationListRow[] = [];
    for (const row of found.rows) {
      rows.push({ ...row, name: await sealer.open(allocationStream(row.ref), 'name', row.ref) });
    }
    return { ...found, rows };
  });
  if (options.json) terminal.json(page);
  else printList(terminal, page);
  process.exitCode = page.rows.length === 0 ? EXIT.finding : EXIT.ok;
}

/** The options under the rules of the same call by HTTP. Throws UsageError that names the bad one. */
function searchOf(options: ListOptions): ListSearch {
  const { status, outcome, reason, lane, since, until, refPrefix } = options;
  const { bills, alerts } = { bills: flagOf(options.bills), alerts: flagOf(options.alerts) };
  const given = { status, outcome, reason, lane, bills, alerts, since, until, q: refPrefix };
  const parsed = ListQuery.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const option = String(issue?.path[0] ?? '');
    const named = option === 'q' ? 'ref-prefix' : option;
    const isMoment = named === 'since' || named === 'until';
    throw new UsageError(
      isMoment ? `--${named} is not ${MOMENT}` : `--${named} has not the form that its description asks for`,
    );
  }
  const { q, name: _, ...search } = parsed.data;
  if (q !== undefined && !REF_PREFIX.test(q)) {
    throw new UsageError('--ref-prefix is 1 to 64 lower-case hex digits');
  }
  return { ...search, refPrefix: q ?? null };
}

function flagOf(flag: boolean | undefined): string | undefined {
  return flag === undefined ? undefined : String(flag);
}

/** Page by page, so that no single question asks for all of them. */
async function listed(log: AuditLog, search: ListSearch, limit: number) {
  const rows: AllocationListRow[] = [];
  let next: string | null = null;
  do {
    const page = await allocationList(log, {
      ...search,
      limit: Math.min(ROWS_MAX, limit - rows.length),
      after: next === null ? undefined : Number(next),
    });
    rows.push(...page.rows);
    next = page.next;
  } while (next !== null && rows.length < limit);
  return { rows, next };
}
