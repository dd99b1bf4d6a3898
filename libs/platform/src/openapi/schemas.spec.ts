import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AttemptBody } from '#domain/attempt/attempt-body';
import { ConsentBody } from '#domain/consent/consent-body';
import { ACCEPT, exampleAttempt } from './examples.ts';
import { MEMBERS } from './members.ts';
import { componentSchemas } from './schemas.ts';

const schemas = z.record(z.string(), z.record(z.string(), z.unknown())).parse(componentSchemas());
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
ajv.addVocabulary(['components']);
ajv.addSchema({ $id: 'https://spillway.test/api', components: { schemas } });
const described = {
  attempt: ajv.compile({ $ref: 'https://spillway.test/api#/components/schemas/Attempt' }),
  consent: ajv.compile({ $ref: 'https://spillway.test/api#/components/schemas/Consent' }),
};

const ATTEMPT = exampleAttempt('team-a/finetune-7', 'a1', 'f1');

/** One change to an ordinary body, and nothing else of note. */
const ATTEMPTS: readonly (readonly [string, unknown])[] = [
  ['the ordinary body', ATTEMPT],
  [
    'null for an optional member',
    { ...ATTEMPT, failure: null, attempt_id: null, preemptible_candidate: null },
  ],
  ['null for success', { ...ATTEMPT, success: null }],
  ['null for the request', { ...ATTEMPT, request: null }],
  ['an empty request', { ...ATTEMPT, request: {} }],
  ['a request of unknown members', { ...ATTEMPT, request: { colour: 'red' } }],
  ['a list for the candidate', { ...ATTEMPT, preemptible_candidate: [] }],
  ['text for a flag', { ...ATTEMPT, evidence: { on_demand_impossible: 'false' } }],
  ['a broken count', { ...ATTEMPT, request: { gpu_count: 1.5 } }],
  ['a count of zero', { ...ATTEMPT, request: { gpu_count: 0 } }],
  ['a count beyond 2^53-1', { ...ATTEMPT, request: { gpu_count: 2 ** 53 } }],
  ['no name', { ...ATTEMPT, logical_allocation: undefined }],
  ['an empty name', { ...ATTEMPT, logical_allocation: '' }],
  ['an empty id', { ...ATTEMPT, attempt_id: '' }],
  ['an unknown member', { ...ATTEMPT, colour: 'red' }],
  ['a list', []],
];

test.each(ATTEMPTS)('an attempt with %s is valid by its description exactly if it is taken', (_, body) => {
  const sent: unknown = JSON.parse(JSON.stringify(body));
  expect(described.attempt(sent)).toBe(AttemptBody.safeParse(sent).success);
});

test.each([
  ['the ordinary body', ACCEPT],
  ['a number for the answer', { ...ACCEPT, accept: 1 }],
  ['no answer', { logical_allocation: 'a' }],
  ['a token that is no text', { ...ACCEPT, confirm_token: 7 }],
  ['a null token', { ...ACCEPT, confirm_token: null }],
])('a consent with %s is valid by its description exactly if it is taken', (_, body) => {
  expect(described.consent(body)).toBe(ConsentBody.safeParse(body).success);
});

const BOUNDED: readonly (readonly [string, (text: string) => unknown])[] = [
  ['logical_allocation', (text) => ({ ...ATTEMPT, logical_allocation: text })],
  ['attempt_id', (text) => ({ ...ATTEMPT, attempt_id: text })],
  ['code', (text) => ({ ...ATTEMPT, failure: { code: text } })],
  ['message', (text) => ({ ...ATTEMPT, failure: { message: text } })],
  ['fingerprint', (text) => ({ ...ATTEMPT, evidence: { fingerprint: text } })],
  ['source', (text) => ({ ...ATTEMPT, evidence: { source: text } })],
  ['pool', (text) => ({ ...ATTEMPT, request: { pool: text } })],
  ['image', (text) => ({ ...ATTEMPT, request: { image: text } })],
];

test.each(BOUNDED)('the described length of %s is the one that is checked', (name, bodyOf) => {
  const most = MEMBERS[name]?.maxLength ?? 0;
  // An emoji is one character for both, and two of JavaScript's units.
  const sent = [bodyOf('😀'.repeat(most)), bodyOf('😀'.repeat(most + 1))];
  expect(sent.map((body) => AttemptBody.safeParse(body).success)).toEqual([true, false]);
  expect(sent.map((body) => described.attempt(body))).toEqual([true, false]);
});

test('every member that may be sent is described', () => {
  const Members = z.object({ properties: z.record(z.string(), z.unknown()) });
  const sent = ['Attempt', 'AllocationShape', 'Consent'].flatMap((id) =>
    Object.entries(Members.parse(schemas[id]).properties),
  );
  const silent = sent.filter(
    ([, member]) => !z.object({ description: z.string() }).safeParse(member).success,
  );
  expect(silent.map(([name]) => name)).toEqual([]);
});
