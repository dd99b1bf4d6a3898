import type { DataOfType, KnownEvent } from '#events/catalogue';
import type { Escalation } from '#events/intent.events';
import type { Rung } from '#events/plan';
import type { InstanceFacts } from '#events/watch.events';
import { asShortage, evolveIntents } from './intent/intent-state.ts';
import { alertsAfter } from './intent/open-alerts.ts';
import { countedOn, type DayCounts, type Move, type Placement, rungOf, type Walk } from './placement.ts';
import type { PlacementEvent } from './placement-event.ts';

/** Folds a recorded event: an input changes nothing, and every decision or fact counts one version. */
export function evolveRecordedPlacement(before: Placement, event: KnownEvent): Placement {
  if (event.row.role === 'input') return before;
  return evolvePlacement(before, event);
}

/** The one fold of the placement (design 7). It chooses nothing: the event says what was decided. */
export function evolvePlacement(before: Placement, event: PlacementEvent): Placement {
  const state = { ...before, version: before.version + 1 };
  const next = withAlerts(withStanding(folded(withRequest(state, event), event), before, event), event);
  const verdict = 'verdict' in event.data ? event.data.verdict : null;
  if (verdict === null || verdict.outcome === 'unchanged') return next;
  return { ...next, verdict, outcome: verdict.outcome };
}

/** Every decision about the record says what request it is about now (fallback 3). */
function withRequest(state: Placement, event: PlacementEvent): Placement {
  const request = 'after' in event.data ? event.data.after.requestDigest : state.request;
  return request === state.request ? state : { ...state, request };
}

function withAlerts(state: Placement, event: PlacementEvent): Placement {
  const alerts = alertsAfter(state.alerts, event, state);
  return alerts === state.alerts ? state : { ...state, alerts };
}

/** A machine that a listing missed once may be seen again, or taken as the instance: then it stands, and bills. */
function withStanding(state: Placement, { current }: Placement, event: PlacementEvent): Placement {
  if (state.gone.length === 0) return state;
  const seen = [
    ...(event.type === 'AlertRaised' ? [event.data.subject] : []),
    ...(event.type === 'InstanceCreated' || event.type === 'InstanceAdopted' ? [event.data.instance] : []),
    ...(state.current !== null && state.current !== current ? [state.current] : []),
  ];
  if (!seen.some((id) => state.gone.includes(id))) return state;
  return { ...state, gone: state.gone.filter((id) => !seen.includes(id)) };
}

