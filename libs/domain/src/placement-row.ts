import { plusSeconds } from '#events/instant';
import type { PlacementRow } from './log.ts';
import { currentInstance, isGone, openIntentOf, ownLeftovers, type Placement } from './placement.ts';

/** The candidate list's row: derived, never read back by a rule. */
export function placementRowOf(state: Placement): PlacementRow {
  const instance = currentInstance(state);
  const open = openIntentOf(state);
  const blockedFor = state.verdict?.reason ?? null;
  const busy =
    open !== null ||
    state.walk !== null ||
    (state.move !== null && state.move.state !== 'asked') ||
    state.poolAccepted !== null ||
    Object.keys(state.cancelsOwed).length > 0;
  return {
    outcome: state.outcome ?? 'unchanged',
    reason: blockedFor,
    lane: instance?.lane ?? null,
    instance: instance?.id ?? null,
    openIntent: open?.intent ?? null,
    needsWorker: busy && state.launch !== null,
    // A cancel that is owed is tried by every pass, whatever a create waits for (failover 12.1).
    wakeAt: Object.keys(state.cancelsOwed).length > 0 ? null : (open?.ended?.notBefore ?? null),
    retryAt: retryDueAt(state),
    // Until it is seen gone it counts as billing, whatever was decided about it (failover 12.2).
    bills: (instance !== null && !isGone(state, instance.id)) || ownLeftovers(state).length > 0,
    alerts: state.alerts.length,
  };
}

/** When the capacity-retry pass may pick it up (failover 7); null = never. Not the daily cap: that is the pass's. */
export function retryDueAt(state: Placement): string | null {
  if (state.outcome !== 'blocked' || state.verdict?.reason !== 'no_compute_available') return null;
  if (state.blockedAt === null || state.launch === null) return null;
  const backoffS = state.launch.plan.limits.capacityRetryBackoffS;
  const newer =
    state.lastRetryAt !== null && state.lastRetryAt > state.blockedAt ? state.lastRetryAt : state.blockedAt;
  return plusSeconds(newer, backoffS);
}
