import type { InstanceFacts, Observation } from '#events/watch.events';
import type { Fact } from '../fact.ts';
import { alertOnce } from '../intent/blocked.ts';
import type { PlacedInstance, Placement } from '../placement.ts';
import { secondsBetween } from './instance-facts.ts';

/** How long a guest may say `failed` on a machine that is up before somebody is told (failover 4.2). */
const FAILED_UP_ALERT_S = 900;

/** What a person should look at although nothing is decided (failover 4.2, 12.5, 13). Once per instance. */
export function watchAlerts(
  state: Placement,
  instance: PlacedInstance,
  facts: InstanceFacts,
  observation: Observation,
): readonly Fact[] {
  const { observedAt } = observation;
  const noPortS = state.launch?.plan.limits.noPortS ?? null;
  const failedForS = facts.failedUpSince === null ? 0 : secondsBetween(facts.failedUpSince, observedAt);
  const withoutPortS = facts.noPortSince === null ? 0 : secondsBetween(facts.noPortSince, observedAt);
  const failedUp =
    instance.kind !== 'terminal' && failedForS >= FAILED_UP_ALERT_S
      ? alertOnce(state, 'failed_machine_up', instance.id, { instance: instance.id, failedForS, observedAt })
      : [];
  const unreachable =
    instance.kind === 'terminal' && noPortS !== null && withoutPortS > noPortS
      ? alertOnce(state, 'terminal_pod_unreachable', instance.id, {
          instance: instance.id,
          withoutPortS,
          noPortS,
          observedAt,
        })
      : [];
  return [...failedUp, ...unreachable];
}
