import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { PROBLEM_NAMES, parseBody, problem, problemOf } from './problem.ts';

const isUnicode = (text: string) => !/\p{Surrogate}/u.test(text);

const schema = z.object({
  name: z
    .string()
    .trim()
    .min(1)
    .max(8)
    .refine(isUnicode, { params: { code: 'invalid_unicode' } }),
  count: z.int().optional(),
  age_s: z.number().positive().optional(),
  success: z.boolean().optional(),
  source: z.enum(['scheduler', 'terraform']).optional(),
  rungs: z
    .array(z.object({ 'a/b~c': z.string() }))
    .min(1)
    .max(2)
    .optional(),
  env: z.record(z.string(), z.string()).optional(),
  answer: z.union([z.string(), z.boolean()]).optional(),
  standing: z.literal(true).optional(),
});

const errorsOf = (body: unknown) => {
  const parsed = parseBody(schema, body);
  return parsed.ok ? [] : parsed.problem.body.errors;
};

test('a good body is handed on parsed', () => {
  expect(parseBody(schema, { name: ' x ', more: 1 })).toEqual({ ok: true, value: { name: 'x' } });
});

test('all bad members at once, one row each', () => {
  expect(errorsOf({ name: 17, count: '4', success: null, rungs: [{ 'a/b~c': 1 }] })).toEqual([
    { pointer: '/name', code: 'wrong_type' },
    { pointer: '/count', code: 'wrong_type' },
    { pointer: '/success', code: 'wrong_type' },
    { pointer: '/rungs/0/a~1b~0c', code: 'wrong_type' },
  ]);
});

test.each([
  { body: {}, pointer: '/name', code: 'required' },
  { body: null, pointer: '', code: 'wrong_type' },
  { body: [], pointer: '', code: 'wrong_type' },
  { body: { name: '  ' }, pointer: '/name', code: 'empty' },
  { body: { name: 'ninechars' }, pointer: '/name', code: 'too_long' },
  { body: { name: 'a\ud800' }, pointer: '/name', code: 'invalid_unicode' },
  { body: { name: 'x', count: 1.5 }, pointer: '/count', code: 'wrong_type' },
  { body: { name: 'x', count: true }, pointer: '/count', code: 'wrong_type' },
  { body: { name: 'x', count: 2 ** 53 }, pointer: '/count', code: 'out_of_range' },
  { body: { name: 'x', count: Number.POSITIVE_INFINITY }, pointer: '/count', code: 'not_finite' },
  { body: { name: 'x', age_s: Number.POSITIVE_INFINITY }, pointer: '/age_s', code: 'not_finite' },
  { body: { name: 'x', age_s: 0 }, pointer: '/age_s', code: 'out_of_range' },
  { body: { name: 'x', source: 'rumour' }, pointer: '/source', code: 'not_allowed' },
  { body: { name: 'x', source: 4 }, pointer: '/source', code: 'wrong_type' },
  { body: { name: 'x', standing: false }, pointer: '/standing', code: 'not_allowed' },
  { body: { name: 'x', rungs: [] }, pointer: '/rungs', code: 'empty' },
  {
    body: { name: 'x', rungs: [{ 'a/b~c': '' }, { 'a/b~c': '' }, { 'a/b~c': '' }] },
    pointer: '/rungs',
    code: 'too_many',
  },
  { body: { name: 'x', rungs: [{}] }, pointer: '/rungs/0/a~1b~0c', code: 'required' },
  { body: { name: 'x', answer: 4 }, pointer: '/answer', code: 'wrong_type' },
])('$pointer $code', ({ body, pointer, code }) => {
  expect(errorsOf(body)).toEqual([{ pointer, code }]);
});

describe('nothing that the caller wrote is repeated', () => {
  test('neither a value nor the key of a record', () => {
    const parsed = parseBody(schema, { name: 4, source: 'acct-secret', env: { 'acct-secret': 4 } });
    expect(JSON.stringify(parsed)).not.toContain('acct-secret');
    expect(errorsOf({ name: 'x', env: { 'acct-secret': 4 } })).toEqual([
      { pointer: '/env', code: 'wrong_type' },
    ]);
  });

  test('nor the name of an unknown member', () => {
    const strict = z.strictObject({ a: z.strictObject({}) });
    const parsed = parseBody(strict, { a: { 'acct-secret': 1 } });
    expect(parsed).toMatchObject({
      problem: { body: { errors: [{ pointer: '/a', code: 'unknown_member' }] } },
    });
    expect(JSON.stringify(parsed)).not.toContain('acct-secret');
  });
});

test('an error that does not report its input still tells missing from wrong', () => {
  const { error } = schema.safeParse({ count: 'x' });
  expect(error && problemOf(error).body.errors).toEqual([
    { pointer: '/name', code: 'required' },
    { pointer: '/count', code: 'wrong_type' },
  ]);
});

test('a problem is an RFC 9457 body with its content type', () => {
  expect(problem('no_question_open', { allocation: { consent: 'accepted' } })).toEqual({
    name: 'no_question_open',
    status: 409,
    headers: { 'content-type': 'application/problem+json' },
    body: {
      type: 'urn:spillway:problem:no-question-open',
      title: 'No question is open',
      status: 409,
      detail: expect.any(String),
      allocation: { consent: 'accepted' },
    },
  });
});

test.each(PROBLEM_NAMES)('%s says when to come back only if coming back helps', (name) => {
  const { status, headers } = problem(name, { retryAfterS: 2.2 });
  expect(headers['retry-after']).toBe(status === 429 || status === 503 ? '3' : undefined);
});
