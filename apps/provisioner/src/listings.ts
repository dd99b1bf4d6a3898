import type { Log } from '#domain/log-tables';
import type { Lane } from '#domain/provision/lane';
import type { Listing } from '#domain/provision/step';
import type { ProvisionerReport } from './parts.ts';

/**
 * Lists a lane, complete or not at all. The start is read from the store's clock before the request goes out: a
 * listing proves absence only of what was due before it began (failover 9.3).
 */
export async function listLane(
  log: Log,
  lane: Lane,
  report: (event: ProvisionerReport) => void,
): Promise<Listing | 'failed'> {
  const startedAt = await log.leases.clock();
  const read = await lane.list();
  if (read.kind === 'ok') return { startedAt, instances: read.value };
  report({ kind: 'listing_failed', lane: lane.facts.lane, failure: read.failure });
  return 'failed';
}
