import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { shortened } from '#domain/audit/told';
import { testNotice } from '#domain/prompt/notice';
import type { ListedNotice, NoticeTable, ReceiverStanding } from '#domain/prompt/notice-table';
import { refOfStream } from '#events/streams';
import { systemClock } from '#platform/clock';
import { randomId } from '#platform/ids';
import { wholeNumber } from '#platform/variables';
import { EXIT, UsageError } from '../../apps/audit/src/command-line/run-program.ts';
import { Settings } from '../../apps/audit/src/command-line/settings.ts';
import type { Terminal } from '../../apps/audit/src/command-line/terminal.ts';
import { type AdminOptions, database, withAdminLog } from './admin-log.ts';

interface ListOptions extends AdminOptions {
  readonly failed?: boolean;
  readonly json?: boolean;
  readonly limit: string;
}

interface RetryOptions extends AdminOptions {
  readonly all?: boolean;
}

/** What was given up is tried for so long again. */
const AGAIN_MS = 3 * 24 * 60 * 60 * 1_000;
/** The longest time-out of a receiver, and the time in which `consent` looks for something to send. */
const TEST_BOUND_MS = 75_000;
const LOOK_EVERY_MS = 200;

/** Adds what operators do with outgoing notices. Sending stays with `consent`, which has the addresses and keys. */
export function addNoticeTools(admin: Command, terminal: Terminal): void {
  const notices = database(admin.command('notices'))
    .description('Lists outgoing notices with their receivers, newest first.')
    .option('--failed', 'only those that were tried without success or given up')
    .option('--limit <number>', 'how many, 1 to 10000', '20')
    .option('--json', 'print one JSON document')
    .action((options: ListOptions) => show(terminal, options));

  notices
    .command('test')
    .description(
      'Lets consent send a signed notice of type notice.test to a receiver, once, and says how it went.',
    )
    .argument('<receiver>', 'its name in SPILLWAY_WEBHOOKS')
    .action((receiver: string, _options: unknown, command: Command) =>
      sendTest(terminal, receiver, command.optsWithGlobals()),
    );

  notices
    .command('retry')
    .description(
      'Tries what waits for its next try now, and sends again to a receiver that had answered 410.',
    )
    .argument('<receiver>', 'its name in SPILLWAY_WEBHOOKS')
    .option('--all', 'also what was given up')
    .action((receiver: string, _options: unknown, command: Command) =>
      retry(terminal, receiver, command.optsWithGlobals()),
    );
}

async function show(terminal: Terminal, options: ListOptions): Promise<void> {
  const limit = wholeNumber(1, 10_000).safeParse(options.limit);
  if (!limit.success) throw new UsageError('--limit is a whole number from 1 to 10000');
  const { receivers, notices } = await withAdminLog(new Settings(options), async (log) => ({
    receivers: await log.notices.standing(),
    notices: await log.notices.list({ failedOnly: options.failed === true }, limit.data),
  }));
  if (options.json) return terminal.json({ receivers, notices });
  if (receivers.length === 0) return terminal.line('No receiver was ever configured (SPILLWAY_WEBHOOKS).');
  terminal.table(
    ['receiver', 'state', 'since', 'waiting', 'failing', 'oldest'],
    receivers.map(receiverCells),
  );
  terminal.line();
  if (notices.length === 0)
    return terminal.line(options.failed ? 'No notice has failed.' : 'There is no notice.');
  terminal.table(
    ['receiver', 'notice', 'allocation', 'question', 'due', 'state', 'tries', 'last try', 'next try'],
    notices.map(noticeCells),
  );
}

async function sendTest(terminal: Terminal, receiver: string, options: AdminOptions): Promise<void> {
  const sent = await withAdminLog(new Settings(options), async ({ notices }) => {
    await refuseUnknown(notices, receiver);
    const id = `msg_${randomId()}`;
    await notices.addTest({ receiver, id, body: testNotice(receiver, systemClock.now()) });
    return await untilTried(notices, receiver, id);
  });
  if (sent === null) {
    process.exitCode = EXIT.finding;
    return terminal.line(
      `Not sent within ${TEST_BOUND_MS / 1_000} s: is consent running, with this receiver in SPILLWAY_WEBHOOKS?`,
    );
  }
  if (sent.state !== 'delivered') process.exitCode = EXIT.finding;
  terminal.line(`${receiver} ${sentenceOf(sent)} (webhook-id ${sent.id}).`);
}

async function retry(terminal: Terminal, receiver: string, options: RetryOptions): Promise<void> {
  const due = await withAdminLog(new Settings(options), async ({ notices }) => {
    await refuseUnknown(notices, receiver);
    return notices.retry(receiver, { givenUp: options.all === true, giveUpMs: AGAIN_MS });
  });
  terminal.line(`${due ?? 0} ${due === 1 ? 'notice' : 'notices'} for ${receiver} will be tried now.`);
}

/** A slip of the pen must not look like "nothing to do". */
async function refuseUnknown(notices: NoticeTable, receiver: string): Promise<void> {
  const known = (await notices.receivers())
    .filter(({ state }) => state !== 'removed')
    .map(({ name }) => name);
  if (known.includes(receiver)) return;
  const names = known.length === 0 ? 'none is configured' : `there is: ${known.join(', ')}`;
  throw new UsageError(`no receiver of notices has this name; ${names}`);
}

async function untilTried(notices: NoticeTable, receiver: string, id: string): Promise<ListedNotice | null> {
  const endMs = systemClock.monotonicMs() + TEST_BOUND_MS;
  while (systemClock.monotonicMs() < endMs) {
    const notice = await notices.find(receiver, id);
    if (notice !== null && notice.state !== 'waiting') return notice;
    await pause(LOOK_EVERY_MS);
  }
  return null;
}

function sentenceOf({ lastOutcome, lastStatus }: ListedNotice): string {
  switch (lastOutcome) {
    case 'delivered':
      return `took the notice with status ${lastStatus}`;
    case 'refused':
      return `refused the notice with status ${lastStatus}`;
    case 'timeout':
      return 'did not answer in time';
    case 'unreachable':
    case null:
      return 'cannot be reached';
  }
}

function receiverCells({
  name,
  state,
  since,
  waiting,
  failing,
  oldestS,
}: ReceiverStanding): readonly string[] {
  const oldest = oldestS === 0 ? '-' : `${Math.round(oldestS)} s`;
  return [name, state, since, String(waiting), String(failing), oldest];
}

function noticeCells(notice: ListedNotice): readonly string[] {
  const { receiver, type, stream, question, notBefore, state, tries, lastOutcome, lastStatus, dueAt } =
    notice;
  const ref = refOfStream(stream);
  return [
    receiver,
    type,
    ref === null ? '-' : shortened(ref),
    question ?? '-',
    notBefore,
    state,
    String(tries),
    [lastOutcome ?? '-', lastStatus].filter((part) => part !== null).join(' '),
    state === 'waiting' ? dueAt : '-',
  ];
}
