import type { Escalation } from '#events/intent.events';
import type { Rung } from '#events/plan';
import { alertOnce, blocked } from '../intent/blocked.ts';
import { escalationReason } from '../intent/escalate.ts';
import {
  bootStreak,
  createsToday,
  ownLeftovers,
  type Placement,
  rungOf,
  utcDay,
  type Walk,
} from '../placement.ts';
import { isMoveRevoked, revokedMove } from './delivered-pool.ts';
import type { LaneFailureKind } from './lane.ts';
import { chainOf } from './marker.ts';
import { firstOr } from './resolve.ts';
import type { Step, View } from './step.ts';

/** More would not fit into one event; each miss stands in an event of its own as well. */
const MISSES_TOLD_MAX = 128;

/** The next step of a ladder that is being walked (failover 5). No intent is open. */
export function walkOn(state: Placement, walk: Walk, view: View): Step {
  if (isMoveRevoked(state)) return { do: 'append', facts: revokedMove(state, null) };
  const crash = crashedIntent(state, walk);
  if (crash !== null) return crashed(state, walk, crash);
  const [rungId] = walk.rungs;
  if (rungId === undefined) return exhausted(state, walk);
  const rung = rungOf(state, rungId);
  if (rung === null) return missed(state, rungId, 'rejected');
  const skip = skipOf(state, walk, rung, view);
  if (skip !== null)
    return { do: 'append', facts: [{ type: 'RungSkipped', data: { rung: rungId, why: skip } }] };
  if (view.rules.observeOnly) return { do: 'wait', why: 'observe_only', until: null };
  if (state.rewound !== null) return { do: 'wait', why: 'log_rewound', until: null };
  return enter(state, walk, rung, view);
}

/** Why a rung is passed over, uncounted (failover 5.2, 5.4). */
function skipOf(
  state: Placement,
  walk: Walk,
  rung: Rung,
  view: View,
): 'queue_loss' | 'boot_loop' | 'creates_per_day' | null {
  const limits = state.launch?.plan.limits;
  const day = utcDay(view.now);
  if (limits === undefined) return null;
  if (state.queueLosses[rung.id] === day) return 'queue_loss';
  if (bootStreak(state, rung.id, day) >= limits.bootDeaths) return 'boot_loop';
  const full = createsToday(state, day) >= limits.createsPerDay;
  if (rung.kind === 'primary' && full && !isCounted(state, walk, rung, view)) return 'creates_per_day';
  return null;
}

function enter(state: Placement, walk: Walk, rung: Rung, view: View): Step {
  if (view.laneFacts(rung.lane) === null) {
    return firstOr(
      alertOnce(state, 'lane_unavailable', rung.lane, { lane: rung.lane }),
      missed(state, rung.id, 'unavailable'),
    );
  }
  // The id is the caller's: `constructor` names no probe.
  const { laneProbes } = view.work;
  const open = Object.hasOwn(laneProbes, rung.id) ? laneProbes[rung.id] : undefined;
  if (open === undefined) return { do: 'probe_lane', rung };
  if (open !== 'open') {
    if (open.kind === 'quota') {
      return { do: 'append', facts: [{ type: 'RungSkipped', data: { rung: rung.id, why: 'quota' } }] };
    }
    const alert = open.kind === 'auth' ? 'lane_auth_failed' : 'lane_unavailable';
    const alerts =
      open.kind === 'capacity'
        ? []
        : alertOnce(state, alert, rung.lane, { lane: rung.lane, answer: open.kind });
    return firstOr(alerts, missed(state, rung.id, open.kind, open.codeIsKnown ? open.code : null));
  }
  if (rung.kind === 'primary' && !isCounted(state, walk, rung, view)) {
    const day = utcDay(view.now);
    const count = createsToday(state, day) + 1;
    return { do: 'count_rung', rung: rung.id, day, count };
  }
  const zone = rung.zones[walk.zoneMisses.length] ?? null;
  const entry = { kind: 'rung' as const, rung: rung.id, zone };
  return { do: 'open_intent', lane: rung.lane, entry, chain: chainOf(entry, walk.id), replaces: null };
}

