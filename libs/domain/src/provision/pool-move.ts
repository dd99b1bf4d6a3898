import type { DataOfType } from '#events/catalogue';
import type { Rung } from '#events/plan';
import { currentInstance, type Placement } from '../placement.ts';
import { CONSENTED_POOL } from './completion.ts';
import type { Step, View } from './step.ts';

type WhyNot = DataOfType<'PoolMoveNotProvisioned'>['why'];

/**
 * The one try at the move that an accepted pool question allows (failover 5.8): the lane, machine and GPU of an
 * on-demand rung in pool `preemptible`. No intent is open, no ladder is walked and no move is decided.
 */
export function movePool(
  state: Placement,
  accepted: { readonly prompt: string; readonly requestDigest: string },
  view: View,
): Step {
  const { prompt } = accepted;
  const launch = state.launch;
  if (launch === null) return notProvisioned(prompt, 'no_launch');
  const changed = state.request !== null && state.request !== accepted.requestDigest;
  if (changed || launch.requestDigest !== accepted.requestDigest)
    return notProvisioned(prompt, 'other_request');
  const rung = poolRung(launch.plan.rungs, view);
  if (rung === null) return notProvisioned(prompt, 'no_rung');
  const current = currentInstance(state);
  const placed = state.outcome === 'placed_primary' || state.outcome === 'running_on_terminal';
  if (placed && current !== null && !state.cancelled.includes(current.id)) {
    const ran = current.kind === 'terminal' || current.facts?.reachedRunning === true || !current.queues;
    if (ran) return notProvisioned(prompt, 'running');
    if (view.rules.observeOnly) return { do: 'wait', why: 'observe_only', until: null };
    if (view.work.cancelTried.includes(current.id)) {
      return { do: 'wait', why: 'cancel_unconfirmed', until: null };
    }
    return {
      do: 'cancel',
      instance: current.id,
      lane: current.lane,
      expects: 'queued',
      superseded: false,
    };
  }
  return { do: 'append', facts: [{ type: 'PoolMoveStarted', data: { prompt, rung } }] };
}

function poolRung(rungs: readonly Rung[], view: View): Rung | null {
  const source = rungs.find(({ pool, kind }) => pool === 'on-demand' && kind === 'primary');
  if (source === undefined) return null;
  const queues = view.laneFacts(source.lane)?.queueingPools.includes(CONSENTED_POOL) ?? false;
  return { ...source, id: `${source.id}:${CONSENTED_POOL}`, pool: CONSENTED_POOL, queues };
}

function notProvisioned(prompt: string, why: WhyNot): Step {
  return { do: 'append', facts: [{ type: 'PoolMoveNotProvisioned', data: { prompt, why } }] };
}
