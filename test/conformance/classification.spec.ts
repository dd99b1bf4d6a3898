import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { classify } from '#domain/classify/classify';
import { parseRows } from '#tools/classify/rows';
import { percent, scoreRows } from '#tools/classify/score';

const data = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');

const { clear, ambiguous } = scoreRows(parseRows(data('./classification/corpus.jsonl')));
console.info(
  `corpus: ${clear.rows} clear rows, wrong: ${clear.wrong.join(' ') || 'none'}; ` +
    `${ambiguous.rows} ambiguous rows, wrong: ${ambiguous.wrong.join(' ') || 'none'}`,
);

test('tells on at least 98 % of the corpus whether the failure counts', () => {
  expect(percent(clear.qualifyingRight, clear.rows), clear.wrong.join(' ')).toBeGreaterThanOrEqual(98);
});

test('names the category on at least 95 % of the corpus', () => {
  expect(percent(clear.categoryRight, clear.rows), clear.wrong.join(' ')).toBeGreaterThanOrEqual(95);
});

test('counts no row of a never-count class', () => {
  expect(clear.countedWrongly).toEqual([]);
});

test('classifies every one of our own rows as its meaning says', () => {
  const own = scoreRows(parseRows(data('./classification/own.jsonl'))).clear;
  expect(own.rows).toBeGreaterThan(1000);
  expect(own.wrong).toEqual([]);
});

const Cases = z.array(z.object({ id: z.string(), group: z.string(), steps: z.array(z.unknown()) }));
const Steps = z.array(
  z.object({
    body: z.object({
      failure: z.object({ code: z.string().nullish(), message: z.string().nullish() }).optional(),
    }),
    expect: z.object({
      decision: z.object({ category: z.string().optional(), qualifying: z.boolean().optional() }).optional(),
    }),
  }),
);

const steps = Cases.parse(JSON.parse(data('./fallback/cases.json')))
  .filter(({ group }) => group.startsWith('classify-'))
  .flatMap(({ id, steps: inCase }) =>
    Steps.parse(inCase).map((step, index) => ({
      step: `${id} ${index + 1}`,
      failure: step.body?.failure,
      category: step.expect.decision?.category,
      qualifying: step.expect.decision?.qualifying,
    })),
  )
  .filter(
    ({ failure, category, qualifying }) => failure && (category !== undefined || qualifying !== undefined),
  );

test('the cases hold classifications to check', () => {
  expect(steps.length).toBeGreaterThan(50);
});

test.each(steps)('classifies as the case expects: $step', ({ failure, category, qualifying }) => {
  const got = classify({ code: failure?.code ?? undefined, message: failure?.message ?? undefined });
  if (category !== undefined) expect(got.category).toBe(category);
  if (qualifying !== undefined) expect(got.qualifying).toBe(qualifying);
});
