import { instantMs } from '#events/instant';
import type { Fact } from '../fact.ts';
import { alertOnce, openAlert } from '../intent/blocked.ts';
import { currentInstance, type Placement } from '../placement.ts';
import { conditionOf, historyOf, needsProbe } from './condition.ts';
import { backAgain, goneMachines } from './gone-machines.ts';
import { mayReap } from './reap.ts';
import { ownershipOf } from './residue.ts';
import { type OwnMachine, ownerOf, sightingsIn } from './sightings.ts';
import type { Listing, Step, View } from './step.ts';

const KEPT_ALERT_EVERY_MS = 6 * 3_600_000;

/**
 * What a pass does beside open intents and moves: cancels that are owed, cancelled instances that are seen
 * alive, and own machines that no handle names (failover 10.5, 10.6, 12). Machines of a blocked allocation are
 * left for a person, save where the block says that nothing of ours bills.
 */
export function sweep(state: Placement, view: View): Step {
  if (view.rules.observeOnly) return { do: 'rest' };
  return (
    owedCancel(state, view) ??
    aliveAgain(state, view) ??
    backAgain(state, view) ??
    goneMachines(state, view) ??
    leftover(state, view) ?? { do: 'rest' }
  );
}

/** A cancel that could not be confirmed is tried once in every pass (failover 12.1). */
export function owedCancel(state: Placement, view: View): Step | null {
  if (!view.work.pass || view.rules.observeOnly) return null;
  for (const [instance, lane] of Object.entries(state.cancelsOwed)) {
    if (view.work.cancelTried.includes(instance) || view.laneFacts(lane) === null) continue;
    const running = state.move?.escalation.cancel === 'running';
    const superseded = state.current !== instance;
    return { do: 'cancel', instance, lane, expects: running ? 'running' : 'queued', superseded };
  }
  return null;
}

/** A cancelled instance that a listing shows alive is cancelled again, from its own record (failover 10.5). */
function aliveAgain(state: Placement, view: View): Step | null {
  for (const [lane, listing] of Object.entries(view.work.listings)) {
    if (listing === 'failed') continue;
    for (const { id, state: is } of listing.instances) {
      if (!state.cancelled.includes(id) || is === 'terminated') continue;
      // The same id on another lane is another machine, and may be anybody's.
      if (state.instances[id]?.lane !== lane) continue;
      if (view.work.cancelTried.includes(id) || id === state.current) continue;
      return { do: 'cancel', instance: id, lane, expects: 'running', superseded: true };
    }
  }
  return null;
}

function leftover(state: Placement, view: View): Step | null {
  for (const [lane, listing] of Object.entries(view.work.listings)) {
    if (listing === 'failed') continue;
    const { own } = sightingsIn(state, lane, listing, view);
    if (view.laneFacts(lane)?.startsWorkload === 'by_create') {
      const alerts = own.flatMap((one) => workingAlert(state, lane, one));
      if (alerts.length > 0) return { do: 'append', facts: alerts };
      continue;
    }
    if (isKeptForPerson(state)) {
      const alerts = keptAlerts(state, lane, listing, view);
      if (alerts.length > 0) return { do: 'append', facts: alerts };
      continue;
    }
    for (const one of own) {
      const step = leftoverStep(state, lane, one, view);
      if (step !== null) return step;
    }
  }
  return null;
}

/**
 * Where the create starts the workload a machine of a closed attempt may do the work, and nothing but its owner can
 * tell: it is only reported (failover 10.6). What has been an instance, or was left to a person, has its own rules.
 */
function workingAlert(state: Placement, lane: string, { machine, intent }: OwnMachine): readonly Fact[] {
  const { id } = machine;
  const isKnown = Object.hasOwn(state.instances, id) || intent.closed === 'blocked';
  if (isKnown || intent.closed === null || machine.state === 'terminated') return [];
  const alert = currentInstance(state) === null ? 'residue_unresolved' : 'two_workloads';
  return alertOnce(state, alert, id, { instance: id, lane });
}

/** Machines of a blocked allocation are a person's, unless the block says that nothing of ours bills. */
function isKeptForPerson({ outcome, verdict }: Placement): boolean {
  return outcome === 'blocked' && verdict?.reason !== 'no_compute_available';
}

/** A kept machine that still bills is told of anew every 6 h (failover 12.4). */
function keptAlerts(state: Placement, lane: string, listing: Listing, view: View): readonly Fact[] {
  if (view.laneFacts(lane)?.kind !== 'terminal') return [];
  const owner = ownerOf(state, view);
  return listing.instances.flatMap((machine) => {
    const ours = ownershipOf(machine, owner).whose === 'ours';
    if (!ours || machine.state === 'terminated') return [];
    const told = openAlert(state, 'kept_pod_billing', machine.id);
    if (told !== null && instantMs(view.now) - instantMs(told.at) < KEPT_ALERT_EVERY_MS) return [];
    const evidence = { instance: machine.id, lane, costPerHourUsd: machine.costPerHourUsd };
    return [{ type: 'AlertRaised', data: { alert: 'kept_pod_billing', subject: machine.id, evidence } }];
  });
}

/** An own machine of a closed chain: ended when positively idle, only reported when it works (failover 10.6). */
function leftoverStep(state: Placement, lane: string, one: OwnMachine, view: View): Step | null {
  const { machine, intent } = one;
  if (view.laneFacts(lane) === null || intent.closed === null) return null;
  const history = historyOf(one, state.intents);
  const probe = view.work.probes[machine.id] ?? null;
  if (probe === null && needsProbe(machine, history)) return { do: 'probe', lane, instance: machine.id };
  switch (conditionOf(machine, history, probe)) {
    case 'running':
      return reported(state, 'two_workloads', machine.id, lane);
    case 'unknown':
    case 'finished':
    case 'unreadable':
      return null;
    case 'healthy':
    case 'residue':
      break;
  }
  if (machine.keep) return reported(state, 'keep_mark_blocks', machine.id, lane);
  if (view.work.reapFailed.includes(machine.id)) return null;
  if (!mayReap(state, intent.chain)) return reported(state, 'residue_unresolved', machine.id, lane);
  return { do: 'reap', intent, instance: machine.id };
}

function reported(
  state: Placement,
  alert: 'two_workloads' | 'keep_mark_blocks' | 'residue_unresolved',
  instance: string,
  lane: string,
): Step | null {
  const facts = alertOnce(state, alert, instance, { instance, lane });
  return facts.length > 0 ? { do: 'append', facts } : null;
}
