import { ATTEMPT_ID_MAX_CHARS } from '#domain/attempt/attempt-body';
import { MESSAGE_ID_MAX_CHARS } from '#domain/provision/launch-body';
import { AUDIT_PATHS } from './audit-operations.ts';
import {
  ACCEPT,
  ACCEPTED,
  ACCEPTED_NAME,
  ASKED,
  BELOW_THRESHOLD,
  DECLINE,
  DECLINED,
  exampleAttempt,
  SUPPRESSED,
  UNDECIDED,
} from './examples.ts';
import { API_PATH, idempotencyKey, json, located, noStore } from './operation-parts.ts';
import { PAGE_PATHS } from './page-operations.ts';
import {
  FAILOVER_ACCEPTED,
  LAUNCH_ASKED,
  LAUNCH_UNDECIDED,
  LAUNCH_WAITS,
  OBSERVATION_MOVED,
} from './placement-examples.ts';
import { LAUNCH, OBSERVATION } from './placement-operations.ts';
import { problemResponses } from './problem-responses.ts';
import { componentSchemas, type Part } from './schemas.ts';

/** The version of the description: that of the package. */
export const API_DESCRIPTION_VERSION = '0.1.0';

const ABOUT = `Spillway is asked "placement failed again: what now?" and answers with a typed, explained decision.

Report every failed placement of an allocation. After three that really mean "no GPU capacity" (or one proof of a
provider's preflight), the answer holds a question: may this identical allocation move to preemptible capacity? Only a
recorded acceptance changes the pool.

Launch an allocation, and tell what its instance does: Spillway places it on the first rung that has room, watches it,
and moves a run that was lost to the paid terminal lane once, by standing consent or after asking.

Unknown members are ignored at every level, null means absent (save for \`success\`), and of a repeated member the last
one counts. Every refusal is a problem body (RFC 9457). An unknown path is 404 with such a body; what is
no HTTP/1.1 request, does not arrive in 30 s or has headers over 16 KiB is refused with 400, 408 or 431 and such a body,
whatever its path. The same calls go over the bus, on the subjects \`spillway.in.attempt\`, \`spillway.in.launch\`, \`spillway.in.observation\` and
\`spillway.in.consent\`.`;

/** The OpenAPI 3.1 description of Spillway's interface, made of the schemas that the code parses and is tested with. */
export function openApiDocument(): Part {
  return {
    openapi: '3.1.1',
    info: { title: 'Spillway', version: API_DESCRIPTION_VERSION, description: ABOUT },
    servers: [{ url: '/', description: 'The one origin of all apps.' }],
    tags: [
      { name: 'attempt', description: 'For pollers and agents: report failures, read the decision.' },
      { name: 'placement', description: 'For owners and pollers: launch, and tell what an instance does.' },
      { name: 'consent', description: 'For approvers: answer a question.' },
      { name: 'page', description: 'What the page for approvers reads and sends.' },
      { name: 'audit', description: 'For auditors and the page: what happened, and what is so now.' },
      { name: 'health', description: 'For operators.' },
    ],
    paths: {
      [`${API_PATH}/attempt`]: { post: ATTEMPT },
      [`${API_PATH}/launch`]: { post: LAUNCH },
      [`${API_PATH}/observation`]: { post: OBSERVATION },
      [`${API_PATH}/results/{opaque}`]: { get: RESULT },
      [`${API_PATH}/consent`]: { post: CONSENT },
      ...PAGE_PATHS,
      ...AUDIT_PATHS,
      '/api/health': { get: HEALTH },
    },
    components: { schemas: componentSchemas(), headers: HEADERS, parameters: PARAMETERS },
  };
}

const HEADERS: Part = {
  Location: {
    description: 'Where the answer will be. Opaque; keep it out of logs, since it can yield a token.',
    required: true,
    schema: { type: 'string', format: 'uri-reference' },
  },
  RetryAfter: {
    description: 'Whole seconds after which the call may be repeated.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  CacheControl: { description: 'Always no-store.', schema: { type: 'string', const: 'no-store' } },
};

const idempotency = (maxLength: number, example: string) => ({
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Names this call, so that a repeat by a retry counts once and gets the same answer. The same id with another ' +
    'body is 409. Scoped to the deployment; a refused body does not use it up.',
  schema: { type: 'string', minLength: 1, maxLength },
  example,
});

const PARAMETERS: Part = {
  IdempotencyKey: idempotency(ATTEMPT_ID_MAX_CHARS, 'run-7#3'),
  MessageKey: idempotency(MESSAGE_ID_MAX_CHARS, 'train-7#1'),
  Opaque: {
    name: 'opaque',
    in: 'path',
    required: true,
    description: 'The last part of a location that a call was answered with.',
    schema: { type: 'string' },
  },
  PromptId: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'Any id that the question ever had.',
    schema: { type: 'string', pattern: '^[a-z2-7]{26}$' },
  },
};

