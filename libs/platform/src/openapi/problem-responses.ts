import { PROBLEM_CONTENT_TYPE, type ProblemName, problem } from '../problem.ts';
import { type Part, schema } from './schemas.ts';

/** What is told of a status beside the problems that have it. */
const STATUSES: Readonly<Record<number, string>> = {
  400: 'Not JSON, or members that break the rules; each bad member is listed. Nothing is recorded.',
  401: 'Authentication is on and the caller is unknown.',
  403: 'The caller lacks the right, the token does not fit the open question, or a page of another site sent it.',
  404: 'Unknown path, location or question. An allocation that was never reported is not 404.',
  409: 'It contradicts what is recorded. Nothing has changed.',
  413: 'The body is over 262144 bytes.',
  415: 'Content-Type is not application/json.',
  421: 'The Host header names neither loopback nor the host of SPILLWAY_PUBLIC_URL nor one of SPILLWAY_HOST_NAMES.',
  429: 'The caller sends faster than its limit. Nothing is recorded, the id is not used up.',
  500: 'A mistake of Spillway. Whether anything was recorded is unproven: repeat with the same id.',
  503: 'The log cannot be reached. Recording is unproven: repeat with the same id.',
};

/** The records that 409 examples show, by problem. */
export type AllocationExamples = { readonly [Name in ProblemName]?: unknown };
/** The questions that they show. */
export type PromptExamples = { readonly [Name in ProblemName]?: unknown };

/** Asked before anything else, whatever is called. */
const OF_EVERY_CALL: readonly ProblemName[] = ['unknown_host'];

/** The responses of an operation that may be refused with these problems: one per status. */
export function problemResponses(
  names: readonly ProblemName[],
  allocations: AllocationExamples = {},
  prompts: PromptExamples = {},
): Part {
  const all: readonly ProblemName[] = [...names, ...OF_EVERY_CALL];
  const statuses = [...new Set(all.map(statusOf))];
  return Object.fromEntries(
    statuses.map((status) => {
      const same = all.filter((name) => statusOf(name) === status);
      return [status, response(status, same, allocations, prompts)];
    }),
  );
}

const statusOf = (name: ProblemName) => problem(name).status;

function response(
  status: number,
  names: readonly ProblemName[],
  allocations: AllocationExamples,
  prompts: PromptExamples,
): Part {
  const examples = names.map((name) => {
    const { body } = problem(name, {
      ...(name === 'invalid_body' ? { errors: BAD_MEMBERS } : {}),
      ...(name === 'invalid_query' ? { errors: BAD_PARAMETERS } : {}),
      ...(name in allocations ? { allocation: allocations[name] } : {}),
      ...(name in prompts ? { prompt: prompts[name] } : {}),
    });
    return [name, { summary: body.title, value: body }] as const;
  });
  const retry = status === 429 || status === 503;
  return {
    description: STATUSES[status] ?? '',
    ...(retry ? { headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } } : {}),
    content: {
      [PROBLEM_CONTENT_TYPE]: { schema: schema('Problem'), examples: Object.fromEntries(examples) },
    },
  };
}

const BAD_MEMBERS = [
  { pointer: '/logical_allocation', code: 'required' },
  { pointer: '/request/gpu_count', code: 'wrong_type' },
] as const;

const BAD_PARAMETERS = [{ pointer: '/limit', code: 'out_of_range' }] as const;
