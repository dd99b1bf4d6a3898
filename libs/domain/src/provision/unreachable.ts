import { instantMs } from '#events/instant';
import type { Fact } from '../fact.ts';
import { alertOnce } from '../intent/blocked.ts';
import type { IntentState } from '../intent/intent-state.ts';
import type { Placement } from '../placement.ts';
import type { View } from './step.ts';

/**
 * Told once of a machine that bills and cannot be asked: nothing is done to it while no probe says what it does
 * (failover 9.3), so without a word it would stand there for ever. It has `no_port_s` from the last thing that was
 * sent for it.
 */
export function unreachableAlert(
  state: Placement,
  intent: IntentState,
  instance: string,
  view: View,
): readonly Fact[] {
  const since = intent.bootstrapBegunAt ?? intent.sendNotAfter;
  const noPortS = state.launch?.plan.limits.noPortS ?? null;
  if (since === null || noPortS === null) return [];
  const silentS = (instantMs(view.now) - instantMs(since)) / 1000;
  if (silentS <= noPortS) return [];
  return alertOnce(state, 'terminal_pod_unreachable', instance, { instance, lane: intent.lane, noPortS });
}
