import type { Fact } from '../fact.ts';
import { alertOnce, blocked } from '../intent/blocked.ts';
import type { IntentState } from '../intent/intent-state.ts';
import type { Placement } from '../placement.ts';
import { completion } from '../provision/completion.ts';
import type { LaneFacts } from '../provision/lane.ts';
import { reapOrBlock } from '../provision/reap.ts';
import type { Step, View } from '../provision/step.ts';

/** So many dispatches of a workload that positively does not run are sent to one machine. */
const DISPATCHES_MAX = 3;

/**
 * What to do with a machine of this intent that stands (failover 9.1, steps 8 to 11): prepare it, dispatch,
 * verify, record. `guard` is the intent that the machine itself carries.
 */
export function prepareMachine(
  state: Placement,
  intent: IntentState,
  instance: string,
  lane: LaneFacts,
  view: View,
  guard: string = intent.intent,
): Step {
  const { work } = view;
  if (lane.startsWorkload === 'by_create') {
    return { do: 'append', facts: completion(state, intent, instance, null) };
  }
  if (work.halfBuilt.includes(instance)) return reapOrBlock(state, intent, instance, view);
  const probe = work.probes[instance];
  if (intent.dispatches > 0) {
    if (probe === undefined) return { do: 'probe', lane: intent.lane, instance };
    if (probe === 'failed' || probe.workload === 'unknown') {
      return { do: 'wait', why: 'probe_unknown', until: null };
    }
    if (probe.workload === 'running') {
      return { do: 'append', facts: completion(state, intent, instance, null) };
    }
    if (probe.workload === 'finished') {
      if (probe.result === null) return { do: 'wait', why: 'probe_unknown', until: null };
      return { do: 'append', facts: completion(state, intent, instance, probe) };
    }
  }
  const prepared =
    work.ready.includes(instance) ||
    (probe !== undefined && probe !== 'failed' && probe.bootstrap === 'complete');
  if (!prepared) return { do: 'bootstrap', intent, instance };
  if (intent.dispatches >= DISPATCHES_MAX) {
    return { do: 'append', facts: startFailed(state, intent, instance, 'not_running') };
  }
  return { do: 'dispatch', intent, instance, guard };
}

/** The machine is ready and the workload positively did not start: the machine is kept (failover 6, 12.4). */
export function startFailed(
  state: Placement,
  intent: IntentState,
  instance: string,
  answer: string,
): readonly Fact[] {
  const evidence = { instance, lane: intent.lane, dispatches: intent.dispatches, answer };
  return [
    { type: 'IntentClosed', data: { intent: intent.intent, why: 'blocked' } },
    blocked('terminal_workload_start_failed', '9.1 dispatch_refused', evidence),
    ...alertOnce(state, 'kept_pod_billing', instance, {
      ...evidence,
      costPerHourUsd: intent.costPerHourUsd,
    }),
  ];
}
