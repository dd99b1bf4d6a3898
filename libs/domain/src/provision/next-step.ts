import { openIntentOf, type Placement } from '../placement.ts';
import { carryOut } from './carry-out.ts';
import { movePool } from './pool-move.ts';
import { resolveIntent } from './resolve.ts';
import { unrecordedSightings } from './sightings.ts';
import type { Step, View } from './step.ts';
import { owedCancel, sweep } from './sweep.ts';
import { walkOn } from './walk.ts';

/**
 * What a worker does next on one allocation (failover 9): chosen anew from the fold after every fact, so that
 * whoever comes after a worker that died finds the same step. Pure: the time, listings and probes come in.
 */
export function nextStep(state: Placement, view: View): Step {
  const { poolAccepted, walk, move, launch } = state;
  if (launch === null) return poolAccepted === null ? { do: 'rest' } : movePool(state, poolAccepted, view);
  const sighted = unrecordedSightings(state, view);
  if (sighted.length > 0) return { do: 'append', facts: sighted };
  const open = openIntentOf(state);
  // Owed cancels first: the orphan dies before its replacement is created (failover 12.3).
  const owed = owedCancel(state, view);
  // What a cancel finds can close the intent, and that is for whoever holds its lease (failover 11).
  if (owed !== null && open !== null && view.work.fence === null) {
    return { do: 'take_lease', intent: open.intent };
  }
  if (owed !== null) return owed;
  if (open !== null) return resolveIntent(state, open, view);
  if (walk !== null) return sweptWhileHeld(walkOn(state, walk, view), state, view);
  if (move !== null && move.state !== 'asked') {
    return sweptWhileHeld(carryOut(state, move, view), state, view);
  }
  // While a failover question is open no other move begins (failover 4.8).
  if (poolAccepted !== null && move === null) return movePool(state, poolAccepted, view);
  return sweep(state, view);
}

/**
 * What waits for something of ours to be gone waits for what a pass finds and ends: otherwise it would wait for ever,
 * and no launch is taken meanwhile (failover 10.6, 12.2).
 */
function sweptWhileHeld(step: Step, state: Placement, view: View): Step {
  if (step.do !== 'wait' || step.why !== 'cancel_unconfirmed') return step;
  const swept = sweep(state, view);
  return swept.do === 'rest' ? step : swept;
}
