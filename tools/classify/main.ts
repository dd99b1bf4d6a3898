import { readFileSync } from 'node:fs';
import { BadLine, parseRows, type Row } from './rows.ts';
import { percent, type Score, type Scored, scoreRows } from './score.ts';

/** Usage, unreadable file or bad line. */
const EXIT_BAD_INPUT = 2;
const USAGE = 'usage: npm run -s classify -- FILE.jsonl';

/**
 * `npm run -s classify -- FILE.jsonl`: one JSON line per row `{id, category, qualifying, rule}` on stdout, a
 * summary on stderr. Nothing is printed on stdout when a line of the file is bad.
 */
function main(files: readonly string[]): void {
  const [file] = files;
  if (file === '--help' || file === '-h') {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  // What begins with a hyphen is a question about the call, not a file.
  if (file === undefined || files.length > 1 || file.startsWith('-')) {
    fail(USAGE);
    return;
  }
  const rows = readRows(file);
  if (rows === undefined) return;

  const scored = scoreRows(rows);
  process.stdout.write(
    scored.answers
      .map(({ id, category, qualifying, rule }) => `${JSON.stringify({ id, category, qualifying, rule })}\n`)
      .join(''),
  );
  process.stderr.write(summary(scored));
}

function readRows(file: string): readonly Row[] | undefined {
  try {
    return parseRows(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof BadLine) fail(`${file}: ${error.message}`);
    else if (error instanceof Error && 'code' in error)
      fail(`${file}: cannot be read (${String(error.code)})`);
    else throw error;
    return undefined;
  }
}

function fail(problem: string): void {
  process.stderr.write(`${problem}\n`);
  process.exitCode = EXIT_BAD_INPUT;
}

function summary({ answers, clear, ambiguous }: Scored): string {
  const counting = answers.filter(({ qualifying }) => qualifying).length;
  const lines = [`rows: ${answers.length}, counting: ${counting}`];
  if (clear.rows > 0) lines.push(...scoreLines('scored rows', clear));
  if (ambiguous.rows > 0) lines.push(...scoreLines('ambiguous rows', ambiguous));
  return `${lines.join('\n')}\n`;
}

function scoreLines(title: string, score: Score): readonly string[] {
  const share = (right: number) => `${right}/${score.rows} (${percent(right, score.rows).toFixed(1)} %)`;
  return [
    `${title}: qualifying right ${share(score.qualifyingRight)}, category right ${share(score.categoryRight)}, ` +
      `never-count rows that count: ${score.countedWrongly.length}`,
    ...(score.wrong.length > 0 ? [`  wrong: ${score.wrong.join(' ')}`] : []),
  ];
}

main(process.argv.slice(2));
