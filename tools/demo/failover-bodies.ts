import type { z } from 'zod';
import type { launchBody } from '#domain/provision/launch-body';
import type { observationBody } from '#domain/watch/observation-body';

/** What the failover story sends: a launch as its owner writes it, a poll as a poller does. */
export type SentLaunch = z.input<ReturnType<typeof launchBody>>;
export type SentObservation = z.input<ReturnType<typeof observationBody>>;

/** Queued first, on demand second, the paid lane last, and the owner's consent to it beforehand. */
export function launchOf(name: string): SentLaunch {
  return {
    logical_allocation: name,
    plan: {
      rungs: [
        { id: 'flex_a', lane: 'gcp', pool: 'flex-start', machine: 'a3-highgpu-1g' },
        { id: 'od_a', lane: 'gcp', pool: 'on-demand', machine: 'a3-highgpu-1g' },
      ],
      terminal: { lane: 'runpod', gpu: { product: 'NVIDIA H100 80GB HBM3', count: 1 } },
    },
    workload: { command: 'python train.py' },
    failover: 'standing',
  };
}

/** A poll that finds the instance gone, proven by two reads. */
export function goneNow(name: string, instance: string, now: string): SentObservation {
  return {
    logical_allocation: name,
    instance,
    lane: 'gcp',
    observed_at: now,
    provider: 'not_found',
    create_operation: 'done',
    delete_operation: 'none',
  };
}
