import { z } from 'zod';
import {
  AllocationRecord,
  AskedDecision,
  AttemptAnswerBody,
  ConsentAnswerBody,
  ExplanationLine,
  FailureClassification,
  NotAskedDecision,
  NotCountedDecision,
  ProposedPoolSwitch,
  ProvenanceRowView,
  UndecidedAnswerBody,
} from '#domain/attempt/answer-schema';
import { AttemptBody } from '#domain/attempt/attempt-body';
import { ConsentBody } from '#domain/consent/consent-body';
import { BAD_MEMBER_CODES } from '../bad-members.ts';
import { MEMBERS } from './members.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** A part of the document: JSON, and nothing in the code reads it back. */
export type Part = Readonly<Record<string, unknown>>;

/** `GET /api/health` (fallback 1.3). */
export const HealthBody = z.strictObject({
  ok: z.boolean(),
  status: z.literal('unavailable').optional().describe('Only when the log cannot be reached.'),
  capabilities: z.strictObject({
    gpu_allocation_fallback: z.strictObject({
      status: z.enum(['available', 'unavailable']),
      grounded: z.literal(true),
      routes: z.array(z.string()),
    }),
  }),
});

/** A refusal (RFC 9457). Values of the request are never quoted. */
export const ProblemBodySchema = z.strictObject({
  type: z
    .string()
    .regex(/^urn:spillway:problem:[a-z-]+$/)
    .describe('Stable: compare it as a whole.'),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z
    .array(
      z.strictObject({
        pointer: z.string().describe('RFC 6901, from the root of the body; empty = the body itself.'),
        code: z.enum(BAD_MEMBER_CODES),
      }),
    )
    .optional()
    .describe('Only for 400: one row for each bad member, all of them at once.'),
  allocation: AllocationRecord.optional().describe(
    'Only for 409 on a known record: a caller who lost the answer to an acceptance sees it here.',
  ),
});

const REQUEST = AttemptBody.shape.request;

const sent = z.registry<{ readonly id: string }>();
sent.add(AttemptBody, { id: 'Attempt' });
sent.add(REQUEST.out, { id: 'AllocationShape' });
sent.add(ConsentBody, { id: 'Consent' });

const answered = z.registry<{ readonly id: string }>();
answered.add(AttemptAnswerBody, { id: 'AttemptAnswer' });
answered.add(UndecidedAnswerBody, { id: 'Undecided' });
answered.add(ConsentAnswerBody, { id: 'ConsentAnswer' });
answered.add(AllocationRecord, { id: 'Allocation' });
answered.add(ProvenanceRowView, { id: 'ProvenanceRow' });
answered.add(NotAskedDecision, { id: 'NotAskedDecision' });
answered.add(NotCountedDecision, { id: 'NotCountedDecision' });
answered.add(AskedDecision, { id: 'AskedDecision' });
answered.add(FailureClassification, { id: 'Classification' });
answered.add(ProposedPoolSwitch, { id: 'ProposedAction' });
answered.add(ExplanationLine, { id: 'Explanation' });
answered.add(HealthBody, { id: 'Health' });
answered.add(ProblemBodySchema, { id: 'Problem' });

const refTo = (id: string) => `#/components/schemas/${id}`;

/** A reference to one of the document's schemas. */
export function schema(id: string): Part {
  return { $ref: refTo(id) };
}

/** All schemas of the document, by name, made of those that the code parses and is tested with. */
export function componentSchemas(): Part {
  const requests = z.toJSONSchema(sent, {
    uri: refTo,
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      // It is read member by member before it is parsed, which no keyword shows.
      if (zodSchema === REQUEST)
        Object.assign(jsonSchema, schema('AllocationShape'), { type: 'object', minProperties: 1 });
      describeMembers(jsonSchema);
    },
  });
  const answers = z.toJSONSchema(answered, {
    uri: refTo,
    io: 'output',
    // Ours may grow: a client that refuses unknown members would break on the next version.
    override: ({ jsonSchema }) => void delete jsonSchema.additionalProperties,
  });
  return Object.fromEntries(
    Object.entries({ ...requests.schemas, ...answers.schemas }).map(([id, { $id, $schema, ...rest }]) => [
      id,
      rest,
    ]),
  );
}

/** Adds what is known of each member by its name. */
function describeMembers(jsonSchema: JsonSchema): void {
  for (const [name, member] of Object.entries(jsonSchema.properties ?? {})) {
    const known = MEMBERS[name];
    if (known === undefined || typeof member === 'boolean') continue;
    mergeNull(member);
    Object.assign(member, known);
    // Whole numbers are told apart from other ones by a check of ours, so that both get their own code.
    if (known.maximum !== undefined) Object.assign(member, { type: ['integer', 'null'] });
  }
}

/** `anyOf` a type or null is written as one schema of two types: shorter to read, the same to a validator. */
function mergeNull(member: JsonSchema): void {
  const [type, none, ...others] = member.anyOf ?? [];
  if (type === undefined || none?.type !== 'null' || others.length > 0 || type.type === undefined) return;
  delete member.anyOf;
  Object.assign(member, type, { type: [type.type, 'null'] });
}
