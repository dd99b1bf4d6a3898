import type { Evidence } from '#events/watch.events';
import { alertOnce, blocked } from '../intent/blocked.ts';
import type { CreateEnd } from '../intent/intent-state.ts';
import { bootStreak, type Move, ownLeftovers, type Placement, utcDay } from '../placement.ts';
import { chainOf } from './marker.ts';
import { firstOr } from './resolve.ts';
import { isShortage, refusedByTerminal } from './settle.ts';
import type { Step, View } from './step.ts';

/** The triggers after which the on-demand rungs that are left are walked once (failover 5.7). */
const WALKS_ON_DEMAND: readonly string[] = ['queue_vanish', 'queue_timeout'];

/** The next step of a decided move (failover 8, 9.1, 12.1). No intent is open and no ladder is walked. */
export function carryOut(state: Placement, move: Move, view: View): Step {
  const cancel = cancelFirst(state, move, view);
  if (cancel !== null) return cancel;
  if (move.state === 'cancelling') return cancelledUnderNever(state, move);
  if (move.refused !== null) return afterRefusal(state, move, move.refused, view);
  const terminal = state.launch?.plan.terminal;
  if (!terminal) throw new Error('a decided move of a plan without a terminal entry');
  if (view.rules.observeOnly) return { do: 'wait', why: 'observe_only', until: null };
  if (state.rewound !== null) return { do: 'wait', why: 'log_rewound', until: null };
  const entry = { kind: 'terminal' as const };
  const chain = chainOf(entry, move.escalation.key);
  if (!view.terminalRoom) {
    return firstOr(alertOnce(state, 'terminal_limit_reached', chain), {
      do: 'wait',
      why: 'terminal_limit',
      until: null,
    });
  }
  return { do: 'open_intent', lane: terminal.lane, entry, chain, replaces: null };
}

/**
 * Queue timeout and wedge cancel first. A failed cancel of a queued instance is owed and stops nothing; one of
 * a machine that may still work holds the move (failover 12.1).
 */
function cancelFirst(state: Placement, move: Move, view: View): Step | null {
  const { cancel, failedInstance } = move.escalation;
  if (cancel === 'nothing' || failedInstance === null) return null;
  if (state.cancelled.includes(failedInstance)) return null;
  const owed = Object.hasOwn(state.cancelsOwed, failedInstance);
  const holds = cancel === 'running' || move.state === 'cancelling';
  if (owed && !holds) return null;
  if (view.rules.observeOnly) return { do: 'wait', why: 'observe_only', until: null };
  if (view.work.cancelTried.includes(failedInstance)) {
    return { do: 'wait', why: 'cancel_unconfirmed', until: null };
  }
  const lane = state.instances[failedInstance]?.lane ?? state.cancelsOwed[failedInstance];
  if (lane === undefined) throw new Error('a move of an instance that the log does not know');
  if (view.laneFacts(lane) === null) {
    return firstOr(alertOnce(state, 'lane_unavailable', lane, { lane }), {
      do: 'wait',
      why: 'lane_unknown',
      until: null,
    });
  }
  return { do: 'cancel', instance: failedInstance, lane, expects: cancel, superseded: false };
}

/** The queued instance is gone, and no other lane may be used (failover 4.8, 14). */
function cancelledUnderNever(state: Placement, move: Move): Step {
  if (ownLeftovers(state).length > 0) return { do: 'wait', why: 'cancel_unconfirmed', until: null };
  const { rule, evidence } = move.escalation;
  return { do: 'append', facts: [blocked('no_compute_available', rule, evidence)] };
}

/** The terminal lane refused (failover 5.7, 9.2). */
function afterRefusal(state: Placement, move: Move, refused: CreateEnd, view: View): Step {
  if (!isShortage(refused))
    return { do: 'append', facts: [refusedByTerminal(refused, '9.2 create_refused')] };
  const left = ownLeftovers(state);
  const evidence: Evidence = {
    ...move.escalation.evidence,
    firstRefusal: refused.answer,
    firstRefusalCode: refused.code,
  };
  const owed = left.filter((id) => Object.hasOwn(state.cancelsOwed, id));
  if (owed.length > 0) return { do: 'wait', why: 'cancel_unconfirmed', until: null };
  if (left.length > 0) {
    const [instance] = left;
    const bills = { ...evidence, instance: instance ?? null };
    return {
      do: 'append',
      facts: [
        blocked('terminal_residue_unresolved', '6 own_pod_bills', bills),
        ...alertOnce(state, 'residue_unresolved', instance ?? '', bills),
      ],
    };
  }
  const rungs = onDemandLeft(state, move, view);
  if (rungs.length > 0) {
    return {
      do: 'append',
      facts: [
        {
          type: 'WalkStarted',
          data: { walk: 'on_demand', rungs: [...rungs], retry: null, day: utcDay(view.now) },
        },
      ],
    };
  }
  return { do: 'append', facts: [blocked('no_compute_available', '9.2 terminal_capacity', evidence)] };
}

/** On-demand rungs after the one that lost its instance, those left out that are dead today (failover 5.4, 5.7). */
function onDemandLeft(state: Placement, move: Move, view: View): readonly string[] {
  const { trigger, rung } = move.escalation;
  const plan = state.launch?.plan;
  if (!WALKS_ON_DEMAND.includes(trigger) || plan === undefined) return [];
  const day = utcDay(view.now);
  const from = plan.rungs.findIndex(({ id }) => id === rung) + 1;
  return plan.rungs
    .slice(from)
    .filter(({ id, pool, kind }) => {
      const dead = state.queueLosses[id] === day || bootStreak(state, id, day) >= plan.limits.bootDeaths;
      return kind === 'primary' && pool === 'on-demand' && !dead;
    })
    .map(({ id }) => id);
}
