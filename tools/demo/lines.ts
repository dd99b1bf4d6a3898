import type pc from 'picocolors';
import { wrapped as wrappedAt } from '../../apps/audit/src/command-line/fold.ts';
import { visible } from '../../apps/audit/src/command-line/terminal.ts';
import type { SentAttempt } from './bodies.ts';
import type { AttemptAnswer, ConsentAnswer, Refusal } from './calls.ts';

/** The widest line that the demo prints. */
export const COLUMNS = 100;

export type Colours = Pick<
  ReturnType<typeof pc.createColors>,
  'bold' | 'dim' | 'cyan' | 'green' | 'red' | 'yellow'
>;

const SENT = '  → ';
const GOT = '  ← ';
const TEXT = ' '.repeat(GOT.length);
const CODE_WIDTH = 34;
const NAME_WIDTH = 14;

/** Words in lines of at most `width` columns, each behind its indent. */
export function wrapped(text: string, indent: string, width = COLUMNS): readonly string[] {
  return wrappedAt(text, indent, width);
}

/** A text in at most `width` columns. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** A chapter's heading with what happens in it. */
export function chapterLines(
  number: number,
  title: string,
  about: string,
  colours: Colours,
): readonly string[] {
  return ['', colours.bold(`${number}  ${title}`), ...wrapped(about, '   ').map((line) => colours.dim(line))];
}

/** What a poller reports, in one line: the failure, and which evidence comes with it. */
export function sentAttemptLine(sent: SentAttempt, as: string, colours: Colours): string {
  const { failure, evidence } = sent;
  const what =
    failure == null
      ? `${evidence?.source ?? 'nothing'}: on-demand impossible, preemptible available`
      : `${failure.code ?? ''}: ${failure.message ?? ''}`;
  const mark = `  (evidence ${evidence?.fingerprint ?? 'none'})`;
  const text = cut(as.padEnd(NAME_WIDTH) + what, COLUMNS - SENT.length - mark.length);
  return colours.cyan(SENT) + visible(text) + colours.dim(visible(mark));
}

/** What an approver answers, in one line. */
export function sentConsentLine(accept: boolean, token: string | undefined, colours: Colours): string {
  const how = token === undefined ? 'without a token' : `with token ${token.slice(0, 6)}…`;
  return `${colours.cyan(SENT)}${(accept ? 'accept' : 'decline').padEnd(NAME_WIDTH)}${how}`;
}

/** The decision about an attempt: reason, count, and why; with the question when a person is asked. */
export function attemptAnswerLines(
  { decision, allocation, ...answer }: AttemptAnswer,
  colours: Colours,
): readonly string[] {
  const head = decision.prompt ? colours.yellow('a question') : 'no question';
  const facts = [
    colours.bold(decision.reason),
    ...('classification' in decision ? [classificationWords(decision.classification)] : []),
    `count ${allocation.qualifying_attempts}`,
    allocation.status,
  ];
  return [
    `${colours.cyan(GOT)}${head}  ${facts.join(' · ')}`,
    ...decision.explanation.flatMap(({ code, text }) => explanationLines(code, text, colours)),
    ...(decision.prompt ? questionLines(decision, answer.confirm_token, colours) : []),
  ];
}

/** The record after a person's answer; none where nothing was ever reported. */
export function consentAnswerLines({ allocation }: ConsentAnswer, colours: Colours): readonly string[] {
  if (allocation === undefined) return [];
  const { consent, status, selected_pool, qualifying_attempts } = allocation;
  const facts = [
    `consent ${colours.bold(consent)}`,
    `status ${status}`,
    `pool ${selected_pool}`,
    `count ${qualifying_attempts}`,
  ];
  return [`${colours.cyan(GOT)}${facts.join(' · ')}`];
}

/** A refusal: its status and sentences, and the record where it is shown. */
export function refusalLines(
  { status, title, detail, allocation }: Refusal,
  colours: Colours,
): readonly string[] {
  const record =
    allocation === undefined
      ? []
      : wrapped(`The record says: consent ${allocation.consent}, pool ${allocation.selected_pool}.`, TEXT);
  return [
    `${colours.cyan(GOT)}${colours.bold(`${status}`)}  ${title}`,
    ...[...wrapped(detail, TEXT), ...record].map((line) => colours.dim(line)),
  ];
}

/** A claim of the demo, and whether it held; `seen` tells what was there instead. */
export function claimLine(claim: string, held: boolean, seen: string, colours: Colours): string {
  if (held) return `${colours.green('  ✓ ')}${cut(claim, COLUMNS - TEXT.length)}`;
  return colours.red(`  ✗ ${claim}; seen: ${seen}`);
}

function classificationWords(classification: {
  readonly category: string;
  readonly qualifying: boolean;
}): string {
  return `${classification.category} ${classification.qualifying ? 'counts' : 'does not count'}`;
}

/** Code and sentence side by side; a code too long for its column gets a line of its own. */
function explanationLines(code: string, text: string, colours: Colours): readonly string[] {
  const indent = TEXT + ' '.repeat(CODE_WIDTH);
  const [first = '', ...rest] = wrapped(text, indent);
  if (code.length >= CODE_WIDTH) return [TEXT + colours.dim(code), ...[first, ...rest]];
  return [`${TEXT}${colours.dim(code.padEnd(CODE_WIDTH))}${first.slice(indent.length)}`, ...rest];
}

type Asked = Extract<AttemptAnswer['decision'], { readonly prompt: true }>;

function questionLines(
  { message, proposed_action }: Asked,
  token: string | undefined,
  colours: Colours,
): readonly string[] {
  if (message === undefined || proposed_action === undefined) return [];
  const { from, to, invariants } = proposed_action;
  const what = `${invariants.gpu_count} × ${invariants.gpu_product}, all 13 invariants equal`;
  return [
    ...wrapped(message, `${TEXT}│ `).map((line) => colours.yellow(line)),
    ...wrapped(`${from} → ${to}: ${what}; token ${(token ?? '').slice(0, 6)}…`, `${TEXT}│ `).map((line) =>
      colours.yellow(line),
    ),
  ];
}
