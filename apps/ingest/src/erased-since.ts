import type { LogReader } from '#domain/log';
import type { RecordedEvent } from '#events/envelope';

/**
 * Whether the allocation was erased after this decision. Its texts may be there again, when the same was reported
 * anew: what was asked before is not shown again all the same (fallback 7).
 */
export async function isErasedSince(
  log: Pick<LogReader, 'newestDecisions'>,
  { stream, pos }: RecordedEvent,
): Promise<boolean> {
  const [erased] = await log.newestDecisions(stream, ['AllocationErased'], 1);
  return erased !== undefined && erased.pos > pos;
}
