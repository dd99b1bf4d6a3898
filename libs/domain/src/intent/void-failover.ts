import type { DataOfType } from '#events/catalogue';
import type { Evidence } from '#events/watch.events';
import { type Allocation, evolve } from '../allocation.ts';
import type { Fact } from '../fact.ts';
import type { Move } from '../placement.ts';
import { verdict } from './blocked.ts';

/**
 * The move is off and its instance stays (failover 4.4, 4.8, 14); an open question about it is gone too. An
 * instance that runs was not lost in its queue, so an accepted move that is voided drops the rung's loss.
 */
export function voidedMove(
  { escalation }: Move,
  record: Allocation,
  change: {
    readonly why: DataOfType<'FailoverVoided'>['why'];
    readonly rule: string;
    readonly dropsRungLoss: boolean;
    readonly evidence?: Evidence;
  },
): Fact {
  const { why, rule, dropsRungLoss } = change;
  const evidence = { instance: escalation.failedInstance, key: escalation.key, why, ...change.evidence };
  const data = {
    key: escalation.key,
    instance: escalation.failedInstance,
    why,
    dropsRungLoss,
    verdict: verdict('placed_primary', null, rule, evidence),
  };
  const after = evolve(record, { type: 'FailoverVoided', eventId: '', data });
  return { type: 'FailoverVoided', data: { ...data, after: after.scalars } };
}
