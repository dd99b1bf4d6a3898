import { instantMs, plusSeconds } from '#events/instant';
import { prepareMachine } from '../dispatch/prepare.ts';
import type { Fact } from '../fact.ts';
import { alertOnce, blocked } from '../intent/blocked.ts';
import { asShortage, type CreateEnd, type IntentState } from '../intent/intent-state.ts';
import { currentInstance, ownLeftovers, type Placement } from '../placement.ts';
import { UNKNOWN_CREATES_MAX, unknownPauseEnd } from './backoff.ts';
import { completion } from './completion.ts';
import { type Condition, conditionOf, historyOf, needsProbe } from './condition.ts';
import { isMoveRevoked, revokedMove } from './delivered-pool.ts';
import type { LaneFacts, ProbeReading } from './lane.ts';
import { reapOrBlock } from './reap.ts';
import { closingFacts, settlingOf } from './settle.ts';
import { type OwnMachine, sightingsIn } from './sightings.ts';
import type { Listing, Step, View } from './step.ts';
import { unreachableAlert } from './unreachable.ts';
import { unknownCreates } from './waits.ts';

/**
 * What to do about an open intent (failover 9.3). A worker that opened it itself, or has looked already, goes
 * straight on; whoever finds it open looks first. Everything but waiting and asking a machine is for whoever holds
 * the lease: an intent that only waits is left without an event, however many passes find it so.
 */
export function resolveIntent(state: Placement, intent: IntentState, view: View): Step {
  const lane = view.laneFacts(intent.lane);
  if (lane === null) {
    return firstOr(alertOnce(state, 'lane_unavailable', intent.lane, { lane: intent.lane }), {
      do: 'wait',
      why: 'lane_unknown',
      until: null,
    });
  }
  if (view.rules.observeOnly) return { do: 'wait', why: 'observe_only', until: null };
  const step = withoutCreate(state, intent, attempt(state, intent, lane, view));
  const needsLease = step.do !== 'wait' && step.do !== 'probe';
  return needsLease && view.work.fence === null ? { do: 'take_lease', intent: intent.intent } : step;
}

/** Of a move whose request has changed nothing more is made; what exists already is told to a person (failover 5.8). */
function withoutCreate(state: Placement, intent: IntentState, step: Step): Step {
  const creates = step.do === 'create' || step.do === 'open_intent';
  return creates && isMoveRevoked(state) ? { do: 'append', facts: revokedMove(state, intent) } : step;
}

function attempt(state: Placement, intent: IntentState, lane: LaneFacts, view: View): Step {
  const { work } = view;
  if (intent.instance === null && intent.ended !== null) {
    return afterEnd(state, intent, intent.ended, lane, view);
  }
  if (!work.knows.includes(intent.intent)) return look(state, intent, lane, view);
  if (intent.instance !== null) return prepareMachine(state, intent, intent.instance, lane, view);
  return intent.sends === 0 ? send(state, intent, view) : look(state, intent, lane, view);
}

function afterEnd(
  state: Placement,
  intent: IntentState,
  ended: CreateEnd,
  lane: LaneFacts,
  view: View,
): Step {
  switch (settlingOf(intent, ended)) {
    case 'over':
      return { do: 'append', facts: closingFacts(state, intent, ended) };
    case 'renamed':
      return replace(intent);
    case 'unknown':
      return look(state, intent, lane, view);
    case 'paused': {
      const alert = ended.answer === 'auth' ? 'lane_auth_failed' : 'lane_unavailable';
      const facts =
        ended.answer === 'rate_limited'
          ? []
          : alertOnce(state, alert, intent.lane, { lane: intent.lane, answer: ended.answer });
      if (facts.length > 0) return { do: 'append', facts };
      if (ended.notBefore !== null && instantMs(view.now) < instantMs(ended.notBefore)) {
        return { do: 'wait', why: 'pause', until: ended.notBefore };
      }
      return send(state, intent, view);
    }
  }
}

/** A rewound log holds every create of the allocation (failover 10.3); the breaker those of the terminal lane. */
function send(state: Placement, intent: IntentState, view: View): Step {
  if (state.rewound !== null) return { do: 'wait', why: 'log_rewound', until: null };
  if (view.mustLook(intent.lane)) {
    const listing = view.work.listings[intent.lane];
    if (listing === undefined) return { do: 'list', lane: intent.lane };
    if (listing === 'failed') return { do: 'wait', why: 'listing_failed', until: null };
  }
  if (intent.entry.kind === 'terminal' && !view.terminalRoom) {
    return firstOr(alertOnce(state, 'terminal_limit_reached', intent.chain), {
      do: 'wait',
      why: 'terminal_limit',
      until: null,
    });
  }
  return { do: 'create', intent };
}

