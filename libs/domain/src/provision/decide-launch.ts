import type { DataOfType } from '#events/catalogue';
import { openIntentOf, type Placement } from '../placement.ts';

export type LaunchDecision =
  | { readonly kind: 'taken'; readonly accepted: DataOfType<'LaunchAccepted'> }
  /** Nothing changes, and the message's id is not used up (failover 2.1). */
  | { readonly kind: 'refused'; readonly why: 'launch_in_progress' };

/**
 * Whether a launch is taken: of an allocation that was never launched, is blocked or done. Refused while it is
 * placed, running, waiting or awaiting consent, and while an intent is open: a create may be under way
 * (failover 2.1).
 */
export function decideLaunch(state: Placement, launch: DataOfType<'LaunchAccepted'>): LaunchDecision {
  return isFree(state) && openIntentOf(state) === null
    ? { kind: 'taken', accepted: launch }
    : { kind: 'refused', why: 'launch_in_progress' };
}

function isFree({ launch, outcome }: Placement): boolean {
  if (launch === null) return true;
  switch (outcome) {
    case 'blocked':
    case 'done':
      return true;
    case 'placed_primary':
    case 'running_on_terminal':
    case 'awaiting_consent':
    case 'waiting':
    case 'unchanged':
    case null:
      return false;
  }
}
