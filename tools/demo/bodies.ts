import type { z } from 'zod';
import type { AttemptBody } from '#domain/attempt/attempt-body';

/** What the demo sends: an attempt as a poller writes it. */
export type SentAttempt = z.input<typeof AttemptBody>;

/** The machine that every allocation of the story asks for. */
const INVARIANTS = {
  gpu_family: 'hopper',
  gpu_product: 'H200-SXM-141',
  gpu_count: 4,
  image: 'registry.test/team-a/worker:7',
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

/** The failures of the story, as their providers word them. */
export const FAILURES = {
  nebius: {
    code: 'NotEnoughResources',
    message: 'VM schedule timeout, most likely due to insufficient hardware resources',
  },
  kubernetes: {
    code: 'Unschedulable',
    message: '0/12 nodes are available: 4 Insufficient cpu, 12 Insufficient nvidia.com/gpu.',
  },
  quota: { code: 'QuotaFailure', message: 'quota compute.instance.gpu.h200 exceeded: limit 8, used 8' },
  imagePull: {
    code: 'NotEnoughResources',
    message: 'Failed to pull image "registry.test/team-a/worker:7": manifest unknown',
  },
} as const;

/** A failed placement, with the identical allocation on preemptible capacity as the candidate. */
export function failedAttempt(attempt: {
  readonly name: string;
  readonly id: string;
  readonly failure: SentAttempt['failure'];
  /** Version of what the scheduler knows about capacity. */
  readonly evidence: string;
}): SentAttempt {
  return {
    ...ordinary(attempt.name, attempt.id),
    failure: attempt.failure,
    evidence: {
      source: 'scheduler',
      on_demand_impossible: false,
      preemptible_available: true,
      fingerprint: attempt.evidence,
    },
  };
}

/** Nothing has failed yet: the provider's preflight proves that on-demand cannot succeed. */
export function preflightProof(name: string, id: string): SentAttempt {
  return {
    ...ordinary(name, id),
    evidence: {
      source: 'provider-preflight',
      on_demand_impossible: true,
      preemptible_available: true,
      fingerprint: 'advice-1',
    },
  };
}

function ordinary(name: string, id: string): SentAttempt {
  return {
    logical_allocation: name,
    attempt_id: id,
    request: { ...INVARIANTS, pool: 'on-demand' },
    preemptible_candidate: { ...INVARIANTS, pool: 'preemptible' },
  };
}
