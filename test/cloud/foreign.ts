import type { z } from 'zod';
import type { ForeignOrder } from './admin-api.ts';
import type { Cloud } from './cloud.ts';
import type { CloudInstance } from './instance.ts';
import { markOf } from './runpod-api.ts';

/** Puts an instance into the world that no call of ours made. It is there and listed at once. */
export function addForeign(cloud: Cloud, order: z.infer<typeof ForeignOrder>): CloudInstance {
  const { lane, name, labels, state, locked, zone, pool, bootstrap, workload, result } = order;
  const instance = cloud.create({
    lane,
    name,
    labels,
    mark: lane === 'runpod' ? markOf(labels) : labelMarkOf(labels),
    request: {},
    zone,
    pool,
    queues: state === 'queued',
    startsWorkload: false,
  });
  if (state !== 'queued') cloud.setState(instance, state);
  instance.locked = locked;
  Object.assign(instance.agent, { bootstrap, workload, result });
  return instance;
}

/** The mark as labels carry it, in either spelling. */
export function labelMarkOf(labels: Readonly<Record<string, string>>): CloudInstance['mark'] {
  const read = (name: string) => labels[`spillway-${name}`] ?? labels[`spillway/${name}`] ?? null;
  return { deployment: read('deployment'), allocation: read('allocation'), intent: read('intent') };
}