/**
 * Whether this walk has paid for the rung: by an intent of it, or just now by this worker. A count without an
 * intent, left by a worker that died, stays burned and is made anew (failover 5.2, 9.4).
 */
function isCounted(state: Placement, walk: Walk, rung: Rung, view: View): boolean {
  if (view.work.counted.includes(`${walk.id} ${rung.id}`)) return true;
  return state.intents.some(
    ({ entry, chain }) =>
      entry.kind === 'rung' && entry.rung === rung.id && chain === chainOf(entry, walk.id),
  );
}

/** A rung whose state cannot be read, or that no lane serves, is missed as a whole, whatever its zones. */
function missed(state: Placement, rung: string, kind: LaneFailureKind, code: string | null = null): Step {
  const miss = { rung, zone: null, kind, code, failureDigest: null };
  const before = state.walk?.zoneMisses ?? [];
  return { do: 'append', facts: [{ type: 'RungMissed', data: { rung, misses: [...before, miss] } }] };
}

/** The intent of this walk whose workload failed while placing: the ladder stops there (failover 4.5). */
function crashedIntent(
  state: Placement,
  walk: Walk,
): { readonly intent: string; readonly rung: Rung } | null {
  for (const intent of state.intents) {
    if (intent.ended?.answer !== 'workload_error' || intent.entry.kind !== 'rung') continue;
    const rung = rungOf(state, intent.entry.rung);
    if (rung !== null && intent.chain === chainOf(intent.entry, walk.id))
      return { intent: intent.intent, rung };
  }
  return null;
}

function crashed(
  state: Placement,
  walk: Walk,
  { intent, rung }: { readonly intent: string; readonly rung: Rung },
): Step {
  const evidence = { rung: rung.id, lane: rung.lane, intent };
  // It does not bounce back to the terminal lane (failover 5.7), and a batch lane never fails over (5.5).
  const stays = walk.kind === 'on_demand' || walk.kind === 'pool_move' || rung.kind === 'batch';
  if (stays) return { do: 'append', facts: [blocked('workload_failure', '4.5 workload_error', evidence)] };
  return {
    do: 'escalate',
    escalation: {
      trigger: 'workload_crash_placing',
      reason: escalationReason('workload_crash_placing', rung.lane, terminalOf(state)),
      rule: '4.5 workload_error',
      evidence,
      key: intent,
      failedInstance: null,
      rung: rung.id,
      cancel: 'nothing',
    },
  };
}

/** Every rung missed or skipped (failover 5.6, 5.7). */
function exhausted(state: Placement, walk: Walk): Step {
  const evidence = missEvidence(state, walk);
  if (walk.kind === 'on_demand') {
    const left = ownLeftovers(state);
    if (left.length > 0) return { do: 'wait', why: 'cancel_unconfirmed', until: null };
    return { do: 'append', facts: [blocked('no_compute_available', '5.7 on_demand_walk', evidence)] };
  }
  const escalation: Escalation = {
    trigger: 'ladder_exhausted',
    reason: escalationReason('ladder_exhausted', '', terminalOf(state)),
    rule: '5.6 ladder_exhausted',
    evidence,
    key: `launch:${state.launch?.id ?? ''}`,
    failedInstance: null,
    rung: null,
    cancel: 'nothing',
  };
  return { do: 'escalate', escalation };
}

function terminalOf({ launch }: Placement): string {
  return launch?.plan.terminal?.lane ?? 'none';
}

/** All misses, and the first refusal by its union member and code (failover 6). */
function missEvidence(state: Placement, walk: Walk): Escalation['evidence'] {
  const refused = state.move?.refused ?? null;
  const [first] = walk.misses;
  return {
    misses: walk.misses
      .slice(0, MISSES_TOLD_MAX)
      .map(({ rung, zone, kind }) => `${rung}${zone === null ? '' : `/${zone}`}:${kind}`),
    skipped: walk.skipped.map(({ rung, why }) => `${rung}:${why}`),
    firstRefusal: refused?.answer ?? first?.kind ?? null,
    firstRefusalCode: refused === null ? (first?.code ?? null) : refused.code,
    capReached: walk.skipped.some(({ why }) => why === 'creates_per_day'),
  };
}
