import type { PromptView } from '#domain/audit/views';

/** An open question as somebody sees it who may answer and unseal. */
export const OPEN_PROMPT: PromptView = {
  id: '3vqkz5y7w2mnbd4hcpjx6rtgla',
  originId: '3vqkz5y7w2mnbd4hcpjx6rtgla',
  ref: '63f5b7a0c2d94e1886b0e7f4a9d3c15e63f5b7a0c2d94e1886b0e7f4a9d3c15e',
  name: 'team-a/finetune-7',
  kind: 'pool',
  state: 'open',
  askedAt: '2026-11-29T10:00:00.250Z',
  expiresAt: '2026-11-30T10:00:00.200Z',
  closed: null,
  asks: 'No on-demand GPUs could be had: may this identical allocation run on preemptible ones, which the provider can take back at any time?',
  differs: { what: 'pool', from: 'on-demand', to: 'preemptible' },
  invariants: [
    { member: 'gpu_family', value: 'hopper' },
    { member: 'gpu_product', value: 'H200-SXM-141' },
    { member: 'gpu_count', value: 4 },
    { member: 'image', value: 'registry.test/a/worker:7' },
    { member: 'image_digest', value: 'sha256:5a' },
    { member: 'sm', value: 'sm_90' },
    { member: 'rt_cores_required', value: false },
    { member: 'backend', value: 'slurm' },
    { member: 'model', value: 'm-3b' },
    { member: 'workload_tier', value: 'batch' },
    { member: 'execution_mode', value: 'finetune' },
    { member: 'boot_disk_count', value: 2 },
    { member: 'boot_disk_size_bytes', value: 214_748_364_800 },
  ],
  why: {
    rule: 'failed_attempt_threshold',
    sentence: '3 placement failures count as missing GPU capacity: as many as a question needs, or more.',
    lines: [{ code: 'rule:code:notenoughresources', text: 'The failure was classified by this rule.' }],
  },
  attempts: [
    {
      pos: 40,
      at: '2026-11-29T09:50:00.100Z',
      type: 'AttemptTracked',
      who: 'classifier',
      what: 'counted the failure: capacity_exhausted',
      because: [{ code: 'below_threshold:2/3', text: 'Fewer counting failures than a question needs.' }],
    },
  ],
  onYes: [
    'The allocation may use preemptible capacity: this very one, with all 13 members as they are.',
    'If it was launched for the same request and has no running machine, Spillway now looks for a preemptible one.',
    'A yes cannot be taken back; a changed request ends it.',
  ],
  onNo: [
    'The allocation stays on demand, and nothing is bought.',
    'This same evidence is not asked about again. Failures go on being counted, and new evidence may ask anew.',
  ],
  buys: 'Preemptible capacity for the identical allocation. Preemptible machines can be taken away while they run.',
  costPerHourUsd: null,
};

/** The same after a yes. */
export const ACCEPTED_PROMPT: PromptView = {
  ...OPEN_PROMPT,
  state: 'closed',
  closed: { at: '2026-11-29T10:01:07.800Z', how: 'accepted', by: 'you', why: null },
};