function folded(state: Placement, event: PlacementEvent): Placement {
  switch (event.type) {
    case 'LaunchAccepted':
      return {
        ...state,
        launch: {
          id: event.data.launch,
          version: state.version,
          at: event.at,
          plan: event.data.plan,
          requestDigest: event.data.requestDigest,
          workloadDigest: event.data.workloadDigest,
        },
        outcome: 'waiting',
        verdict: null,
        move: null,
        // What an earlier launch left behind is a person's: no observation of it may end the new one.
        current: null,
        acceptance: null,
        walk: walkOf(
          'launch',
          event.eventId,
          event.data.plan.rungs.map((rung) => rung.id),
        ),
      };
    case 'WalkStarted':
      return walkStarted(state, event.data, event);
    case 'RungCounted':
      return { ...state, creates: countedOn(state.creates, event.data.day, event.data.count) };
    case 'RungSkipped':
      return inWalk(state, (walk) => ({
        ...nextRung(walk),
        skipped: [...walk.skipped, { rung: event.data.rung, why: event.data.why }],
      }));
    case 'ZoneMissed':
      return inWalk(state, (walk) => ({ ...walk, zoneMisses: [...walk.zoneMisses, event.data] }));
    case 'RungMissed':
      return inWalk(state, (walk) => ({ ...nextRung(walk), misses: [...walk.misses, ...event.data.misses] }));
    case 'InstancePlaced':
      return placed(state, event, rungOf(state, event.data.rung), event.at);
    case 'DeliveredPoolAccepted':
      return placed({ ...state, poolDiffers: null }, event, event.data.rung, event.at);
    case 'DeliveredPoolReleased':
      return { ...state, poolDiffers: null };
    case 'ObservationJudged':
      return withFacts(state, event.data.instance, event.data.facts);
    case 'BootDeathRecorded': {
      const { rung, day, streak, instance } = event.data;
      return {
        ...state,
        bootDeaths: { ...state.bootDeaths, [rung]: countedOn(deathsOn(state, rung), day, streak) },
        countedDeaths: [...state.countedDeaths, instance],
      };
    }
    case 'BootStreakReset':
      return { ...state, bootDeaths: without(state.bootDeaths, event.data.rung) };
    case 'QueueLossRecorded':
      return { ...state, queueLosses: lostOn(state.queueLosses, event.data) };
    case 'FailoverPrompted':
      return {
        ...state,
        walk: null,
        move: {
          ...moveOf(event.data.escalation, 'asked'),
          known: knownOf(state, event.data.escalation.failedInstance),
        },
      };
    case 'FailoverDecided':
      return {
        ...state,
        walk: null,
        move: {
          ...moveOf(event.data.escalation, 'decided'),
          consent: event.data.consent,
        },
      };
    case 'CancelDecided':
      return { ...state, walk: null, move: moveOf(event.data.escalation, 'cancelling') };
    case 'FailoverAccepted':
      return {
        ...state,
        acceptance: {
          key: event.data.key,
          questionId: event.data.questionId,
          expiresAt: event.data.expiresAt,
        },
      };
    case 'FailoverDeclined':
      return { ...state, acceptance: null };
    case 'FailoverVoided':
      return voided(state, event.data);
    case 'AllocationBlocked':
      return { ...state, walk: null, move: null, blockedAt: event.at };
    case 'AllocationDone':
      return { ...state, walk: null, move: null };
    case 'CancelConfirmed':
      return {
        ...state,
        cancelled: [...state.cancelled.filter((id) => id !== event.data.instance), event.data.instance],
        cancelsOwed: without(state.cancelsOwed, event.data.instance),
      };
    case 'CancelUnconfirmed':
      return { ...state, cancelsOwed: { ...state.cancelsOwed, [event.data.instance]: event.data.lane } };
    case 'InstanceGone':
      return { ...state, gone: [...state.gone, event.data.instance] };
    case 'ForeignInstanceSeen':
      return { ...state, foreignSeen: [...state.foreignSeen, event.data.instance] };
    case 'LogRewound':
      return { ...state, rewound: event.data };
    case 'RewindReleased':
      return {
        ...state,
        rewound: state.rewound?.instance === event.data.instance ? null : state.rewound,
        released: [...state.released, event.data.instance],
      };
    case 'RewoundAdopted':
      return adopted(state, event.data, event.at);
    case 'FailoverCompleted':
      return completed(state, event.data, event.at);
    case 'ConsentAccepted':
      return {
        ...state,
        poolAccepted: { prompt: event.data.questionId, requestDigest: event.data.requestDigest },
      };
    case 'PoolMoveStarted':
      return {
        ...state,
        poolAccepted: null,
        poolMoves: [...state.poolMoves, event.data.prompt],
        walk: { ...walkOf('pool_move', event.eventId, [event.data.rung.id]), poolMove: event.data.rung },
      };
    case 'PoolMoveNotProvisioned':
      return {
        ...state,
        poolAccepted: null,
        poolMoves: [...state.poolMoves.filter((prompt) => prompt !== event.data.prompt), event.data.prompt],
        walk: state.walk?.kind === 'pool_move' ? null : state.walk,
      };
    case 'ReapAnnounced': {
      const { chain, number } = event.data;
      return withIntents({ ...state, reaps: { ...state.reaps, [chain]: number } }, event);
    }
    case 'IntentClosed':
      return refusedBy(withIntents(state, event), event.data.intent, event.data.why);
    case 'DeliveredPoolDiffers':
      return withIntents({ ...state, walk: null, poolDiffers: deliveredPool(state, event.data) }, event);
    default:
      return withIntents(state, event);
  }
}

