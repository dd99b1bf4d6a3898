import { idempotencyKey, json, noStore } from './operation-parts.ts';
import { ACCEPTED_PROMPT, OPEN_PROMPT } from './page-examples.ts';
import { problemResponses } from './problem-responses.ts';
import type { Part } from './schemas.ts';

const READ = ['unknown_caller', 'not_permitted', 'too_many_calls', 'internal', 'log_unavailable'] as const;
const CHANGE = [
  'malformed_json',
  'invalid_body',
  'unknown_caller',
  'not_permitted',
  'cross_site',
  'body_too_large',
  'not_json_type',
  'too_many_calls',
  'internal',
  'log_unavailable',
] as const;

const promptId = { $ref: '#/components/parameters/PromptId' };

const parameter = (name: string, description: string, schema: object) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});

const ME: Part = {
  operationId: 'readCaller',
  tags: ['page'],
  summary: 'Who calls, and what they may do',
  responses: {
    200: {
      description: 'The caller.',
      headers: noStore,
      content: json('Caller', {
        local: [
          'Authentication is off',
          {
            subject: 'local',
            authenticated: false,
            may: { consent: true, audit: true, unseal: true, operate: true },
          },
        ],
      }),
    },
    ...problemResponses(['unknown_caller', 'internal']),
  },
};

const PROMPTS: Part = {
  operationId: 'listQuestions',
  tags: ['page'],
  summary: 'Open or closed questions, newest first',
  description:
    'Open ones by when they were asked or renewed, closed ones by when they were first asked. Needs the right to ' +
    'answer or to audit. Reading a list renews nothing.',
  parameters: [
    parameter('state', 'Open unless given.', { type: 'string', enum: ['open', 'closed'], default: 'open' }),
    parameter('limit', 'Questions on a page.', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
    parameter('after', 'The `next` of the page before.', { type: 'string', pattern: '^\\d{1,15}$' }),
  ],
  responses: {
    200: {
      description: 'A page of questions.',
      headers: noStore,
      content: json('PromptPage', { open: ['One is open', { prompts: [OPEN_PROMPT], next: null }] }),
    },
    ...problemResponses(['invalid_query', ...READ]),
  },
};

const PROMPT: Part = {
  operationId: 'readQuestion',
  tags: ['page'],
  summary: 'One question, by any id that it ever had',
  description: 'Read by somebody who may answer it, an expired question is renewed: a new id and life time.',
  parameters: [promptId],
  responses: {
    200: {
      description: 'The question as it stands.',
      headers: noStore,
      content: json('Prompt', { open: ['Open', OPEN_PROMPT], closed: ['Closed', ACCEPTED_PROMPT] }),
    },
    ...problemResponses([...READ, 'not_found']),
  },
};

const STREAM: Part = {
  operationId: 'followQuestions',
  tags: ['page'],
  summary: 'Questions as they open, are renewed and close',
  description:
    'Server-sent events. `prompt`: a question as it is now, to be put in the place of what was known of it; its id ' +
    'is a position in the log. `ping`: every 15 s. Nothing is repeated after a break: connect, then read the lists.',
  responses: {
    200: {
      description: 'The stream. It ends when the app does, or when its reader is too slow: connect again.',
      headers: noStore,
      content: {
        'text/event-stream': {
          schema: { $ref: '#/components/schemas/PromptEvents' },
          examples: {
            question: {
              summary: 'A question opened',
              value: `id: 42\nevent: prompt\ndata: ${JSON.stringify(OPEN_PROMPT)}\n\n`,
            },
          },
        },
      },
    },
    ...problemResponses([...READ, 'too_many_streams']),
  },
};

const ANSWER: Part = {
  operationId: 'answerQuestionById',
  tags: ['page'],
  summary: 'Accept or decline a question by its id',
  description:
    'For people who have seen the question: its token is derived here. A 409 holds the question as it stands, with ' +
    'who answered it and when.',
  parameters: [promptId, idempotencyKey],
  requestBody: {
    required: true,
    content: json('PromptAnswer', {
      accept: ['Accept', { accept: true }],
      decline: ['Decline', { accept: false }],
    }),
  },
  responses: {
    200: {
      description: 'The answer is recorded.',
      headers: noStore,
      content: json('AnswerTaken', { accepted: ['Accepted', { ok: true, prompt: ACCEPTED_PROMPT }] }),
    },
    ...problemResponses(
      [...CHANGE, 'not_found', 'token_expired', 'no_question_open', 'other_question_open', 'id_reused'],
      {},
      { no_question_open: ACCEPTED_PROMPT, other_question_open: ACCEPTED_PROMPT },
    ),
  },
};

const parked = (operationId: string, summary: string, description: string): Part => ({
  operationId,
  tags: ['page'],
  summary,
  description,
  requestBody: {
    required: true,
    content: json('Parked', {
      poison: [
        'What the overview lists as parked',
        { consumer: 'classifier', ref: OPEN_PROMPT.ref, first_pos: 4_711 },
      ],
    }),
  },
  responses: {
    200: {
      description: 'The consumer goes on within seconds.',
      headers: noStore,
      content: json('ParkedReleased', { released: ['Recorded', { ok: true, outcome: 'released' }] }),
    },
    ...problemResponses([...CHANGE, 'nothing_parked', 'parked_elsewhere']),
  },
});

/** The calls of the approver's page, and what operators do on it (fallback 1.2, 6). */
export const PAGE_PATHS: Part = {
  '/api/me': { get: ME },
  '/api/prompts': { get: PROMPTS },
  '/api/prompts/stream': { get: STREAM },
  '/api/prompts/{id}': { get: PROMPT },
  '/api/prompts/{id}/answer': { post: ANSWER },
  '/api/parked/requeue': {
    post: parked('requeueParked', 'Let a consumer try a parked event again', 'Needs the right to operate.'),
  },
  '/api/parked/skip': {
    post: parked(
      'skipParked',
      'Let a consumer pass over a parked event',
      'Needs the right to operate. The event stays in the log; this consumer never handles it.',
    ),
  },
};
