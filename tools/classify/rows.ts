import { z } from 'zod';
import { FAILURE_CATEGORIES } from '#domain/classify/classify';

const Answer = z.object({ qualifying: z.boolean(), category: z.enum(FAILURE_CATEGORIES) });

/** One line of a corpus. Members beside these are ignored; without `expect` a row is classified, not scored. */
export const Row = z.object({
  id: z.string(),
  code: z.string().nullish(),
  message: z.string().nullish(),
  expect: Answer.optional(),
  accept: z.array(Answer).optional(),
  ambiguous: z.boolean().optional(),
});
export type Row = z.output<typeof Row>;

/** A line that is no row. The text names the line and the member, never a value. */
export class BadLine extends Error {
  override readonly name = 'BadLine';

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
  }
}

/** The rows of a JSONL text; blank lines are skipped. Throws BadLine for the first line that is no row. */
export function parseRows(text: string): readonly Row[] {
  return text
    .split(/\r?\n/)
    .flatMap((line, index) => (line.trim() === '' ? [] : [parseRow(line, index + 1)]));
}

function parseRow(line: string, number: number): Row {
  const parsed = Row.safeParse(parseJson(line, number));
  if (parsed.success) return parsed.data;

  const problems = parsed.error.issues.map(({ path, code }) => `${path.join('.') || 'row'} (${code})`);
  throw new BadLine(number, `not a row: ${problems.join(', ')}`);
}

function parseJson(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new BadLine(number, 'not JSON');
  }
}