const ATTEMPT_ANSWERS: Part = {
  200: {
    description: 'The decision about this attempt. A repeat shows what was decided then, not the state now.',
    headers: noStore,
    content: json('AttemptAnswer', {
      belowThreshold: ['Counted, not asked', BELOW_THRESHOLD],
      asked: ['The third counting failure: a person is asked', ASKED],
      suppressed: ['The same evidence after a decline', SUPPRESSED],
    }),
  },
  202: {
    description:
      'Recorded and not decided yet: read the answer at the location. Nothing is lost by not waiting.',
    headers: located,
    content: json('Undecided', { undecided: ['Not decided within the wait', UNDECIDED] }),
  },
};

const ATTEMPT: Part = {
  operationId: 'reportAttempt',
  tags: ['attempt'],
  summary: 'Report a failed (or successful) placement',
  parameters: [idempotencyKey],
  requestBody: {
    required: true,
    description: 'At most 262144 bytes.',
    content: json('Attempt', {
      failed: ['A failure without capacity', exampleAttempt(ACCEPTED_NAME, 'a1', 'f1')],
      proof: [
        'A provider preflight proves that on-demand cannot succeed: asks at once',
        {
          ...exampleAttempt(ACCEPTED_NAME, 'p1', 'advice-2026-11-29'),
          failure: null,
          evidence: {
            source: 'provider-preflight',
            on_demand_impossible: true,
            preemptible_available: true,
            fingerprint: 'advice-2026-11-29',
          },
        },
      ],
      succeeded: [
        'The allocation was placed: the count starts again',
        { logical_allocation: ACCEPTED_NAME, request: { pool: 'on-demand' }, success: true },
      ],
    }),
  },
  responses: {
    ...ATTEMPT_ANSWERS,
    ...problemResponses([
      'malformed_json',
      'invalid_body',
      'unknown_caller',
      'cross_site',
      'not_permitted',
      'id_reused',
      'body_too_large',
      'not_json_type',
      'too_many_calls',
      'internal',
      'log_unavailable',
    ]),
  },
};

const RESULT: Part = {
  operationId: 'readResult',
  tags: ['attempt', 'placement'],
  summary: 'Read the answer to a call by its location',
  description:
    'Of an attempt or an observation: exactly what the call would have answered. Of a launch: its latest decision.',
  parameters: [{ $ref: '#/components/parameters/Opaque' }],
  responses: {
    200: {
      description: 'What was decided.',
      headers: noStore,
      content: json('Result', {
        attempt: ['Of an attempt: a person is asked', ASKED],
        observation: ['Of an observation: the run is moved', OBSERVATION_MOVED],
        launch: ['Of a launch: a person is asked about the move', LAUNCH_ASKED],
      }),
    },
    202: {
      description: 'Nothing is decided yet.',
      headers: located,
      content: json('UndecidedResult', {
        attempt: ['Of an attempt', UNDECIDED],
        launch: ['Of a launch', LAUNCH_UNDECIDED],
        waits: ['Of a launch that can go no further now', LAUNCH_WAITS],
      }),
    },
    ...problemResponses([
      'unknown_caller',
      'not_permitted',
      'not_found',
      'too_many_calls',
      'internal',
      'log_unavailable',
    ]),
  },
};

const CONSENT: Part = {
  operationId: 'answerQuestion',
  tags: ['consent'],
  summary: 'Accept or decline the open question',
  description:
    'Of the pool or of a failover, whichever is open. ' +
    'Checked in this order: shape (400), caller (401, 403), reported or launched (409), question open (409), ' +
    'token (403). A refusal burns nothing: the open question and its token stay usable.',
  parameters: [idempotencyKey],
  requestBody: {
    required: true,
    content: json('Consent', {
      accept: ['Accept, with the token of the question', ACCEPT],
      decline: ['Decline: no token needed', DECLINE],
    }),
  },
  responses: {
    200: {
      description: 'The answer is recorded.',
      headers: noStore,
      content: json('ConsentAnswer', {
        accepted: ['The pool is preemptible from now on', ACCEPTED],
        declined: ['The pool stays on-demand', DECLINED],
        moved: ['A failover was accepted: the move goes on', FAILOVER_ACCEPTED],
      }),
    },
    ...problemResponses(
      [
        'malformed_json',
        'invalid_body',
        'unknown_caller',
        'cross_site',
        'not_permitted',
        'token_missing',
        'token_invalid',
        'token_expired',
        'never_reported',
        'no_question_open',
        'other_question_open',
        'id_reused',
        'body_too_large',
        'not_json_type',
        'too_many_calls',
        'internal',
        'log_unavailable',
      ],
      { no_question_open: ACCEPTED.allocation, other_question_open: ASKED.allocation },
    ),
  },
};

const ROUTES = [`POST ${API_PATH}/attempt`, `POST ${API_PATH}/consent`];
const capabilities = (status: string) => ({
  gpu_allocation_fallback: { status, grounded: true, routes: ROUTES },
});

const HEALTH: Part = {
  operationId: 'readHealth',
  tags: ['health'],
  summary: 'Whether attempts can be taken now',
  responses: {
    200: {
      description: 'The log can be reached. No state, names or digests are shown.',
      content: json('Health', {
        available: ['Available', { ok: true, capabilities: capabilities('available') }],
      }),
    },
    503: {
      description: 'The log cannot be reached.',
      headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
      content: json('Health', {
        unavailable: [
          'Unavailable',
          { ok: false, status: 'unavailable', capabilities: capabilities('unavailable') },
        ],
      }),
    },
  },
};
