import type { Miss } from '#events/provision.events';
import type { Fact } from '../fact.ts';
import { alertOnce, blocked } from '../intent/blocked.ts';
import type { CreateEnd, IntentState } from '../intent/intent-state.ts';
import { type Placement, rungOf } from '../placement.ts';

/** What an ended create call means for its intent (failover 9.2). */
export type Settling =
  /** The attempt is over: no machine of it exists. */
  | 'over'
  /** Nothing was created; the same intent is sent again after its pause. */
  | 'paused'
  /** The name belongs to somebody else: a new intent id. */
  | 'renamed'
  /** Look before any second create. */
  | 'unknown';

export function settlingOf(intent: IntentState, ended: CreateEnd): Settling {
  switch (ended.answer) {
    case 'capacity':
    case 'quota':
    case 'rejected':
    case 'balance':
    case 'not_found':
    case 'workload_error':
      return 'over';
    case 'rate_limited':
      return 'paused';
    // On a rung there is a next one; the terminal lane has none (failover 9.2).
    case 'auth':
    case 'unavailable':
      return intent.entry.kind === 'rung' ? 'over' : 'paused';
    case 'name_taken':
      return 'renamed';
    case 'outcome_unknown':
      return 'unknown';
  }
}

/** Closes an attempt that is over, and keeps what was refused (failover 5.1, 9.2). */
export function closingFacts(state: Placement, intent: IntentState, ended: CreateEnd): readonly Fact[] {
  if (ended.answer === 'workload_error') return [closed(intent, 'refused')];
  if (intent.entry.kind === 'terminal') {
    return [closed(intent, isShortage(ended) ? 'missed' : 'refused')];
  }
  return [
    ...missFacts(state, missOf(intent.entry, ended)),
    closed(intent, 'missed'),
    ...refusalAlert(state, intent.lane, ended),
  ];
}

/** Records one zone's refusal, and the rung's once every zone refused (failover 1, 5.1). */
function missFacts(state: Placement, miss: Miss): readonly Fact[] {
  const zones = rungOf(state, miss.rung)?.zones ?? [];
  const refused = state.walk?.zoneMisses ?? [];
  const zone: Fact = { type: 'ZoneMissed', data: miss };
  if (refused.length + 1 < zones.length) return [zone];
  return [zone, { type: 'RungMissed', data: { rung: miss.rung, misses: [...refused, miss] } }];
}

export function isShortage(ended: CreateEnd): boolean {
  return ended.answer === 'capacity' || ended.answer === 'quota';
}

/** The terminal lane's last word, when it is not a shortage (failover 9.2). */
export function refusedByTerminal(ended: CreateEnd, rule: string): Fact {
  const evidence = { answer: ended.answer, code: ended.code };
  return ended.answer === 'balance'
    ? blocked('terminal_balance_exhausted', rule, evidence)
    : blocked('terminal_request_rejected', rule, evidence);
}

/** A refusal that is neither capacity nor quota is somebody's to look at (failover 9.2). */
function refusalAlert(state: Placement, lane: string, ended: CreateEnd): readonly Fact[] {
  if (isShortage(ended)) return [];
  const alert = ended.answer === 'auth' ? 'lane_auth_failed' : 'lane_unavailable';
  return alertOnce(state, alert, lane, { lane, answer: ended.answer, code: ended.code });
}

function missOf(entry: { readonly rung: string; readonly zone: string | null }, ended: CreateEnd): Miss {
  const { answer, code, failureDigest } = ended;
  const kind = answer === 'name_taken' || answer === 'workload_error' ? 'rejected' : answer;
  return { rung: entry.rung, zone: entry.zone, kind, code, failureDigest };
}

function closed(intent: IntentState, why: 'missed' | 'refused'): Fact {
  return { type: 'IntentClosed', data: { intent: intent.intent, why } };
}