function look(state: Placement, intent: IntentState, lane: LaneFacts, view: View): Step {
  const listing = view.work.listings[intent.lane];
  if (listing === undefined) return { do: 'list', lane: intent.lane };
  if (listing === 'failed') return { do: 'wait', why: 'listing_failed', until: null };
  const { own: all } = sightingsIn(state, intent.lane, listing, view);
  const own = all.filter((one) => answersFor(one.intent, intent));
  if (own.length === 0) return absent(state, intent, lane, listing, view);
  return lane.startsWorkload === 'by_create'
    ? adoptWorking(state, intent, own)
    : judgeOwn(state, intent, own, view);
}

/**
 * On the terminal lane a late machine of any earlier attempt of this launch counts; on a rung only those of
 * the same entry: what another rung got is its own story.
 */
function answersFor(carried: IntentState, open: IntentState): boolean {
  if (carried.chain === open.chain) return true;
  return (
    carried.entry.kind === 'terminal' && open.entry.kind === 'terminal' && carried.closed !== 'completed'
  );
}

/** Nothing of ours is listed: whether that proves anything depends on when the look began (failover 9.3). */
function absent(state: Placement, intent: IntentState, lane: LaneFacts, listing: Listing, view: View): Step {
  if (intent.sends === 0) return send(state, intent, view);
  const { reaping } = intent;
  const over = graceEnd(intent, lane);
  if (intent.reaped.length > 0 && intent.reaped.length >= intent.unknownSends) return replace(intent);
  if (instantMs(listing.startedAt) <= instantMs(over))
    return { do: 'wait', why: 'listing_grace', until: over };
  if (reaping !== null) {
    const { chain } = intent;
    return {
      do: 'append',
      facts: [{ type: 'ResidueReaped', data: { instance: reaping, intent: intent.intent, chain } }],
    };
  }
  if (intent.dispatches > 0) return lostAfterDispatch(intent);
  const { instance, lane: name } = intent;
  // It bills no more: else the next refusal would be told as residue that nobody can find (failover 12.2).
  if (instance !== null && ownLeftovers(state).includes(instance)) {
    const data = { instance, lane: name, listedAt: listing.startedAt };
    return { do: 'append', facts: [{ type: 'InstanceGone', data }] };
  }
  if (intent.ended?.speaksOfShortage === true) {
    return { do: 'append', facts: closingFacts(state, intent, asShortage(intent.ended)) };
  }
  return createAgain(state, intent, lane, view);
}

/**
 * The last moment at which a machine of the newest create may still be missing from a listing: from the
 * recorded end of the call, else from the send limit and the lane's deadline (failover 9.3).
 */
export function graceEnd(intent: IntentState, lane: LaneFacts): string {
  const ended = intent.ended?.endedAt;
  const lastMoment =
    ended ?? plusSeconds(intent.sendNotAfter ?? '1970-01-01T00:00:00.000Z', lane.createDeadlineMs / 1000);
  return plusSeconds(lastMoment, lane.listingGraceMs / 1000);
}

function createAgain(state: Placement, intent: IntentState, lane: LaneFacts, view: View): Step {
  const unknown = unknownCreates(state.intents, intent.chain);
  if (unknown >= UNKNOWN_CREATES_MAX) {
    const { chain, lane: name } = intent;
    const facts = alertOnce(state, 'create_unknown_repeated', chain, { lane: name, creates: unknown });
    if (facts.length > 0) return { do: 'append', facts };
    const until = unknownPauseEnd(intent.ended?.endedAt ?? intent.sendNotAfter ?? view.now, unknown);
    if (instantMs(view.now) < instantMs(until)) return { do: 'wait', why: 'pause', until };
  }
  return lane.idempotentCreate ? send(state, intent, view) : replace(intent);
}

/** The machine that got a dispatch is gone: it may have run, so no second one is bought (failover 8.1). */
function lostAfterDispatch(intent: IntentState): Step {
  return {
    do: 'append',
    facts: [
      { type: 'IntentClosed', data: { intent: intent.intent, why: 'blocked' } },
      blocked('instance_lost_after_start', '9.3 gone_after_dispatch', {
        instance: intent.instance,
        intent: intent.intent,
      }),
    ],
  };
}

/** Same chain, new intent id; the append closes the old one (failover 9.3). */
export function replace(intent: IntentState): Step {
  const { lane, entry, chain } = intent;
  return { do: 'open_intent', lane, entry, chain, replaces: intent.intent };
}

/** A lane whose create starts the workload: what is found is the placement, whatever became of it since. */
function adoptWorking(state: Placement, intent: IntentState, own: readonly OwnMachine[]): Step {
  const alive = own.filter(({ machine }) => machine.state !== 'terminated');
  const [kept, ...others] = alive.length > 0 ? alive : own;
  if (kept === undefined) throw new Error('there is an own machine to adopt');
  const alerts = twoWorkloads(state, intent, others);
  if (intent.instance === kept.machine.id) {
    return { do: 'append', facts: [...alerts, ...completion(state, intent, kept.machine.id, null)] };
  }
  return { do: 'append', facts: [...alerts, adopted(intent, kept)] };
}

