import { z } from 'zod';
import { Digest, EventId } from '#events/define-event';
import { FAILURE_CATEGORIES, Scalars } from '#events/scalars';
import { Outcome } from '#events/watch.events';
import { PROVENANCE_MAX_ROWS } from '../allocation.ts';
import { API_VERSION } from './answer.ts';
import { POOL_SWITCH } from './assess.ts';

/** A confirm token: 43 characters of base64url (fallback 6). */
export const ConfirmToken = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** The closed set of explanation codes; only member names and numbers follow a colon (fallback 1.4). */
const ExplanationCode = z
  .string()
  .regex(
    /^(rule:\S+|(request_incomplete|candidate_incomplete|candidate_differs|preflight_unproven):[a-z0-9_,]+|below_threshold:\d+\/\d+|candidate_missing|candidate_pool|failure_not_counting|evidence_already_prompted|evidence_declined|prompt_open|prompt_budget_spent|prompt_superseded|request_changed|prompt_renewed|prompt_erased)$/,
  );

/** One line of an explanation. */
export const ExplanationLine = z.strictObject({
  code: ExplanationCode.describe('Machine-readable; only member names and numbers follow the colon.'),
  text: z.string().min(1).describe('One fixed sentence for a person.'),
});

/** What was made of the failure (fallback 2). */
export const FailureClassification = z.strictObject({
  category: z.enum(FAILURE_CATEGORIES).describe('Why the placement failed; never a text of the caller.'),
  qualifying: z.boolean().describe('Whether the failure counts as missing GPU capacity.'),
});

/** All 13 with absent ones as null (fallback 4): raw, so that a person sees what exactly would move. */
const ShownInvariants = z.strictObject({
  gpu_family: z.string().nullable(),
  gpu_product: z.string().nullable(),
  gpu_count: z.int().nullable(),
  image: z.string().nullable(),
  image_digest: z.string().nullable(),
  sm: z.string().nullable(),
  rt_cores_required: z.boolean().nullable(),
  backend: z.string().nullable(),
  model: z.string().nullable(),
  workload_tier: z.string().nullable(),
  execution_mode: z.string().nullable(),
  boot_disk_count: z.int().nullable(),
  boot_disk_size_bytes: z.int().nullable(),
});

/** What a person is asked to allow. */
export const ProposedPoolSwitch = z.strictObject({
  action: z.literal(POOL_SWITCH.action),
  logical_allocation_ref: Digest,
  from: z.literal(POOL_SWITCH.from),
  to: z.literal(POOL_SWITCH.to),
  invariants: ShownInvariants,
  evidence_digest: Digest,
  digest: Digest.describe('Digest of this action: what the token is bound to.'),
});

const explanation = z
  .array(ExplanationLine)
  .describe('Every rule that decided or still blocks a question, not just the first.');

/** No question is asked, and the failure was not even classified. */
export const NotCountedDecision = z.strictObject({
  prompt: z.literal(false),
  reason: z.enum(['allocation_succeeded', 'preemptible_already_selected', 'not_on_demand']),
  explanation,
});

/** The failure was classified and counted, or not, and no question is asked. */
export const NotAskedDecision = z.strictObject({
  prompt: z.literal(false),
  reason: z.enum(['suppressed', 'threshold_not_met']),
  classification: FailureClassification,
  explanation,
});

/** The question. `message` and `proposed_action` are left out when the record was erased meanwhile. */
export const AskedDecision = z.strictObject({
  prompt: z.literal(true),
  reason: z.enum(['deterministic_preflight', 'failed_attempt_threshold']),
  classification: FailureClassification,
  explanation,
  message: z.string().min(1).optional().describe('The question in fixed words.'),
  proposed_action: ProposedPoolSwitch.optional(),
});

/** One step of a record: one attempt or one answer (fallback 7). */
export const ProvenanceRowView = z.strictObject({
  attempt: z.int().nonnegative().describe('Counting failures after this step.'),
  classification: z.enum([...FAILURE_CATEGORIES, 'success', 'already_selected', 'not_on_demand', 'consent']),
  evidence_digest: Digest,
  selected_pool: Scalars.shape.pool,
  consent_outcome: z.enum(['recorded', 'ignored', 'success', 'accepted', 'declined']),
});

/** The record as every answer shows it: digests only, never raw invariants. */
export const AllocationRecord = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  logical_allocation_ref: Digest,
  request_digest: Digest.nullable(),
  selected_pool: Scalars.shape.pool,
  qualifying_attempts: z.int().nonnegative(),
  status: Scalars.shape.status,
  consent: Scalars.shape.consent,
  provenance: z
    .array(ProvenanceRowView)
    .max(PROVENANCE_MAX_ROWS)
    .describe('In time order: all answers first of all, and the newest attempts.'),
});

const common = {
  ok: z.literal(true),
  grounded: z.literal(true),
  usage: z.strictObject({ total_tokens: z.literal(0) }),
};

/** The 200 body of an attempt, and of its location (fallback 1.1). */
export const AttemptAnswerBody = z.strictObject({
  ...common,
  decision: z.union([NotAskedDecision, NotCountedDecision, AskedDecision]),
  needs_confirmation: z.literal(true).optional().describe('Only when a question is asked.'),
  confirm_token: ConfirmToken.optional().describe('Only when a question is asked. Needed to accept it.'),
  attempt_event_id: EventId,
  allocation: AllocationRecord,
});

/** The 200 body of an answered question (fallback 1.2). */
export const ConsentAnswerBody = z.strictObject({
  ...common,
  outcome: Outcome.optional().describe('Only after a failover question: what the answer decided.'),
  reason: z.string().nullable().optional().describe('Only after a failover question.'),
  location: z.string().optional().describe('Only after a failover question: where the move can be followed.'),
  allocation: AllocationRecord.optional().describe('Only where attempts were reported.'),
});

/** The 202 body of an attempt that is recorded and not decided yet. */
export const UndecidedAnswerBody = z.strictObject({
  ok: z.literal(true),
  attempt_event_id: EventId,
  location: z.string().min(1).describe('Where the answer will be; the same as the Location header.'),
});
