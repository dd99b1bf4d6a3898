import type { StandingAfter, StoryLine } from '#domain/audit/timeline';
import { shortened } from '#domain/audit/told';
import { refOfStream } from '#events/streams';
import { folded } from './command-line/fold.ts';
import { type Terminal, visible } from './command-line/terminal.ts';
import type { ReplayReport } from './replay.ts';
import type { Story } from './timeline.ts';

const INDENT = ' '.repeat(10);
const HANGING = ' '.repeat(19);
const SHOWN_MAX = 50;

/** The story as text: an event with its reasons and the record after it. */
export function printStory(terminal: Terminal, story: Story): void {
  const { bold, dim } = terminal.colours;
  terminal.line(`Allocation ${bold(story.ref)}`);
  if (story.name !== undefined) terminal.line(`Name ${story.name === null ? GONE : visible(story.name)}`);
  if (story.earlier !== undefined) {
    terminal.line(`Older events were left out: --before ${story.earlier} tells of them.`);
  }
  for (const line of story.lines) {
    terminal.line();
    const when = line.at.replace('T', ' ').replace('Z', '');
    const what = `${String(line.pos).padStart(8)}  ${dim(when)}  ${bold(visible(line.who))} ${visible(line.what)}`;
    const told = [what, ...detailsOf(line).map((each) => `${INDENT}${each}`)];
    for (const each of told) for (const part of folded(each, HANGING, terminal.columns)) terminal.line(part);
  }
  terminal.line();
  terminal.line(`Complete up to position ${story.upTo}.`);
}

/** What was folded, and the differences, oldest first. */
export function printReplay(terminal: Terminal, report: ReplayReport): void {
  const { green, red } = terminal.colours;
  const { events, decisions, streams, rows, found, differences, head, upTo } = report;
  const folded =
    `${counted(events, 'event')} with ${counted(decisions, 'decision')} in ${counted(streams, 'stream')} ` +
    `and ${counted(rows, 'row')} of the allocation table, up to position ${upTo}`;
  if (report.ok) {
    terminal.line(`${green('same')}  ${folded}`);
  } else {
    terminal.line(`${red(counted(found, 'difference'))}  in ${folded}`);
    terminal.line();
    const shown = differences.slice(0, SHOWN_MAX);
    terminal.table(
      ['position', 'allocation', 'member', 'recorded', 'folded'],
      shown.map(({ pos, stream, member, recorded, folded: ours }) => [
        String(pos),
        shortened(refOfStream(stream) ?? stream),
        member,
        visible(String(recorded)),
        visible(String(ours)),
      ]),
    );
    if (shown.length < found) terminal.line(`The first ${shown.length} are shown; --json has more.`);
  }
  printGrowth(terminal, head.pos, report.grownTo, 'replayed');
}

const GONE = '(gone: it was erased, or its retention has ended)';

function detailsOf({ because, machines, after, texts }: StoryLine): readonly string[] {
  return [
    ...machines.map((id) => `machine  ${visible(id)}`),
    ...because.map(({ code, text }) => `because  ${visible(text)} (${visible(code)})`),
    ...(after === null ? [] : [`after    ${standingText(after)}`]),
    ...texts.map(({ kind, text }) => `${kind}  ${text === null ? GONE : visible(text)}`),
  ];
}

function standingText(after: StandingAfter): string {
  switch (after.of) {
    case 'record':
      return `count ${after.count}, ${after.status}, consent ${after.consent}, pool ${after.pool}`;
    case 'placement':
      return after.reason === null ? after.outcome : `${after.outcome}: ${after.reason}`;
  }
}

/** The log has grown while it was read. */
export function printGrowth(terminal: Terminal, upTo: number, grownTo: number, done: string): void {
  if (grownTo <= upTo) return;
  const { yellow } = terminal.colours;
  terminal.line(
    `${yellow('grown')}  to position ${grownTo} meanwhile: what stands behind ${upTo} was not ${done}`,
  );
}

/** A number with its word, in the plural where it has to be. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
