import { evolve } from '../allocation.ts';
import type { Fact, Standing } from '../fact.ts';
import { blocked } from '../intent/blocked.ts';

/**
 * What is recorded once the name and the texts are destroyed (fallback 7): an open question of either kind is
 * withdrawn and its token dead. A move that waited for the answer has nothing to run any more (failover 4.8): the
 * allocation is blocked. A move that is under way is left to its worker, which finds the same.
 */
export function decideErasure({ record }: Standing): readonly Fact[] {
  const { openQuestion } = record.scalars;
  const data = { withdrew: openQuestion?.eventId ?? null };
  const { scalars } = evolve(record, { type: 'AllocationErased', eventId: '', data });
  const erased: Fact = { type: 'AllocationErased', data: { ...data, after: scalars } };
  if (openQuestion?.kind !== 'failover') return [erased];
  const evidence = { erased: true, question: openQuestion.eventId };
  return [erased, blocked('relaunch_spec_missing', '4.8 nothing_to_run', evidence)];
}
