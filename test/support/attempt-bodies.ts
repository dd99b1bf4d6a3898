/** The ordinary allocation: all 13 invariants, in range. */
export const ALLOCATION = {
  gpu_family: 'hopper',
  gpu_product: 'h200-sxm-141',
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

export const CANDIDATE = { ...ALLOCATION, pool: 'preemptible' } as const;

/** A body as JSON gives it, before it is parsed: a capacity failure with a compatible candidate. */
export const ATTEMPT_BODY = {
  logical_allocation: 'team-a/finetune-7',
  request: { ...ALLOCATION, pool: 'on-demand' },
  failure: { code: 'NotEnoughResources', message: 'VM schedule timeout' },
  evidence: {
    source: 'scheduler',
    on_demand_impossible: false,
    preemptible_available: true,
    fingerprint: 'f1',
  },
  preemptible_candidate: CANDIDATE,
} as const;