function deathsOn({ bootDeaths }: Placement, rung: string): DayCounts {
  return Object.hasOwn(bootDeaths, rung) ? (bootDeaths[rung] ?? {}) : {};
}

/** The newest day stays: a loss that is told late of a day before takes nothing from it. */
function lostOn(
  losses: Placement['queueLosses'],
  { rung, day }: DataOfType<'QueueLossRecorded'>,
): Placement['queueLosses'] {
  const known = Object.hasOwn(losses, rung) ? losses[rung] : undefined;
  return known !== undefined && known > day ? losses : { ...losses, [rung]: day };
}

function moveOf(escalation: Escalation, is: Move['state']): Move {
  return { escalation, state: is, consent: null, known: null, refused: null };
}

/**
 * The terminal lane's refusal stays with the move until it is decided what follows from it. One that was missed
 * had no room, also where only the text of a lost answer says so (failover 9.2).
 */
function refusedBy(state: Placement, id: string, why: DataOfType<'IntentClosed'>['why']): Placement {
  const intent = state.intents.find((one) => one.intent === id);
  const refusal = why === 'missed' || why === 'refused';
  if (state.move === null || !refusal || intent?.entry.kind !== 'terminal') return state;
  const refused = why === 'missed' && intent.ended !== null ? asShortage(intent.ended) : intent.ended;
  return { ...state, move: { ...state.move, refused } };
}

function withIntents(state: Placement, event: PlacementEvent): Placement {
  const intents = evolveIntents(state.intents, event, state.launch?.version ?? 0);
  return intents === state.intents ? state : { ...state, intents };
}

function walkOf(kind: Walk['kind'], id: string, rungs: readonly string[]): Walk {
  return { kind, id, rungs, misses: [], skipped: [], zoneMisses: [], poolMove: null };
}

function inWalk(state: Placement, change: (walk: Walk) => Walk): Placement {
  if (state.walk === null) return state;
  const walk = change(state.walk);
  // A pool move that found no room changes nothing else (failover 5.8).
  return { ...state, walk: walk.kind === 'pool_move' && walk.rungs.length === 0 ? null : walk };
}

function nextRung(walk: Walk): Walk {
  return { ...walk, rungs: walk.rungs.slice(1), zoneMisses: [] };
}

function walkStarted(
  state: Placement,
  data: DataOfType<'WalkStarted'>,
  event: { readonly eventId: string; readonly at: string },
): Placement {
  const walk = walkOf(data.walk, event.eventId, data.rungs);
  const started: Placement = { ...state, outcome: 'waiting', walk };
  switch (data.walk) {
    case 'retry':
      return {
        ...started,
        retries: countedOn(state.retries, data.day, data.retry ?? 0),
        lastRetryAt: event.at,
      };
    case 'create_failed':
      // The instance never was one: nothing is placed any more.
      return { ...started, current: null };
    case 'launch':
    case 'on_demand':
    case 'pool_move':
      return started;
  }
}

type Placed = Extract<PlacementEvent, { type: 'InstancePlaced' | 'DeliveredPoolAccepted' }>;

function placed(state: Placement, event: Placed, rung: Rung | null, at: string): Placement {
  const { data } = event;
  const closed = evolveIntents(state.intents, event, state.launch?.version ?? 0);
  return {
    ...state,
    intents: closed,
    walk: null,
    move: null,
    current: data.instance,
    instances: {
      ...state.instances,
      [data.instance]: {
        id: data.instance,
        lane: data.lane,
        kind: rung?.kind ?? 'primary',
        rung: typeof data.rung === 'string' ? data.rung : data.rung.id,
        pool: data.pool ?? rung?.pool ?? null,
        queues: rung?.queues ?? false,
        createdAt: data.createdAt,
        placedAt: at,
        intent: data.intent,
        costPerHourUsd: data.costPerHourUsd,
        facts: null,
      },
    },
  };
}

