import { instantMs } from '#events/instant';
import type { AlertKind } from '#events/watch.events';
import { currentInstance, isGone, type OpenAlert, ownLeftovers, type Placement } from '../placement.ts';
import { ownershipOf } from './residue.ts';
import { graceEnd } from './resolve.ts';
import { ownerOf } from './sightings.ts';
import type { Step, View } from './step.ts';

/** A machine that may bill and that no poll is about. */
interface Unwatched {
  readonly instance: string;
  readonly lane: string;
  /** Nothing before this moment proves that it is gone: it was known to stand then. */
  readonly knownAt: string;
}

/**
 * Machines that were left to a person and that the listings at hand show no more: they bill nothing, and what was
 * said about them is over (failover 12.2, 13). Absence is proven as for an open intent: by a complete listing that
 * began after the grace (failover 9.3). Null = there is none.
 */
export function goneMachines(state: Placement, view: View): Step | null {
  for (const { instance, lane, knownAt } of unwatched(state)) {
    const listing = view.work.listings[lane];
    const facts = view.laneFacts(lane);
    if (listing === undefined || listing === 'failed' || facts === null) continue;
    if (listing.instances.some(({ id }) => id === instance)) continue;
    const startedMs = instantMs(listing.startedAt);
    if (startedMs <= instantMs(knownAt) + facts.listingGraceMs) continue;
    const made = state.intents.filter((one) => one.instance === instance || one.reaping === instance);
    if (made.some((intent) => startedMs <= instantMs(graceEnd(intent, facts)))) continue;
    return {
      do: 'append',
      facts: [{ type: 'InstanceGone', data: { instance, lane, listedAt: listing.startedAt } }],
    };
  }
  return null;
}

/**
 * A machine that was called gone and that a listing shows again: it bills after all, and a person is told. Providers
 * leave machines out of a listing now and then.
 */
export function backAgain(state: Placement, view: View): Step | null {
  if (state.gone.length === 0) return null;
  const owner = ownerOf(state, view);
  for (const [lane, listing] of Object.entries(view.work.listings)) {
    if (listing === 'failed') continue;
    for (const machine of listing.instances) {
      if (!state.gone.includes(machine.id) || machine.state === 'terminated') continue;
      if (ownershipOf(machine, owner).whose !== 'ours') continue;
      const evidence = { instance: machine.id, lane, costPerHourUsd: machine.costPerHourUsd };
      return {
        do: 'append',
        facts: [{ type: 'AlertRaised', data: { alert: 'kept_pod_billing', subject: machine.id, evidence } }],
      };
    }
  }
  return null;
}

function unwatched(state: Placement): readonly Unwatched[] {
  const told = state.alerts.flatMap((alert) => subjectOf(state, alert));
  const machines = [...told, ...left(state)].filter(
    ({ instance }) =>
      !state.gone.includes(instance) &&
      !Object.hasOwn(state.cancelsOwed, instance) &&
      (instance !== state.current || isOver(state)),
  );
  return machines.filter((one) =>
    machines.every((other) => !isSame(one, other) || !isKnownLonger(one, other)),
  );
}

const isSame = (one: Unwatched, other: Unwatched) =>
  one.instance === other.instance && one.lane === other.lane;

/** Of what is known of a machine twice, the later moment counts: it still stood then. */
const isKnownLonger = (one: Unwatched, other: Unwatched) => instantMs(one.knownAt) < instantMs(other.knownAt);

/** What an alert is about, where that is a machine of which the lane is known. */
function subjectOf(state: Placement, { alert, subject, lane, at }: OpenAlert): readonly Unwatched[] {
  if (!OF_A_MACHINE.includes(alert)) return [];
  const where = lane ?? state.instances[subject]?.lane ?? null;
  return where === null ? [] : [{ instance: subject, lane: where, knownAt: at }];
}

const OF_A_MACHINE: readonly AlertKind[] = [
  'residue_unresolved',
  'kept_pod_billing',
  'keep_mark_blocks',
  'two_workloads',
  'foreign_marker_conflict',
  'failed_machine_up',
  'terminal_pod_unreachable',
  'wedge_without_consent',
  'delivered_pool_differs',
];

/** Then nobody polls the instance any more. */
function isOver({ outcome }: Placement): boolean {
  return outcome === 'blocked' || outcome === 'done';
}

/** What stands beside the instance, and the instance too once the allocation is over. */
function left(state: Placement): readonly Unwatched[] {
  const current = currentInstance(state);
  const machines: Unwatched[] = [];
  if (isOver(state) && current !== null && !isGone(state, current.id)) {
    const { id: instance, lane, placedAt: knownAt } = current;
    machines.push({ instance, lane, knownAt });
  }
  const leftovers = ownLeftovers(state);
  for (const { instance, reaping, lane, sendNotAfter } of state.intents) {
    if (sendNotAfter === null) continue;
    // Of an end that was announced and whose worker died nothing else tells how it went.
    if (reaping !== null) machines.push({ instance: reaping, lane, knownAt: sendNotAfter });
    if (instance === null || !leftovers.includes(instance)) continue;
    machines.push({ instance, lane, knownAt: sendNotAfter });
  }
  return machines;
}
