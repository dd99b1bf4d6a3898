import {
  ATTEMPT_ID_MAX_CHARS,
  CODE_MAX_CHARS,
  FINGERPRINT_MAX_CHARS,
  MESSAGE_MAX_CHARS,
  NAME_MAX_CHARS,
  TEXT_MAX_CHARS,
} from '#domain/attempt/attempt-body';
import { CONSUMER_MAX_CHARS } from '#domain/consent/page-bodies';

/** What the description of a member says beside its type. */
export interface MemberDoc {
  readonly description: string;
  readonly minLength?: number;
  /** In characters, as JSON Schema counts them. The code's own checks carry no such keyword. */
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

const text = (description: string) => ({ description, maxLength: TEXT_MAX_CHARS });
const count = (description: string) => ({
  description: `${description} Zero and less are tracked, but never lead to a question.`,
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
});

/** Every member that a caller may send, by name (fallback 1.1, 1.2 and 8). */
export const MEMBERS: Readonly<Record<string, MemberDoc>> = {
  logical_allocation: {
    description: 'Stable name of the thing to place; trimmed. Another name is another record.',
    minLength: 1,
    maxLength: NAME_MAX_CHARS,
  },
  request: {
    description: 'What is to be placed. It may be incomplete: such an attempt is tracked and never asks.',
  },
  preemptible_candidate: {
    description: 'The identical allocation on preemptible capacity: all 13 invariants equal to the request.',
  },
  failure: { description: 'How the placement failed. Absent = nothing failed.' },
  code: { description: "The provider's code, or a normalised one.", maxLength: CODE_MAX_CHARS },
  message: { description: "The provider's text. All of it is read.", maxLength: MESSAGE_MAX_CHARS },
  evidence: {
    description: 'What the caller knows about capacity. Absent = source unknown, both flags false.',
  },
  source: text(
    'provider-preflight, scheduler, terraform, skypilot or unknown. Any other text reads as unknown.',
  ),
  on_demand_impossible: { description: 'The source proves that on-demand cannot succeed. Absent = false.' },
  preemptible_available: { description: 'The source proves that preemptible can be had. Absent = false.' },
  fingerprint: {
    description: "The caller's version mark of the evidence. Another one is new evidence.",
    maxLength: FINGERPRINT_MAX_CHARS,
  },
  success: { description: 'True = the allocation was placed: the count starts again. Null is refused.' },
  attempt_id: {
    description:
      'Names this attempt, so that a repeat counts once and gets the same answer. The same as the header ' +
      'Idempotency-Key; both and different is refused.',
    minLength: 1,
    maxLength: ATTEMPT_ID_MAX_CHARS,
  },
  pool: text(
    'In a request: absent or empty = on-demand; any other text is not tracked. In a candidate: exactly ' +
      'preemptible.',
  ),
  gpu_family: text('Invariant 1: GPU family.'),
  gpu_product: text('Invariant 2: GPU product.'),
  gpu_count: count('Invariant 3: number of GPUs.'),
  image: text('Invariant 4: container image.'),
  image_digest: text('Invariant 5: digest of the image.'),
  sm: text('Invariant 6: GPU architecture.'),
  rt_cores_required: {
    description: 'Invariant 7: whether RT cores are needed. False is a value, absent is not.',
  },
  backend: text('Invariant 8: what schedules it.'),
  model: text('Invariant 9: the model.'),
  workload_tier: text('Invariant 10: tier of the workload.'),
  execution_mode: text('Invariant 11: mode of execution.'),
  boot_disk_count: count('Invariant 12: number of boot disks.'),
  boot_disk_size_bytes: count('Invariant 13: size of each boot disk.'),
  accept: { description: 'True = the identical allocation may use preemptible capacity. Only a boolean.' },
  confirm_token: { description: 'Of the open question. Needed to accept, ignored to decline.' },
  question: {
    description: 'Event id of the question that is answered. When another one is open: 409, nothing changes.',
  },
  consumer: {
    description: 'Name of the consumer that waits.',
    minLength: 1,
    maxLength: CONSUMER_MAX_CHARS,
  },
  ref: { description: 'The allocation, as the overview names it.' },
  first_pos: { description: 'The event that was seen waiting. When it waits at another one: 409.' },
};
