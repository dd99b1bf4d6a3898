import { alertOnce, blocked } from '../intent/blocked.ts';
import type { IntentState } from '../intent/intent-state.ts';
import type { Placement } from '../placement.ts';
import type { Step, View } from './step.ts';

/**
 * Ends an own machine that is of no use, at most `max_reaps` times per chain, counted when announced and never
 * reset (failover 9.3). When one more would be needed the attempt stops for a person.
 */
export function reapOrBlock(state: Placement, intent: IntentState, instance: string, view: View): Step {
  if (view.work.reapFailed.includes(instance)) return { do: 'wait', why: 'reap_failed', until: null };
  if (mayReap(state, intent.chain)) return { do: 'reap', intent, instance };
  const evidence = { instance, lane: intent.lane, reaps: reapsOf(state, intent.chain) };
  return {
    do: 'append',
    facts: [
      { type: 'IntentClosed', data: { intent: intent.intent, why: 'blocked' } },
      blocked('terminal_residue_unresolved', '9.3 reap_limit', evidence),
      ...alertOnce(state, 'residue_unresolved', instance, evidence),
    ],
  };
}

export function mayReap(state: Placement, chain: string): boolean {
  return reapsOf(state, chain) < (state.launch?.plan.limits.maxReaps ?? 0);
}

export function reapsOf(state: Placement, chain: string): number {
  return state.reaps[chain] ?? 0;
}
