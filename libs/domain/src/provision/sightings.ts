import { instantMs } from '#events/instant';
import type { Fact } from '../fact.ts';
import { alertOnce } from '../intent/blocked.ts';
import type { IntentState } from '../intent/intent-state.ts';
import type { Placement } from '../placement.ts';
import type { LaneInstance } from './lane.ts';
import { shortRefOf } from './marker.ts';
import { type Owner, ownershipOf } from './residue.ts';
import type { Listing, View } from './step.ts';

/** An own machine in a listing, with the intent that it carries. */
export interface OwnMachine {
  readonly machine: LaneInstance;
  readonly intent: IntentState;
}

export interface Sightings {
  /** Of the current launch, the current instance left out; oldest first. */
  readonly own: readonly OwnMachine[];
  /** What the log has to know first: a rewound log, then foreign machines and conflicts. */
  readonly facts: readonly Fact[];
}

/** What telling whose a machine is takes of the view. */
type LookedAtBy = Pick<View, 'stream' | 'name' | 'rules'>;

/** Who this allocation is on the markers of its machines. */
export function ownerOf({ intents }: Placement, { stream, rules }: Pick<View, 'stream' | 'rules'>): Owner {
  return { deployment: rules.deployment, allocation: shortRefOf(stream), intents };
}

/** Whose machines a listing shows, as far as it is this allocation's business (failover 10, 14). */
export function sightingsIn(state: Placement, lane: string, listing: Listing, view: LookedAtBy): Sightings {
  const owner = ownerOf(state, view);
  const own: OwnMachine[] = [];
  const facts: Fact[] = [];
  const rewound: Fact[] = [];
  for (const machine of listing.instances) {
    const ownership = ownershipOf(machine, owner);
    switch (ownership.whose) {
      case 'ours':
        if (concerns(state, machine, ownership.intent)) own.push({ machine, intent: ownership.intent });
        break;
      case 'foreign':
        facts.push(...foreignOnce(state, lane, machine, view.name));
        break;
      case 'conflict':
        facts.push(
          ...alertOnce(state, 'foreign_marker_conflict', machine.id, { lane, instance: machine.id }),
        );
        break;
      case 'rewound':
        rewound.push(...rewoundOnce(state, lane, machine.id, ownership.intent));
        break;
      case 'other_deployment':
      case 'other_allocation':
        break;
    }
  }
  return { own: own.sort((a, b) => createdMs(a) - createdMs(b)), facts: [...rewound, ...facts] };
}

/** A short name may stand in the names of thousands of machines: one append has room for 64 events. */
const SIGHTINGS_AT_ONCE = 32;

/**
 * What the listings at hand show that the log does not tell yet. It comes before any other step: a machine of an
 * intent that the stream does not know proves a restored backup, and nothing may be bought then (failover 10.3).
 */
export function unrecordedSightings(state: Placement, view: View): readonly Fact[] {
  for (const [lane, listing] of Object.entries(view.work.listings)) {
    if (listing === 'failed') continue;
    const { facts } = sightingsIn(state, lane, listing, view);
    if (facts.length > 0) return facts.slice(0, SIGHTINGS_AT_ONCE);
  }
  return [];
}

function concerns(state: Placement, machine: LaneInstance, intent: IntentState): boolean {
  if (intent.launchVersion !== state.launch?.version || machine.id === state.current) return false;
  // Seen gone already: a listing that still shows it is behind.
  return !state.intents.some((one) => one.reaped.includes(machine.id));
}

function foreignOnce(
  state: Placement,
  lane: string,
  machine: LaneInstance,
  name: string | null,
): readonly Fact[] {
  if (name === null || !machine.name.includes(name)) return [];
  if (state.foreignSeen.includes(machine.id)) return [];
  return [{ type: 'ForeignInstanceSeen', data: { instance: machine.id, lane } }];
}

function rewoundOnce(state: Placement, lane: string, instance: string, intent: string): readonly Fact[] {
  if (state.rewound !== null || state.released.includes(instance)) return [];
  return [
    { type: 'LogRewound', data: { instance, lane, intent } },
    ...alertOnce(state, 'log_rewound', instance, { lane, instance }),
  ];
}

/** A machine without a readable time counts as the newest. */
function createdMs({ machine }: OwnMachine): number {
  return machine.createdAt === null ? Number.POSITIVE_INFINITY : instantMs(machine.createdAt);
}
