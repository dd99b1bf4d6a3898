import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AttemptBody } from '#domain/attempt/attempt-body';
import { ConsentBody } from '#domain/consent/consent-body';
import { launchBody } from '#domain/provision/launch-body';
import { observationBody } from '#domain/watch/observation-body';
import { LANES } from '#support/launch-bodies';
import { ACCEPT, exampleAttempt } from './examples.ts';
import { MEMBERS } from './members.ts';
import { EXAMPLE_LAUNCH, EXAMPLE_OBSERVATION } from './placement-examples.ts';
import { componentSchemas } from './schemas.ts';

const schemas = z.record(z.string(), z.record(z.string(), z.unknown())).parse(componentSchemas());
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
ajv.addVocabulary(['components']);
ajv.addSchema({ $id: 'https://spillway.test/api', components: { schemas } });
const described = {
  attempt: ajv.compile({ $ref: 'https://spillway.test/api#/components/schemas/Attempt' }),
  consent: ajv.compile({ $ref: 'https://spillway.test/api#/components/schemas/Consent' }),
  launch: ajv.compile({ $ref: 'https://spillway.test/api#/components/schemas/Launch' }),
  observation: ajv.compile({ $ref: 'https://spillway.test/api#/components/schemas/Observation' }),
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

const LAUNCH = launchBody({ lanes: LANES });
const OBSERVATION = observationBody('2026-11-29T12:00:00.000Z');
const [RUNG] = EXAMPLE_LAUNCH.plan.rungs;

test.each<readonly [string, object]>([
  ['the ordinary body', {}],
  ['null for an optional member', { workload: null, limits: null, request: null, message_id: null }],
  ['an unknown member', { colour: 'red' }],
  ['no plan', { plan: undefined }],
  ['no rung', { plan: { rungs: [] } }],
  ['33 rungs', { plan: { rungs: Array.from({ length: 33 }, (_, id) => ({ ...RUNG, id: `r${id}` })) } }],
  ['an empty pool', { plan: { rungs: [{ ...RUNG, pool: '' }] } }],
  ['a broken count', { plan: { rungs: [{ ...RUNG, gpu: { count: 1.5 } }] } }],
  ['a count of zero', { plan: { rungs: [{ ...RUNG, gpu: { count: 0 } }] } }],
  ['a long pool', { plan: { rungs: [{ ...RUNG, pool: '😀'.repeat(1_025) }] } }],
  ['a null variable', { workload: { command: 'c', env: { A: null } } }],
  ['a number for a variable', { workload: { command: 'c', env: { A: 1 } } }],
  ['an empty command', { workload: { command: '' } }],
  ['a limit of zero', { limits: { boot_deaths: 0 } }],
  ['a lease of 59 s', { limits: { worker_lease_s: 59 } }],
  ['an empty image of the request', { request: { image: '' } }],
  ['an id of 129 characters', { message_id: 'x'.repeat(129) }],
  ['another consent', { failover: 'maybe' }],
])('a launch with %s is valid by its description exactly if it is taken', (_, change) => {
  const sent: unknown = JSON.parse(JSON.stringify({ ...EXAMPLE_LAUNCH, ...change }));
  expect(described.launch(sent)).toBe(LAUNCH.safeParse(sent).success);
});

test.each<readonly [string, object]>([
  ['the ordinary body', {}],
  ['null for an optional member', { guest: null, alarm: null, port: null, create_operation: null }],
  ['no instance', { instance: undefined }],
  ['another provider state', { provider: 'gone' }],
  ['a guest without a phase', { guest: { workload_started: true } }],
  ['another alarm', { alarm: 'fire' }],
  ['a negative age', { log_age_s: -1 }],
  ['a number for a time', { observed_at: 7 }],
  ['a long code', { create_error: { code: 'x'.repeat(257) } }],
])('an observation with %s is valid by its description exactly if it is taken', (_, change) => {
  const sent: unknown = JSON.parse(JSON.stringify({ ...EXAMPLE_OBSERVATION, ...change }));
  expect(described.observation(sent)).toBe(OBSERVATION.safeParse(sent).success);
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

interface Described {
  readonly properties?: Readonly<Record<string, Described>> | undefined;
  readonly items?: Described | undefined;
  readonly description?: string | undefined;
}

const Described: z.ZodType<Described> = z.object({
  properties: z
    .record(
      z.string(),
      z.lazy(() => Described),
    )
    .optional(),
  items: z.lazy(() => Described).optional(),
  description: z.string().optional(),
});

/** Names of members without a description, at every level. */
function silentIn({ properties = {}, items }: Described): readonly string[] {
  const own = Object.entries(properties).flatMap(([name, member]) => [
    ...(member.description === undefined ? [name] : []),
    ...silentIn(member),
  ]);
  return items === undefined ? own : [...own, ...silentIn(items)];
}

test('every member that may be sent is described', () => {
  const bodies = ['Attempt', 'AllocationShape', 'Consent', 'Launch', 'Observation'];
  expect(bodies.flatMap((id) => silentIn(Described.parse(schemas[id])))).toEqual([]);
});
