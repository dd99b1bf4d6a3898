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
import { AnswerTakenBody, CallerBody, PromptBody, PromptPageBody } from '#domain/audit/prompt-schema';
import { ConsentBody } from '#domain/consent/consent-body';
import { ParkedBody, ParkedReleasedBody, PromptAnswerBody } from '#domain/consent/page-bodies';
import { laneDirectory, STAND_IN_LANES } from '#domain/provision/lane-directory';
import { launchBody } from '#domain/provision/launch-body';
import {
  LaunchResultBody,
  LaunchTakenBody,
  LaunchUndecidedBody,
  ObservationAnswerBody,
  ObservationUndecidedBody,
  ProposedFailoverBody,
} from '#domain/watch/answer-schema';
import { observationBody } from '#domain/watch/observation-body';
import { BAD_MEMBER_CODES } from '../bad-members.ts';
import { AllocationBody, AllocationListBody, Bill, OverviewBody, StateBody } from './audit-schemas.ts';
import { MEMBERS, type MemberDoc } from './members.ts';
import { LAUNCH_MEMBERS, OBSERVATION_MEMBERS } from './placement-members.ts';

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
  prompt: PromptBody.optional().describe(
    'Only for 409 on a question that was answered by its id: how it stands, and who answered it when.',
  ),
});

/** Of `GET /api/prompts/stream`: no body of one form, but lines. */
const PromptEvents = z
  .string()
  .describe('Server-sent events; the data of each `prompt` has the form of Prompt.');

const REQUEST = AttemptBody.shape.request;

const registry = () => z.registry<{ readonly id: string }>();

const sent = registry();
sent.add(AttemptBody, { id: 'Attempt' });
sent.add(REQUEST.out, { id: 'AllocationShape' });
sent.add(ConsentBody, { id: 'Consent' });
sent.add(PromptAnswerBody, { id: 'PromptAnswer' });
sent.add(ParkedBody, { id: 'Parked' });

// Which lanes there are is known to a deployment only; a description of them names none.
const launched = registry();
launched.add(launchBody({ lanes: laneDirectory(STAND_IN_LANES) }), { id: 'Launch' });

const observed = registry();
observed.add(observationBody('2026-01-01T00:00:00.000Z'), { id: 'Observation' });

const answered = registry();
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
answered.add(LaunchTakenBody, { id: 'LaunchTaken' });
answered.add(LaunchUndecidedBody, { id: 'LaunchUndecided' });
answered.add(LaunchResultBody, { id: 'LaunchResult' });
answered.add(ObservationAnswerBody, { id: 'ObservationAnswer' });
answered.add(ObservationUndecidedBody, { id: 'ObservationUndecided' });
answered.add(ProposedFailoverBody, { id: 'ProposedFailover' });
answered.add(z.union([AttemptAnswerBody, LaunchResultBody, ObservationAnswerBody]), { id: 'Result' });
answered.add(z.union([UndecidedAnswerBody, LaunchUndecidedBody, ObservationUndecidedBody]), {
  id: 'UndecidedResult',
});
answered.add(PromptBody, { id: 'Prompt' });
answered.add(PromptPageBody, { id: 'PromptPage' });
answered.add(PromptEvents, { id: 'PromptEvents' });
answered.add(AnswerTakenBody, { id: 'AnswerTaken' });
answered.add(CallerBody, { id: 'Caller' });
answered.add(ParkedReleasedBody, { id: 'ParkedReleased' });
answered.add(OverviewBody, { id: 'AuditOverview' });
answered.add(AllocationListBody, { id: 'AuditAllocations' });
answered.add(AllocationBody, { id: 'AuditAllocation' });
answered.add(StateBody, { id: 'AuditState' });
answered.add(Bill, { id: 'AuditBill' });
answered.add(HealthBody, { id: 'Health' });
answered.add(ProblemBodySchema, { id: 'Problem' });

const refTo = (id: string) => `#/components/schemas/${id}`;

/** A reference to one of the document's schemas. */
export function schema(id: string): Part {
  return { $ref: refTo(id) };
}

/** All schemas of the document, by name, made of those that the code parses and is tested with. */
export function componentSchemas(): Part {
  const answers = z.toJSONSchema(answered, {
    uri: refTo,
    io: 'output',
    // Ours may grow: a client that refuses unknown members would break on the next version.
    override: ({ jsonSchema }) => void delete jsonSchema.additionalProperties,
  });
  const all = {
    ...described(sent, MEMBERS),
    ...described(launched, LAUNCH_MEMBERS),
    ...described(observed, OBSERVATION_MEMBERS),
    ...answers.schemas,
  };
  return Object.fromEntries(Object.entries(all).map(([id, { $id, $schema, ...rest }]) => [id, rest]));
}

function described(bodies: typeof sent, members: Readonly<Record<string, MemberDoc>>) {
  const { schemas } = z.toJSONSchema(bodies, {
    uri: refTo,
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      // It is read member by member before it is parsed, which no keyword shows.
      if (zodSchema === REQUEST)
        Object.assign(jsonSchema, schema('AllocationShape'), { type: 'object', minProperties: 1 });
    },
  });
  // Afterwards, when no two members share a schema any more.
  for (const one of Object.values(schemas)) describeMembers(one, members);
  return schemas;
}

/** Adds what is known of each member by its name, at every level. */
function describeMembers(jsonSchema: JsonSchema, members: Readonly<Record<string, MemberDoc>>): void {
  for (const [name, member] of Object.entries(jsonSchema.properties ?? {})) {
    if (typeof member === 'boolean') continue;
    mergeNull(member);
    describeMembers(member, members);
    const known = Object.hasOwn(members, name) ? members[name] : undefined;
    if (known === undefined) continue;
    Object.assign(member, known);
    // Whole numbers are told apart from other ones by a check of ours, so that both get their own code.
    if (known.maximum !== undefined) Object.assign(member, { type: ['integer', 'null'] });
  }
  const { items } = jsonSchema;
  if (typeof items === 'object' && !Array.isArray(items)) describeMembers(items, members);
}

/** `anyOf` a type or null is written as one schema of two types: shorter to read, the same to a validator. */
function mergeNull(member: JsonSchema): void {
  const [type, none, ...others] = member.anyOf ?? [];
  if (type === undefined || none?.type !== 'null' || others.length > 0 || type.type === undefined) return;
  delete member.anyOf;
  Object.assign(member, type, { type: [type.type, 'null'] });
  if (type.enum !== undefined) member.enum = [...type.enum, null];
}
