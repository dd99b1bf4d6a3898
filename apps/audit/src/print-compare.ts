import type { DecidedView, DecisionDifference } from '#domain/audit/compare-decisions';
import { shortened } from '#domain/audit/told';
import { refOfStream } from '#events/streams';
import { type Terminal, visible } from './command-line/terminal.ts';
import { counted } from './print.ts';
import type { CompareReport } from './replay-compare.ts';

/** What was decided again, and every decision that differs with both explanations, oldest first. */
export function printCompare(terminal: Terminal, report: CompareReport): void {
  const { green, red, yellow } = terminal.colours;
  const { decided, events, streams, upTo, found, rules, differences } = report;
  const looked =
    `${counted(decided, 'decision')} decided again, in ${counted(events, 'event')} of ` +
    `${counted(streams, 'stream')}, up to position ${upTo}`;
  terminal.line(
    report.ok ? `${green('same')}  ${looked}` : `${red(counted(found, 'difference'))}  ${looked}`,
  );
  terminal.line(
    `today  ask after ${counted(rules.threshold, 'counting failure')}, at most ${counted(rules.questionsPerDay, 'question')} in 24 h, tokens live ${rules.tokenLifeS} s`,
  );
  for (const difference of differences) printDifference(terminal, difference);
  if (differences.length > 0) terminal.line();
  if (differences.length < found) {
    terminal.line(`The first ${differences.length} are shown; --json has all of them.`);
  }
  for (const note of notesOf(report)) terminal.line(note);
  if (report.grownTo > report.head.pos) {
    terminal.line(
      `${yellow('grown')}  to position ${report.grownTo} meanwhile: what stands behind ${report.head.pos} was not looked at`,
    );
  }
}

function printDifference(terminal: Terminal, difference: DecisionDifference): void {
  const { bold, dim } = terminal.colours;
  const { pos, at, stream, input, saw, members } = difference;
  const cause = input === null ? '' : `, decided ${input.type} at ${input.pos}`;
  const seen = saw === null ? '' : ` on version ${saw}`;
  terminal.line();
  terminal.line(
    `${bold(`position ${pos}`)}  ${dim(at.replace('T', ' ').replace('Z', ''))}  allocation ${shortened(refOfStream(stream) ?? stream)}${cause}${seen}`,
  );
  for (const line of [
    ...viewLines('recorded', difference.recorded),
    ...viewLines('today', difference.today),
  ]) {
    terminal.line(`  ${visible(line)}`);
  }
  const changed = members.map(
    ({ member, recorded, today }) => `${member}: ${String(recorded)} -> ${String(today)}`,
  );
  for (const line of changed.slice(0, MEMBERS_SHOWN_MAX)) terminal.line(`  ${dim(visible(line))}`);
  if (changed.length > MEMBERS_SHOWN_MAX) {
    terminal.line(
      `  ${dim(`and ${counted(changed.length - MEMBERS_SHOWN_MAX, 'member')} more; --json has all`)}`,
    );
  }
}

const MEMBERS_SHOWN_MAX = 8;

function viewLines(whose: string, view: DecidedView): readonly string[] {
  const { decided, reason, category, qualifying, explanation } = view;
  const classified =
    category === null ? [] : [`${category}${qualifying === true ? ', counts' : ', does not count'}`];
  const said = [decided, ...(reason === null ? [] : [reason]), ...classified];
  return [
    `${whose.padEnd(9)} ${said.join('  ')}`,
    ...explanation.map(({ code, text }) => `${' '.repeat(9)} because ${text} (${code})`),
  ];
}

function notesOf({ explainedOtherwise, failures, undecided }: CompareReport): readonly string[] {
  const notes: string[] = [];
  if (explainedOtherwise > 0) {
    notes.push(`${counted(explainedOtherwise, 'decision')} would be the same for another reason.`);
  }
  if (failures.notOpened > 0) {
    notes.push(
      `${counted(failures.notOpened, 'failure')} not classified again: no wrapping keys are given. The recorded category stands.`,
    );
  }
  if (failures.gone > 0) {
    notes.push(
      `${counted(failures.gone, 'failure')} not classified again: erased, or the retention has ended. The recorded category stands.`,
    );
  }
  if (undecided > 0) notes.push(`${counted(undecided, 'input')} without a decision so far.`);
  return notes;
}
