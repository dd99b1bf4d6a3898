import { z } from 'zod';
import { Digest, Instant } from '#events/define-event';
import { Gpu } from '#events/plan';
import { Evidence, Verdict } from '#events/watch.events';
import { ConfirmToken, ExplanationLine } from '../attempt/answer-schema.ts';
import { WAIT_REASONS } from '../provision/step.ts';

/** What a person is asked to agree to (failover 4.8). Digests only; the machine is that of the plan. */
export const ProposedFailoverBody = z.strictObject({
  action: z.literal('failover_to_terminal'),
  logical_allocation_ref: Digest,
  failed_instance_digest: Digest,
  lane: z.string().describe('The terminal lane.'),
  machine: z.string().nullable(),
  gpu: Gpu.nullable(),
  plan_digest: Digest,
  digest: Digest.describe('Digest of this action: what the token is bound to.'),
});

const decision = {
  outcome: Verdict.shape.outcome,
  reason: z
    .string()
    .nullable()
    .describe('Why, in one word that stays the same; null where nothing happened.'),
  failure_class: z.enum(['infra', 'code']).nullable(),
  redrivable: z.boolean().describe('Whether the capacity-retry pass may try it again.'),
  rule: z.string().describe('The rule that decided, with its arm.'),
  evidence: Evidence.describe('The facts that the rule used, and the limits that it compared with.'),
  not_fired: z
    .array(z.string())
    .describe('Rules that did not fire, each with the first condition that failed.'),
  position: z.int().nonnegative().describe('Where the decision stands in the log.'),
};

const question = {
  needs_confirmation: z.literal(true).optional().describe('Only while a failover question is open.'),
  confirm_token: ConfirmToken.optional().describe('Only with a question. Needed to accept it.'),
  question: z.string().optional().describe('The question in fixed words.'),
  proposed_action: ProposedFailoverBody.optional(),
  explanation: z
    .array(ExplanationLine)
    .optional()
    .describe('Only where the question can no longer be shown: `prompt_erased`.'),
};

/** The 200 body of an observation, and of its location (failover 2.2). */
export const ObservationAnswerBody = z.strictObject({ ...decision, ...question });

const waits = z
  .strictObject({
    reason: z.enum(WAIT_REASONS).describe('What it waits for: a closed set.'),
    until: Instant.nullable().describe('When it goes on at the latest; null = when something is heard.'),
  })
  .optional()
  .describe('Only while something is under way that can go no further now.');

/** The 200 body at the location of a launch: its latest decision (failover 2.1). */
export const LaunchResultBody = z.strictObject({
  ...decision,
  instance: z
    .strictObject({
      lane: z.string(),
      id: z.string().describe("The provider's own id."),
      pool: z.string().nullable(),
      started_at: Instant,
    })
    .optional()
    .describe('The instance that answers for the allocation now, if there is one.'),
  waits,
  ...question,
});

const location = z.string().min(1).describe('Where the answer will be; the same as the Location header.');

/** The 202 body of a launch: it is taken, and provisioning goes on (failover 2.1). */
export const LaunchTakenBody = z.strictObject({
  logical_allocation: z.string().describe('The name as it was taken: trimmed.'),
  message_id: z.string().describe('That of the call, or one that was made for it.'),
  position: z.int().positive().describe('Where the launch stands in the log.'),
  location,
});

/** The 202 body of an observation that is recorded and not judged yet. */
export const ObservationUndecidedBody = z.strictObject({ location });

/** The 202 body at the location of a launch without a decision. */
export const LaunchUndecidedBody = z.strictObject({ position: z.int().positive(), location, waits });
