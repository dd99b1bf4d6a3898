import type { IntentState } from '../intent/intent-state.ts';
import type { LaneInstance } from './lane.ts';
import { readName } from './marker.ts';

/** Whose a machine is (failover 10). Only `ours` is ever adopted, dispatched to or ended. */
export type Ownership =
  | { readonly whose: 'ours'; readonly intent: IntentState }
  /** No marker: a person's, or another tool's. */
  | { readonly whose: 'foreign' }
  | { readonly whose: 'other_deployment' }
  /** Of this deployment, and another allocation's business. */
  | { readonly whose: 'other_allocation' }
  /** Name and marker disagree, or a part of the marker is missing: untouched, alert. */
  | { readonly whose: 'conflict' }
  /** Name and marker agree on an intent that this stream does not know: a restored backup. */
  | { readonly whose: 'rewound'; readonly intent: string };

export interface Owner {
  readonly deployment: string;
  /** First 16 hex digits of the allocation's ref. */
  readonly allocation: string;
  readonly intents: readonly IntentState[];
}

/**
 * Whose a listed machine is. Name alone, prefix, age, owner account or an idle GPU prove nothing: the name must
 * be an intent's unique name and the marker must say the same (failover 10.1).
 */
export function ownershipOf(machine: LaneInstance, owner: Owner): Ownership {
  const { marker } = machine;
  const name = readName(machine.name);
  const unmarked = marker.deployment === null && marker.allocation === null && marker.intent === null;
  if (unmarked) {
    const bearsOurName = name?.deployment === owner.deployment && name.allocation === owner.allocation;
    return { whose: bearsOurName ? 'conflict' : 'foreign' };
  }
  if (marker.deployment !== null && marker.deployment !== owner.deployment) {
    return { whose: 'other_deployment' };
  }
  if (marker.allocation !== null && marker.allocation !== owner.allocation) {
    return { whose: 'other_allocation' };
  }
  const agrees =
    name !== null &&
    name.deployment === marker.deployment &&
    name.allocation === marker.allocation &&
    name.intent === marker.intent;
  if (!agrees) return { whose: 'conflict' };
  const intent = owner.intents.find((one) => one.intent === name.intent && one.name === machine.name);
  return intent === undefined ? { whose: 'rewound', intent: name.intent } : { whose: 'ours', intent };
}
