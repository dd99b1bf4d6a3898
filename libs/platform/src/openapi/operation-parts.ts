import { type Part, schema } from './schemas.ts';

export const API_PATH = '/api/agent/gpu-allocation';
const JSON_TYPE = 'application/json';

/** The parameter that names a call beside its body. */
export const idempotencyKey = { $ref: '#/components/parameters/IdempotencyKey' };
/** The same for a launch or an observation. */
export const messageKey = { $ref: '#/components/parameters/MessageKey' };
/** The header of every answer that may hold a token. */
export const noStore = { 'Cache-Control': { $ref: '#/components/headers/CacheControl' } };
/** The headers of an answer that is to be read later. */
export const located = { ...noStore, Location: { $ref: '#/components/headers/Location' } };

/** A JSON body of this form, with examples by name: a summary and a value each. */
export function json(schemaId: string, examples: Readonly<Record<string, readonly [string, unknown]>>): Part {
  const named = Object.entries(examples).map(([name, [summary, value]]) => [name, { summary, value }]);
  return { [JSON_TYPE]: { schema: schema(schemaId), examples: Object.fromEntries(named) } };
}