/** Neither is ended: which of two that work is the right one is a person's to say (failover 9.3). */
function twoWorkloads(
  state: Placement,
  { lane }: IntentState,
  others: readonly OwnMachine[],
): readonly Fact[] {
  return others.flatMap(({ machine }) =>
    alertOnce(state, 'two_workloads', machine.id, { lane, instance: machine.id }),
  );
}

function judgeOwn(state: Placement, intent: IntentState, own: readonly OwnMachine[], view: View): Step {
  const judged: { readonly own: OwnMachine; readonly is: Condition }[] = [];
  for (const one of own) {
    const history = historyOf(one, state.intents);
    const probe = view.work.probes[one.machine.id] ?? null;
    if (probe === null && needsProbe(one.machine, history)) {
      return { do: 'probe', lane: intent.lane, instance: one.machine.id };
    }
    judged.push({ own: one, is: conditionOf(one.machine, history, probe) });
  }
  const of = (condition: Condition) =>
    judged.filter(({ is }) => is === condition).map(({ own: machine }) => machine);

  const silent = of('unknown');
  if (silent.length > 0) {
    const facts = silent.flatMap(({ machine }) => unreachableAlert(state, intent, machine.id, view));
    return firstOr(facts, { do: 'wait', why: 'probe_unknown', until: null });
  }
  const [working, ...alsoWorking] = of('running');
  if (working !== undefined) {
    return takeOver(state, intent, working, view, twoWorkloads(state, intent, alsoWorking), null);
  }
  const kept = own.filter(({ machine }) => machine.keep);
  if (kept.length > 0) {
    const facts = kept.flatMap(({ machine }) =>
      alertOnce(state, 'keep_mark_blocks', machine.id, { lane: intent.lane, instance: machine.id }),
    );
    return firstOr(facts, { do: 'wait', why: 'keep_mark', until: null });
  }
  const [finished] = of('finished');
  if (finished !== undefined) {
    const probe = view.work.probes[finished.machine.id];
    return takeOver(state, intent, finished, view, [], probe === 'failed' ? null : (probe ?? null));
  }
  const [unreadable] = of('unreadable');
  if (unreadable !== undefined) return unresolved(state, intent, unreadable.machine.id);
  const [healthy, ...spare] = of('healthy');
  const [victim] = [...of('residue'), ...spare];
  if (victim !== undefined) return reapOrBlock(state, intent, victim.machine.id, view);
  if (healthy === undefined) throw new Error('an own machine has one of these conditions');
  return takeOver(state, intent, healthy, view, [], null);
}

/** Adopts a machine whose id the log does not know, then goes on with it (failover 9.3). */
function takeOver(
  state: Placement,
  intent: IntentState,
  { machine, intent: carried }: OwnMachine,
  view: View,
  alerts: readonly Fact[],
  finished: ProbeReading | null,
): Step {
  if (intent.instance !== machine.id) {
    return { do: 'append', facts: [...alerts, adopted(intent, { machine, intent: carried })] };
  }
  const probe = view.work.probes[machine.id];
  const runs = probe !== undefined && probe !== 'failed' && probe.workload === 'running';
  if (runs || finished !== null) {
    return { do: 'append', facts: [...alerts, ...completion(state, intent, machine.id, finished)] };
  }
  const lane = view.laneFacts(intent.lane);
  if (lane === null) return { do: 'wait', why: 'lane_unknown', until: null };
  return prepareMachine(state, intent, machine.id, lane, view, carried.intent);
}

function adopted(intent: IntentState, { machine }: OwnMachine): Fact {
  return {
    type: 'InstanceAdopted',
    data: {
      intent: intent.intent,
      instance: machine.id,
      pool: machine.pool,
      createdAt: machine.createdAt,
      costPerHourUsd: machine.costPerHourUsd,
    },
  };
}

/** It may have run and cannot be read: kept for a person, and never made again (failover 9.3). */
function unresolved(state: Placement, intent: IntentState, instance: string): Step {
  const evidence = { instance, lane: intent.lane, failed: currentInstance(state)?.id ?? null };
  return {
    do: 'append',
    facts: [
      { type: 'IntentClosed', data: { intent: intent.intent, why: 'blocked' } },
      blocked('terminal_residue_unresolved', '9.3 unreadable_after_dispatch', evidence),
      ...alertOnce(state, 'residue_unresolved', instance, evidence),
    ],
  };
}

/** Facts first; once they stand, the step. */
export function firstOr(facts: readonly Fact[], step: Step): Step {
  return facts.length > 0 ? { do: 'append', facts } : step;
}
