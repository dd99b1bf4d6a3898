import { type Classification, classify } from '#domain/classify/classify';
import type { Row } from './rows.ts';

/** Categories of the nine never-count classes: no row of theirs may qualify (fallback 2.6). */
const NEVER_COUNT: ReadonlySet<string> = new Set(
  'auth rbac network image_pull checkpoint application runtime cancelled timeout'.split(' '),
);

export interface Score {
  readonly rows: number;
  readonly qualifyingRight: number;
  readonly categoryRight: number;
  /** Rows that were answered wrongly in either respect. */
  readonly wrong: readonly string[];
  /** Rows of a never-count class that were counted. */
  readonly countedWrongly: readonly string[];
}

export interface Scored {
  readonly answers: readonly (Classification & { readonly id: string })[];
  readonly clear: Score;
  readonly ambiguous: Score;
}

/** Classifies every row and scores those that say what is expected, ambiguous ones apart (fallback 2.6). */
export function scoreRows(rows: readonly Row[]): Scored {
  const answered = rows.map((row) => ({
    row,
    answer: classify({ code: row.code ?? '', message: row.message ?? '' }),
  }));
  const expected = answered.filter(({ row }) => row.expect !== undefined);
  return {
    answers: answered.map(({ row, answer }) => ({ id: row.id, ...answer })),
    clear: score(expected.filter(({ row }) => !row.ambiguous)),
    ambiguous: score(expected.filter(({ row }) => row.ambiguous)),
  };
}

/** A share in percent. No rows are all right. */
export function percent(right: number, rows: number): number {
  return rows === 0 ? 100 : (100 * right) / rows;
}

interface Answered {
  readonly row: Row;
  readonly answer: Classification;
}

function score(answered: readonly Answered[]): Score {
  const qualifyingRight = answered.filter(rightlyCounted);
  const categoryRight = answered.filter(rightlyNamed);
  return {
    rows: answered.length,
    qualifyingRight: qualifyingRight.length,
    categoryRight: categoryRight.length,
    wrong: answered.filter((one) => !rightlyCounted(one) || !rightlyNamed(one)).map(({ row }) => row.id),
    countedWrongly: answered
      .filter(({ row, answer }) => NEVER_COUNT.has(row.expect?.category ?? '') && answer.qualifying)
      .map(({ row }) => row.id),
  };
}

// What `accept` tolerates is a neighbouring category; whether a clear row counts is not open.
function rightlyCounted({ row, answer }: Answered): boolean {
  if (!row.ambiguous) return row.expect?.qualifying === answer.qualifying;
  return tolerable(row).some(({ qualifying }) => qualifying === answer.qualifying);
}

function rightlyNamed({ row, answer }: Answered): boolean {
  return tolerable(row).some(({ category }) => category === answer.category);
}

function tolerable(row: Row) {
  return [...(row.expect === undefined ? [] : [row.expect]), ...(row.accept ?? [])];
}
