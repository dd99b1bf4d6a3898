import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Texts = z.array(z.string());

/** What an answer must be like. Every member that the data may have is here; an unknown one is refused. */
export const Expectation = z.strictObject({
  status: z.int().optional(),
  status_any_of: z.array(z.int()).optional(),
  decision: z
    .strictObject({
      prompt: z.boolean().optional(),
      reason: z.string().optional(),
      category: z.string().nullable().optional(),
      qualifying: z.boolean().nullable().optional(),
    })
    .optional(),
  allocation: z.record(z.string(), z.unknown()).optional(),
  token: z.boolean().optional(),
  no_prompt: z.literal(true).optional(),
  has: Texts.optional(),
  lacks: Texts.optional(),
  routes: Texts.optional(),
  not_contains: Texts.optional(),
  allocation_not_contains: Texts.optional(),
  provenance_max: z.int().optional(),
  provenance_last: z.record(z.string(), z.unknown()).optional(),
  provenance_has_outcome: z.string().optional(),
  max_qualifying_attempts: z.int().optional(),
  prompts_total: z.int().optional(),
  ok_total: z.int().optional(),
  save: z.record(z.string(), z.string()).optional(),
});
export type Expectation = Readonly<z.output<typeof Expectation>>;

const Step = z.strictObject({
  call: z.enum(['attempt', 'consent', 'health']),
  body: z.unknown().optional(),
  /** Sent as it is, instead of a body. */
  raw: z.string().optional(),
  /** Label of the token that this step's answer carries. */
  as: z.string().optional(),
  /** Sent so often, one after the other; the expectation is about the last answer. */
  repeat: z.int().positive().optional(),
  /** Sent so many at once; the expectation is about each, and the totals about all. */
  parallel: z.int().positive().optional(),
  /** Dotted path in the answer to the name under which it is kept. */
  save: z.record(z.string(), z.string()).optional(),
  expect: Expectation,
});
export type Step = Readonly<z.output<typeof Step>>;

const Case = z.strictObject({
  id: z.string(),
  group: z.string(),
  description: z.string(),
  steps: z.array(Step).min(1),
});
export type Case = Readonly<z.output<typeof Case>>;

/** Reads cases from a file. Throws on a member it does not know: a check that is passed over proves nothing. */
export function loadCases(path: string): readonly Case[] {
  return z.array(Case).parse(JSON.parse(readFileSync(path, 'utf8')));
}

const PREFIX = 'lumen-';
/** fallback 8: a name at the bound must stay at the bound. */
const MAX_NAME = 256;

/** The case with the run id behind `lumen-` in every name, so that a kept database does not matter. */
export function withRunId(original: Case, runId: string): Case {
  return {
    ...original,
    steps: original.steps.map((step) => ({
      ...step,
      ...(step.body === undefined ? {} : { body: renamed(step.body, runId) }),
      ...(step.raw === undefined ? {} : { raw: step.raw.replaceAll(PREFIX, `${PREFIX}${runId}-`) }),
      expect: {
        ...step.expect,
        ...namesIn('not_contains', step.expect.not_contains, runId),
        ...namesIn('allocation_not_contains', step.expect.allocation_not_contains, runId),
      },
    })),
  };
}

function namesIn(
  member: 'not_contains' | 'allocation_not_contains',
  texts: readonly string[] | undefined,
  runId: string,
) {
  return texts === undefined ? {} : { [member]: texts.map((text) => insertRunId(text, runId)) };
}

function renamed(value: unknown, runId: string): unknown {
  if (typeof value === 'string') return insertRunId(value, runId);
  if (Array.isArray(value)) return value.map((item) => renamed(item, runId));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, renamed(member, runId)]));
}

function insertRunId(text: string, runId: string): string {
  if (!text.trimStart().startsWith(PREFIX)) return text;
  const longer = text.replace(PREFIX, `${PREFIX}${runId}-`);
  const ending = longer.trimEnd();
  const fitted = text.trim().length <= MAX_NAME && longer.trim().length > MAX_NAME;
  return fitted ? ending.slice(0, ending.length - (longer.trim().length - MAX_NAME)) : longer;
}
