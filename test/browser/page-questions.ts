import type { CallerView, InvariantView, PromptView } from '#domain/audit/views';

/** Anything of a view that a test says itself. */
type Some<View> = Partial<View>;

const SECOND_MS = 1_000;

/** An instant so many seconds before (negative) or after now. */
export function inS(seconds: number): string {
  return new Date(Date.now() + seconds * SECOND_MS).toISOString();
}

export const LOCAL: CallerView = {
  subject: 'local',
  authenticated: false,
  may: { consent: true, audit: true, unseal: true, operate: true },
};

export const REF = '7c1f0e6b5d9a4438a2c6f1e07b3d95c84416fa07de21b99c53e8a6d00f4b7712';
export const OTHER_REF = '19b7d3f2aa0c4e518d6e7f90c2b4a68133f5d7e9b1c3a5f7092846ad1c3e5f70';

const INVARIANTS: readonly InvariantView[] = [
  { member: 'gpu_family', value: 'hopper' },
  { member: 'gpu_product', value: 'H200-SXM-141' },
  { member: 'gpu_count', value: 4 },
  { member: 'image', value: 'registry.test/team-a/worker:7' },
  {
    member: 'image_digest',
    value: 'sha256:5a8f3c1e9b7d2460aa13c5e7f9b1d3a5c7e9f1b3d5a7c9e1f3b5d7a9c1e3f5b7',
  },
  { member: 'sm', value: 'sm_90' },
  { member: 'rt_cores_required', value: false },
  { member: 'backend', value: 'slurm' },
  { member: 'model', value: 'm-3b' },
  { member: 'workload_tier', value: 'batch' },
  { member: 'execution_mode', value: 'finetune' },
  { member: 'boot_disk_count', value: 2 },
  { member: 'boot_disk_size_bytes', value: 214_748_364_800 },
];

/** A question about the pool, open for a day. */
export function poolQuestion(some: Some<PromptView> = {}): PromptView {
  const id = some.id ?? 'evt-pool-3f9c2a71d8';
  const attempt = (pos: number, at: string, what: string, type = 'AttemptReported', who = 'local') => ({
    pos,
    at,
    type,
    who,
    what,
    because: [],
  });
  return {
    id,
    originId: id,
    ref: REF,
    name: 'team-a/finetune-7',
    kind: 'pool',
    state: 'open',
    askedAt: inS(-134),
    expiresAt: inS(24 * 3_600 - 134),
    closed: null,
    asks: 'No on-demand GPUs could be had: may this identical allocation run on preemptible ones, which the provider can take back at any time?',
    differs: { what: 'pool', from: 'on-demand', to: 'preemptible' },
    invariants: INVARIANTS,
    why: {
      rule: 'failed_attempt_threshold',
      sentence: 'Three placement failures that really mean “no GPU capacity” were counted.',
      lines: [
        { code: 'rule:2.1.4', text: 'The provider says that it has no capacity for this request.' },
        { code: 'preflight_unproven:on_demand_impossible', text: 'No preflight proves it by itself.' },
      ],
    },
    attempts: [
      attempt(101, inS(-1_510), 'reported a failure from the scheduler'),
      attempt(102, inS(-1_509), 'counted the failure: capacity_exhausted', 'AttemptTracked', 'classifier'),
      attempt(118, inS(-840), 'reported a failure from the scheduler'),
      attempt(119, inS(-839), 'counted the failure: capacity_exhausted', 'AttemptTracked', 'classifier'),
      attempt(131, inS(-135), 'reported a failure from the scheduler'),
      attempt(
        132,
        inS(-134),
        'asked whether preemptible capacity may be used: counting failure 3, capacity_exhausted',
        'FallbackPrompted',
        'classifier',
      ),
    ],
    onYes: [
      'The same request is placed on preemptible capacity.',
      'The provider may take the machine back at any time.',
      'The token of this question is spent.',
    ],
    onNo: [
      'It stays on demand and goes on failing or waiting.',
      'This evidence is not asked about again; new evidence is.',
    ],
    buys: '4 × H200-SXM-141 on preemptible capacity, with 2 boot disks of 200 GiB each.',
    costPerHourUsd: 9.96,
    ...some,
  };
}

/** A question about a move to the terminal lane, with little of its life left. */
export function failoverQuestion(some: Some<PromptView> = {}): PromptView {
  const id = some.id ?? 'evt-failover-b81d04c6aa';
  return poolQuestion({
    id,
    ref: OTHER_REF,
    name: 'team-b/pretrain-eu-west-large-context-2',
    kind: 'failover',
    askedAt: inS(-85_900),
    expiresAt: inS(497),
    asks: 'The machine vanished from its queue before it ran: may the run be moved, once, to a paid machine on runpod?',
    differs: { what: 'lane', from: 'gcp (flex-start)', to: 'runpod' },
    why: {
      rule: '4.3 queue_vanish seen',
      sentence: 'The provider no longer knows an instance that was queued and that nobody deleted.',
      lines: [{ code: 'queue_vanish', text: 'Confirmed absent, and it was seen queued before.' }],
    },
    attempts: [
      {
        pos: 88,
        at: inS(-86_800),
        type: 'InstancePlaced',
        who: 'provisioner',
        what: 'placed projects/p/zones/us-central1-a/instances/sw-prod-19b7d3f2 on rung flex_a',
        because: [],
      },
      {
        pos: 93,
        at: inS(-85_901),
        type: 'ObservationReported',
        who: 'local',
        what: 'saw instance sw-prod-19b7d3f2: not_found',
        because: [],
      },
      {
        pos: 94,
        at: inS(-85_900),
        type: 'FailoverPrompted',
        who: 'classifier',
        what: 'asked whether the run may move to lane runpod',
        because: [],
      },
    ],
    onYes: ['One machine is bought on runpod, and the workload starts there.', 'It happens at most once.'],
    onNo: ['Nothing is bought.', 'The allocation is blocked until somebody launches it again.'],
    buys: '1 × NVIDIA H100 80GB HBM3 on runpod, billed until the run ends.',
    costPerHourUsd: 2.49,
    ...some,
  });
}

/** The same question after it ended. */
export function closed(prompt: PromptView, some: Some<NonNullable<PromptView['closed']>> = {}): PromptView {
  return {
    ...prompt,
    state: 'closed',
    closed: { at: inS(0), how: 'accepted', by: 'local', why: null, ...some },
  };
}
