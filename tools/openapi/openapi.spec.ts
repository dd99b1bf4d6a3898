import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { API_DESCRIPTION_VERSION, openApiDocument } from '#platform/openapi/document';
import { PROBLEM_NAMES, problem } from '#platform/problem';
import { OPENAPI_FILE, openApiText } from './text.ts';

const Content = z.record(
  z.string(),
  z.object({
    schema: z.object({ $ref: z.string() }),
    examples: z.record(z.string(), z.object({ value: z.unknown() })),
  }),
);
const Operation = z.object({
  operationId: z.string(),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(
    z.string(),
    z.object({ headers: z.record(z.string(), z.unknown()).optional(), content: Content }),
  ),
});
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
});

const document = Document.parse(JSON.parse(openApiText()));
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
ajv.addVocabulary(['components']);
ajv.addSchema({ $id: 'https://spillway.test/api', components: document.components });

function validatorOf(ref: string): ValidateFunction {
  return ajv.compile({ $ref: `https://spillway.test/api${ref}` });
}

test('the file is what `npm run openapi` writes now', () => {
  expect(readFileSync(OPENAPI_FILE, 'utf8') === openApiText(), 'run `npm run openapi`').toBe(true);
});

test('the description is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const found = await validator.validate(JSON.parse(openApiText()));
  expect(found.errors).toBeUndefined();
  expect(found.valid).toBe(true);
  expect(validator.version).toBe('3.1');
});

test('its version is that of the package', () => {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')));
  expect(API_DESCRIPTION_VERSION).toBe(version);
});

const examples = operations.flatMap(({ operationId, requestBody, responses }) => {
  const contents = [
    ...(requestBody === undefined ? [] : [{ where: 'request', content: requestBody.content }]),
    ...Object.entries(responses).map(([status, { content }]) => ({ where: status, content })),
  ];
  return contents.flatMap(({ where, content }) =>
    Object.values(content).flatMap(({ schema, examples: named }) =>
      Object.entries(named).map(([name, { value }]) => ({
        of: `${operationId} ${where} ${name}`,
        schema,
        value,
      })),
    ),
  );
});

test.each(examples)('the example $of has the form that it illustrates', ({ schema, value }) => {
  const validate = validatorOf(schema.$ref);
  validate(value);
  expect(validate.errors ?? []).toEqual([]);
});

test('an answer of another form is not valid', () => {
  expect(validatorOf('#/components/schemas/AttemptAnswer')({ ok: true })).toBe(false);
  expect(validatorOf('#/components/schemas/Attempt')({ logical_allocation: 'a', request: {} })).toBe(false);
  expect(validatorOf('#/components/schemas/Attempt')({ logical_allocation: 'a', request: { x: 1 } })).toBe(
    true,
  );
});

test('every problem of the table has the described form', () => {
  const validate = validatorOf('#/components/schemas/Problem');
  const errors = [{ pointer: '/success', code: 'wrong_type' }] as const;
  expect(PROBLEM_NAMES.filter((name) => !validate(problem(name, { errors }).body))).toEqual([]);
});

test('every status of the interface is described, and those that ask for a repeat say when', () => {
  const statuses = new Set(operations.flatMap(({ responses }) => Object.keys(responses)));
  expect([...statuses].sort()).toEqual(
    ['200', '202', '400', '401', '403', '404', '409', '413', '415', '421', '429', '500', '503'].sort(),
  );
  const silent = operations.flatMap(({ operationId, responses }) =>
    ['429', '503']
      .filter(
        (status) => responses[status] !== undefined && !('Retry-After' in (responses[status]?.headers ?? {})),
      )
      .map((status) => `${operationId} ${status}`),
  );
  expect(silent).toEqual([]);
  expect(Object.keys(document.components.schemas)).toContain('Problem');
  expect(openApiDocument()).toEqual(JSON.parse(openApiText()));
});
