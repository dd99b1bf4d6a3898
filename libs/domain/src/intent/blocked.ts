import type { DataOfType } from '#events/catalogue';
import type { BlockedReason } from '#events/intent.events';
import type { AlertKind, Evidence, Verdict } from '#events/watch.events';
import type { Fact } from '../fact.ts';
import type { OpenAlert, Placement } from '../placement.ts';

/** Which reasons are the workload's own fault (failover 6). */
const OF_THE_CODE: readonly BlockedReason[] = ['workload_failure', 'setup_failure'];

/** The one reason that a capacity-retry pass may re-drive (failover 6). */
const REDRIVABLE: BlockedReason = 'no_compute_available';

/** What a blocked allocation says, with the class and the re-drive of its reason (failover 6). */
function blockedVerdict(
  reason: BlockedReason,
  rule: string,
  evidence: Evidence,
  notFired: readonly string[] = [],
): Verdict {
  return {
    outcome: 'blocked',
    reason,
    failureClass: OF_THE_CODE.includes(reason) ? 'code' : 'infra',
    redrivable: reason === REDRIVABLE,
    rule,
    evidence,
    notFired: [...notFired],
  };
}

export function blocked(reason: BlockedReason, rule: string, evidence: Evidence): Fact {
  return { type: 'AllocationBlocked', data: { reason, verdict: blockedVerdict(reason, rule, evidence) } };
}

/** A verdict of any other outcome. */
export function verdict(
  outcome: Verdict['outcome'],
  reason: string | null,
  rule: string,
  evidence: Evidence,
): Verdict {
  return { outcome, reason, failureClass: null, redrivable: false, rule, evidence, notFired: [] };
}

/** The alert, or nothing while it is open about this subject (failover 13). */
export function alertOnce(
  state: Placement,
  alert: AlertKind,
  subject: string,
  evidence: DataOfType<'AlertRaised'>['evidence'] = {},
): readonly Fact[] {
  if (openAlert(state, alert, subject) !== null) return [];
  return [{ type: 'AlertRaised', data: { alert, subject, evidence } }];
}

/** The alert as long as it is open; null when it was never raised, or its subject has changed since. */
export function openAlert(state: Placement, alert: AlertKind, subject: string): OpenAlert | null {
  return state.alerts.find((open) => open.alert === alert && open.subject === subject) ?? null;
}
