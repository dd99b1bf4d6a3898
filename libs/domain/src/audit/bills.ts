import { instantMs } from '#events/instant';
import { currentInstance, isGone, laneOfMachine, ownLeftovers } from '../placement.ts';
import type { AuditedState } from './audited-state.ts';
import type { BillView } from './views.ts';

/** Cents and a hundredth of them: what is shown is no invoice. */
const SHOWN_DIGITS = 4;
const HOUR_MS = 3_600_000;

/**
 * Everything of this allocation that bills at `at`: the current instance until it is seen gone, and what was left
 * behind (failover 12.2). Empty exactly when the candidate list's row says that nothing bills.
 */
export function billsOf(state: AuditedState, at: string): readonly BillView[] {
  const { placement } = state;
  const current = currentInstance(placement);
  const ids = [
    ...(current !== null && !isGone(placement, current.id) ? [current.id] : []),
    ...ownLeftovers(placement),
  ];
  return [...new Set(ids)].map((instance) => billOf(state, instance, at));
}

function billOf(state: AuditedState, instance: string, at: string): BillView {
  const { placement } = state;
  const placed = placement.instances[instance];
  const intent = placement.intents.findLast((one) => one.instance === instance);
  const costPerHourUsd = placed?.costPerHourUsd ?? intent?.costPerHourUsd ?? null;
  const sinceAt =
    placed?.createdAt ??
    intent?.instanceCreatedAt ??
    placed?.placedAt ??
    state.firstSeen[instance] ??
    state.at;
  return {
    instance,
    lane: laneOfMachine(placement, instance),
    sinceAt,
    costPerHourUsd,
    costSoFarUsd: costPerHourUsd === null ? null : costBetween(sinceAt, at, costPerHourUsd),
  };
}

/** A provider's clock may run ahead of ours: nothing costs less than nothing. */
function costBetween(sinceAt: string, at: string, costPerHourUsd: number): number {
  const ms = Math.max(0, instantMs(at) - instantMs(sinceAt));
  return Number(((ms / HOUR_MS) * costPerHourUsd).toFixed(SHOWN_DIGITS));
}
