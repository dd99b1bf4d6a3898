import { z } from 'zod';
import type { CreateRequest } from '#domain/provision/lane';

const Region = z.object({
  quotas: z.array(z.object({ metric: z.string(), limit: z.number(), usage: z.number() })),
});

/** Machines that can be taken away, and those that wait, use up a quota of their own. */
const PREEMPTIBLE_POOLS: ReadonlySet<string> = new Set(['preemptible', 'flex-start']);

/** The region of a zone: its name without the last part. */
export function regionOf(zone: string): string {
  return zone.replace(/-[a-z]$/, '');
}

/**
 * The metric that is positively known to leave no room for the request, or null. A region that cannot be read,
 * or has no such metric, is no opinion (failover 5.3).
 */
export function shortMetric(json: unknown, { gpu, pool }: CreateRequest): string | null {
  const quotas = Region.safeParse(json).data?.quotas ?? [];
  if (gpu === null || gpu.family === null) return null;
  const family = gpu.family.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
  const prefix = PREEMPTIBLE_POOLS.has(pool ?? '') ? 'PREEMPTIBLE_' : '';
  const found = quotas.find(({ metric }) => metric === `${prefix}NVIDIA_${family}_GPUS`);
  return found !== undefined && found.limit - found.usage < (gpu.count ?? 1) ? found.metric : null;
}