/** Null where the log has no rung that it was made for: then there is nothing that it could be taken as. */
function deliveredPool(
  { intents, walk }: Placement,
  { instance, intent, delivered }: DataOfType<'DeliveredPoolDiffers'>,
): Placement['poolDiffers'] {
  const lane = intents.find((one) => one.intent === intent)?.lane;
  const rung = walk?.poolMove ?? null;
  return lane === undefined || rung === null ? null : { instance, lane, intent, rung, delivered };
}

function completed(state: Placement, data: DataOfType<'FailoverCompleted'>, at: string): Placement {
  const intent = state.intents.find((one) => one.intent === data.intent);
  return {
    ...state,
    intents: evolveIntents(state.intents, { type: 'FailoverCompleted', data }, state.launch?.version ?? 0),
    walk: null,
    move: null,
    stamps: [...state.stamps, data.key],
    acceptance: exceptFor(state, data.key),
    current: data.instance,
    instances: {
      ...state.instances,
      [data.instance]: {
        id: data.instance,
        lane: data.lane,
        kind: 'terminal',
        rung: null,
        pool: intent?.instancePool ?? null,
        queues: false,
        createdAt: intent?.instanceCreatedAt ?? null,
        placedAt: at,
        intent: data.intent,
        costPerHourUsd: intent?.costPerHourUsd ?? null,
        facts: null,
      },
    },
  };
}

/** The machine counts as placed or completed, whatever the log had forgotten about it (failover 10.3). */
function adopted(state: Placement, data: DataOfType<'RewoundAdopted'>, at: string): Placement {
  const { instance, lane, entry, key, leaves } = data;
  const rung = entry.kind === 'rung' ? rungOf(state, entry.rung) : null;
  return {
    ...state,
    intents: evolveIntents(state.intents, { type: 'RewoundAdopted', data }, state.launch?.version ?? 0),
    walk: null,
    move: null,
    rewound: null,
    stamps: key === null ? state.stamps : [...state.stamps, key],
    acceptance: key === null ? state.acceptance : exceptFor(state, key),
    cancelsOwed:
      leaves === null ? state.cancelsOwed : { ...state.cancelsOwed, [leaves.instance]: leaves.lane },
    current: instance,
    instances: {
      ...state.instances,
      [instance]: {
        id: instance,
        lane,
        kind: rung?.kind ?? 'terminal',
        rung: rung?.id ?? null,
        pool: rung?.pool ?? null,
        queues: rung?.queues ?? false,
        createdAt: null,
        placedAt: at,
        intent: data.intent,
        costPerHourUsd: null,
        facts: null,
      },
    },
  };
}

function voided(state: Placement, data: DataOfType<'FailoverVoided'>): Placement {
  const rung = state.move?.escalation.rung ?? null;
  const drops = data.dropsRungLoss && rung !== null;
  return {
    ...state,
    walk: null,
    move: null,
    acceptance: exceptFor(state, data.key),
    queueLosses: drops ? without(state.queueLosses, rung) : state.queueLosses,
    // The instance stays: its cancel is owed no more.
    cancelsOwed: data.instance === null ? state.cancelsOwed : without(state.cancelsOwed, data.instance),
  };
}

/** An acceptance ends with the move that it names (failover 14). */
function exceptFor({ acceptance }: Placement, key: string): Placement['acceptance'] {
  return acceptance?.key === key ? null : acceptance;
}

function knownOf(state: Placement, instance: string | null): Move['known'] {
  const facts = instance === null ? null : (state.instances[instance]?.facts ?? null);
  return facts === null ? null : { newest: facts.newest, hadRun: facts.reachedRunning };
}

function withFacts(state: Placement, id: string, facts: InstanceFacts | null): Placement {
  const instance = state.instances[id];
  if (instance === undefined || facts === null) return state;
  return { ...state, instances: { ...state.instances, [id]: { ...instance, facts } } };
}

function without<Value>(rows: Readonly<Record<string, Value>>, key: string): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(rows).filter(([name]) => name !== key));
}
