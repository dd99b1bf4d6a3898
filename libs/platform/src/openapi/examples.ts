import type { z } from 'zod';
import { API_VERSION } from '#domain/attempt/answer';
import type {
  AllocationRecord,
  AttemptAnswerBody,
  ConsentAnswerBody,
  ProvenanceRowView,
  UndecidedAnswerBody,
} from '#domain/attempt/answer-schema';
import type { AttemptBody } from '#domain/attempt/attempt-body';
import type { ConsentBody } from '#domain/consent/consent-body';
import { explanations } from '#domain/explanation';

type AttemptAnswer = z.output<typeof AttemptAnswerBody>;
type ConsentAnswer = z.output<typeof ConsentAnswerBody>;
type Allocation = z.output<typeof AllocationRecord>;

const INVARIANTS = {
  gpu_family: 'hopper',
  gpu_product: 'H200-SXM-141',
  gpu_count: 4,
  image: 'registry.test/a/worker:7',
  image_digest: 'sha256:5a',
  sm: 'sm_90',
  rt_cores_required: false,
  backend: 'slurm',
  model: 'm-3b',
  workload_tier: 'batch',
  execution_mode: 'finetune',
  boot_disk_count: 2,
  boot_disk_size_bytes: 214_748_364_800,
} as const;

/** The name of the worked example (fallback 9) and of its other way. */
export const ACCEPTED_NAME = 'team-a/finetune-7';
export const DECLINED_NAME = 'team-a/finetune-8';

/** What `try` of the worked example sends (fallback 9). */
export function exampleAttempt(name: string, attemptId: string, fingerprint: string) {
  return {
    logical_allocation: name,
    attempt_id: attemptId,
    request: { ...INVARIANTS, pool: 'on-demand' },
    failure: {
      code: 'NotEnoughResources',
      message: 'VM schedule timeout, most likely due to insufficient hardware resources',
    },
    evidence: {
      source: 'scheduler',
      on_demand_impossible: false,
      preemptible_available: true,
      fingerprint,
    },
    preemptible_candidate: { ...INVARIANTS, pool: 'preemptible' },
  } as const satisfies z.input<typeof AttemptBody>;
}

const REQUEST_DIGEST = '3ffccca318b528ad5fbf276a3cec2367d34321989dbb51c2de0fca09f297c5ff';
const EVIDENCE_DIGEST = '902a337febcbf0e5a69d1f0be753c4ea5231d2d688fa4deb666fab5e51b6e6e6';

const counted = (count: number): z.output<typeof ProvenanceRowView> => ({
  attempt: count,
  selected_pool: 'on-demand',
  classification: 'capacity_exhausted',
  evidence_digest: EVIDENCE_DIGEST,
  consent_outcome: 'recorded',
});

const tracking = (count: number): Allocation => ({
  apiVersion: API_VERSION,
  logical_allocation_ref: 'deda3ee2a4b34bd1093db31e7f0bf99e4b36fdd79609e28ef178cbbb60b7ae41',
  request_digest: REQUEST_DIGEST,
  selected_pool: 'on-demand',
  qualifying_attempts: count,
  status: 'tracking',
  consent: 'not-requested',
  provenance: Array.from({ length: count }, (_, index) => counted(index + 1)),
});

const declined: Allocation = {
  ...tracking(3),
  logical_allocation_ref: 'ef0cfb8071fee65202d05999d2d7be31c8fa019e457dca6a06f7633c044f1d78',
  status: 'declined',
  consent: 'declined',
  provenance: [
    ...tracking(3).provenance,
    { ...counted(3), classification: 'consent', consent_outcome: 'declined' },
  ],
};

const common = { ok: true, grounded: true, usage: { total_tokens: 0 } } as const;
const classification = { category: 'capacity_exhausted', qualifying: true } as const;

/** The first failure of the worked example: counted, not asked. */
export const BELOW_THRESHOLD: AttemptAnswer = {
  ...common,
  decision: {
    prompt: false,
    reason: 'threshold_not_met',
    classification,
    explanation: [...explanations(['rule:not-enough-resources', 'below_threshold:1/3'])],
  },
  attempt_event_id: 'rel5axbgyzqgwdjmsutowxqpvk',
  allocation: tracking(1),
};

/** The third: a person is asked. */
export const ASKED: AttemptAnswer = {
  ...common,
  decision: {
    prompt: true,
    reason: 'failed_attempt_threshold',
    classification,
    explanation: [...explanations(['rule:not-enough-resources'])],
    message:
      'On-demand GPU capacity could not be had for this allocation. May the identical allocation use preemptible ' +
      'capacity instead? Preemptible machines can be taken away while they run.',
    proposed_action: {
      action: 'switch_gpu_capacity_pool',
      logical_allocation_ref: tracking(3).logical_allocation_ref,
      from: 'on-demand',
      to: 'preemptible',
      invariants: INVARIANTS,
      evidence_digest: EVIDENCE_DIGEST,
      digest: '2e2f6acdd2000b0225a8af02e7ebd5483a8c8384c348fe2c9a8f2e80f475fa99',
    },
  },
  needs_confirmation: true,
  confirm_token: 'd89eGOMLK4RPoS-kJnRC4ybKsxlT6nKUMm5Bar9vATE',
  attempt_event_id: 'gb2re5xvzpajyu4bovdvjwh6ym',
  allocation: { ...tracking(3), status: 'awaiting-consent', consent: 'pending' },
};

/** The same evidence again after a decline. */
export const SUPPRESSED: AttemptAnswer = {
  ...common,
  decision: {
    prompt: false,
    reason: 'suppressed',
    classification,
    explanation: [...explanations(['rule:not-enough-resources', 'evidence_declined'])],
  },
  attempt_event_id: '6vasuerpnpga5wnmdkxebe3u4k',
  allocation: {
    ...declined,
    qualifying_attempts: 4,
    provenance: [...declined.provenance, counted(4)],
  },
};

export const UNDECIDED: z.output<typeof UndecidedAnswerBody> = {
  ok: true,
  attempt_event_id: BELOW_THRESHOLD.attempt_event_id,
  location: `/api/agent/gpu-allocation/results/${BELOW_THRESHOLD.attempt_event_id}0123456789abcdef0123456789abcdef`,
};

export const ACCEPT: z.input<typeof ConsentBody> = {
  logical_allocation: ACCEPTED_NAME,
  accept: true,
  confirm_token: ASKED.confirm_token,
};
export const DECLINE: z.input<typeof ConsentBody> = { logical_allocation: DECLINED_NAME, accept: false };

/** The identical allocation may use preemptible capacity from now on. */
export const ACCEPTED: ConsentAnswer = {
  ...common,
  allocation: {
    ...tracking(3),
    selected_pool: 'preemptible',
    status: 'consented',
    consent: 'accepted',
    provenance: [
      ...tracking(3).provenance,
      {
        ...counted(3),
        selected_pool: 'preemptible',
        classification: 'consent',
        consent_outcome: 'accepted',
      },
    ],
  },
};

export const DECLINED: ConsentAnswer = { ...common, allocation: declined };
