import type { z } from 'zod';
import type { ConsentAnswerBody } from '#domain/attempt/answer-schema';
import type {
  LaunchResultBody,
  LaunchTakenBody,
  LaunchUndecidedBody,
  ObservationAnswerBody,
  ObservationUndecidedBody,
} from '#domain/watch/answer-schema';
import { failoverQuestion } from '#domain/watch/verdict-answer';

/** The name of the run that the examples of this file tell of. */
const RUN_NAME = 'team-a/train-7';
const LOCATION =
  '/api/agent/gpu-allocation/results/rel5axbgyzqgwdjmsutowxqpvk3c0b7f2a9d14e6580c3b7f2a9d14e658';

/** A queueing rung first, then on-demand, then the paid lane after a person was asked. */
export const EXAMPLE_LAUNCH = {
  message_id: 'train-7#1',
  logical_allocation: RUN_NAME,
  plan: {
    rungs: [
      { id: 'flex_a', lane: 'gcp', pool: 'flex-start', gpu: { product: 'H200-SXM-141', count: 4 } },
      { id: 'od_a', lane: 'gcp', pool: 'on-demand', zones: ['zone-b', 'zone-a'] },
    ],
    budget_s: 86_400,
    terminal: { lane: 'runpod', gpu: { product: 'H200-SXM-141', count: 4 } },
  },
  workload: { command: 'python train.py', image: 'registry.test/a/worker:7', env: { STAGE: '2' } },
  limits: { queue_wait_s: 1_200 },
  failover: 'ask',
} as const;

export const LAUNCH_TAKEN: z.output<typeof LaunchTakenBody> = {
  logical_allocation: RUN_NAME,
  message_id: EXAMPLE_LAUNCH.message_id,
  position: 4_711,
  location: LOCATION,
};

export const LAUNCH_UNDECIDED: z.output<typeof LaunchUndecidedBody> = { position: 4_711, location: LOCATION };

/** The same while the lane takes no more requests for a time. */
export const LAUNCH_WAITS: z.output<typeof LaunchUndecidedBody> = {
  ...LAUNCH_UNDECIDED,
  waits: { reason: 'pause', until: '2026-11-29T10:04:30.000Z' },
};

/** A poll of the instance while it waits in the queue of its pool. */
export const EXAMPLE_OBSERVATION = {
  logical_allocation: RUN_NAME,
  instance: '4242424242424242',
  lane: 'gcp',
  observed_at: '2026-11-29T10:25:00Z',
  provider: 'queued',
  create_operation: 'done',
  delete_operation: 'none',
} as const;

const decided = {
  outcome: 'awaiting_consent',
  reason: 'gcp_queue_timeout_failover_runpod',
  failure_class: null,
  redrivable: false,
  rule: '4.4 queue_timeout',
  evidence: {
    instance: EXAMPLE_OBSERVATION.instance,
    lane: 'gcp',
    rung: 'flex_a',
    observedAt: '2026-11-29T10:25:00.000Z',
    provider: 'queued',
    queuedSince: '2026-11-29T10:04:30.000Z',
    queuedS: 1_230,
    queueWaitS: 1_200,
  },
  not_fired: ['done:not_done', 'failed_create:create_not_failed', 'infra_wedge:not_running'],
} as const;

const question = failoverQuestion('d89eGOMLK4RPoS-kJnRC4ybKsxlT6nKUMm5Bar9vATE', {
  action: 'failover_to_terminal',
  logical_allocation_ref: 'deda3ee2a4b34bd1093db31e7f0bf99e4b36fdd79609e28ef178cbbb60b7ae41',
  failed_instance_digest: '3ffccca318b528ad5fbf276a3cec2367d34321989dbb51c2de0fca09f297c5ff',
  lane: 'runpod',
  machine: null,
  gpu: { family: null, product: 'H200-SXM-141', count: 4 },
  plan_digest: '902a337febcbf0e5a69d1f0be753c4ea5231d2d688fa4deb666fab5e51b6e6e6',
  digest: '2e2f6acdd2000b0225a8af02e7ebd5483a8c8384c348fe2c9a8f2e80f475fa99',
});

/** The observation that shows that the instance waited for too long: a person is asked. */
export const OBSERVATION_ASKED: z.output<typeof ObservationAnswerBody> = {
  ...decided,
  evidence: { ...decided.evidence },
  not_fired: [...decided.not_fired],
  position: 4_730,
  ...question,
};

/** The same with standing consent: the move is decided at once. */
export const OBSERVATION_MOVED: z.output<typeof ObservationAnswerBody> = {
  ...decided,
  outcome: 'waiting',
  evidence: { ...decided.evidence, consent: 'standing' },
  not_fired: [...decided.not_fired],
  position: 4_730,
};

/** An ordinary poll: nothing has changed. */
export const OBSERVATION_UNCHANGED: z.output<typeof ObservationAnswerBody> = {
  outcome: 'unchanged',
  reason: null,
  failure_class: null,
  redrivable: false,
  rule: '4.1 no_rule',
  evidence: {},
  not_fired: [...decided.not_fired, 'queue_timeout:not_queued', 'plain_loss:still_there'],
  position: 4_728,
};

export const OBSERVATION_UNDECIDED: z.output<typeof ObservationUndecidedBody> = { location: LOCATION };

/** The launch while its question is open. */
export const LAUNCH_ASKED: z.output<typeof LaunchResultBody> = {
  ...OBSERVATION_ASKED,
  instance: {
    lane: 'gcp',
    id: EXAMPLE_OBSERVATION.instance,
    pool: 'flex-start',
    started_at: '2026-11-29T10:04:00.000Z',
  },
};

/** What a person's acceptance is answered with where no attempt was ever reported. */
export const FAILOVER_ACCEPTED: z.output<typeof ConsentAnswerBody> = {
  ok: true,
  grounded: true,
  usage: { total_tokens: 0 },
  outcome: 'waiting',
  reason: 'gcp_queue_timeout_failover_runpod',
  location: LOCATION,
};
