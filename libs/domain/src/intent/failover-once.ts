import type { Placement } from '../placement.ts';

/**
 * Whether a move under this key may still be decided or asked for: its one terminal workload start has not
 * happened, and no move is under way (failover 8.1). Otherwise the reason.
 */
export function failoverSpent(state: Placement, key: string): 'stamped' | 'move_under_way' | null {
  if (state.stamps.includes(key)) return 'stamped';
  return state.move === null ? null : 'move_under_way';
}

/**
 * Why no rule of failover looks at this instance, or null when they do (failover 4.1): it must be the current
 * one, stand as it was placed, and neither be on its way out by our own hand nor have had its failover.
 */
export function notWatched(state: Placement, instance: string): string | null {
  if (state.current !== instance) return 'not_current';
  if (state.move !== null) return state.move.state === 'asked' ? 'move_asked' : 'move_decided';
  if (state.walk !== null) return 'ladder_walked';
  if (state.cancelled.includes(instance) || Object.hasOwn(state.cancelsOwed, instance))
    return 'cancelled_by_us';
  if (state.stamps.includes(instance)) return 'stamped';
  switch (state.outcome) {
    case 'placed_primary':
    case 'running_on_terminal':
      return null;
    case 'blocked':
    case 'done':
      return `allocation_${state.outcome}`;
    case 'awaiting_consent':
    case 'waiting':
    case 'unchanged':
    case null:
      return 'not_placed';
  }
}
