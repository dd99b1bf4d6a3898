import type { z } from 'zod';
import type { ForeignOrder } from './admin-api.ts';
import type { Cloud } from './cloud.ts';
import type { CloudInstance } from './instance.ts';
import { labelMarkOf, markOf, numericId } from './marks.ts';

const DEFAULT_ZONES = { runpod: 'US-KS-2', gcp: 'us-central1-a', kubernetes: 'default' } as const;

/** Puts an instance into the world that no call of ours made. It is there and listed at once. */
export function addForeign(cloud: Cloud, order: z.infer<typeof ForeignOrder>): CloudInstance {
  const { lane, name, labels, state, locked, zone, pool, bootstrap, workload, result } = order;
  const instance = cloud.create({
    lane,
    ...(lane === 'gcp' ? { id: numericId() } : {}),
    name,
    labels,
    mark: lane === 'runpod' ? markOf(labels) : labelMarkOf(labels),
    request: {},
    zone: zone ?? DEFAULT_ZONES[lane],
    pool,
    queues: state === 'queued',
    startsWorkload: false,
  });
  if (state !== 'queued') cloud.setState(instance, state);
  instance.locked = locked;
  Object.assign(instance.agent, { bootstrap, workload, result });
  return instance;
}
