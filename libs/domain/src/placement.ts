import type { z } from 'zod';
import type { DataOfType, EventType, KnownEvent } from '#events/catalogue';
import { plusSeconds } from '#events/instant';
import type { Escalation } from '#events/intent.events';
import type { LaneKind, Plan, Rung } from '#events/plan';
import type { Miss } from '#events/provision.events';
import type { InstanceFacts, Outcome, Verdict } from '#events/watch.events';
import { type CreateEnd, evolveIntents, type IntentState } from './intent/intent-state.ts';
import type { PlacementRow } from './log.ts';

/** An instance that this allocation had or has: its handle and what was seen of it (failover 3). */
export interface PlacedInstance {
  readonly id: string;
  readonly lane: string;
  readonly kind: z.output<typeof LaneKind>;
  /** Null on the terminal lane. */
  readonly rung: string | null;
  readonly pool: string | null;
  readonly queues: boolean;
  readonly createdAt: string | null;
  /** When the log learnt of it. */
  readonly placedAt: string;
  readonly intent: string | null;
  readonly costPerHourUsd: number | null;
  readonly facts: InstanceFacts | null;
}

/** A ladder that is being walked: the first of `rungs` is the one at hand (failover 5). */
export interface Walk {
  readonly kind: 'launch' | 'create_failed' | 'on_demand' | 'retry' | 'pool_move';
  /** Names the walk: its intents' chains derive from it. */
  readonly id: string;
  readonly rungs: readonly string[];
  readonly misses: readonly Miss[];
  readonly skipped: readonly { readonly rung: string; readonly why: string }[];
  /** Zones of the rung at hand that refused. */
  readonly zoneMisses: readonly Miss[];
  /** The rung of a pool move, which no plan names. */
  readonly poolMove: Rung | null;
}

/** A move to the terminal lane that is asked for or decided, until it is completed or off. */
export interface Move {
  readonly escalation: Escalation;
  /** `cancelling`: the queued instance goes, and then the allocation is blocked (`never`). */
  readonly state: 'asked' | 'decided' | 'cancelling';
  /** `standing`, the accepted question's id, or null while it is asked. */
  readonly consent: string | null;
  readonly askedAt: string | null;
  /** What was known of the failed instance when the question about it was asked; null = no instance failed. */
  readonly known: { readonly newest: string; readonly hadRun: boolean } | null;
  /** What the terminal lane answered to its create, once it refused. */
  readonly refused: CreateEnd | null;
}

export interface Launch {
  readonly id: string;
  readonly version: number;
  readonly at: string;
  readonly plan: Plan;
  readonly requestDigest: string | null;
  readonly workloadDigest: string | null;
}

interface DayCount {
  readonly day: string;
  readonly count: number;
}

/** Where one allocation stands: what the rules of failover ask for (failover 1 to 12). */
export interface Placement {
  /** Decisions and facts folded so far. */
  readonly version: number;
  readonly launch: Launch | null;
  readonly outcome: Outcome | null;
  /** The latest decision of this launch. */
  readonly verdict: Verdict | null;
  /** Decision version of `verdict`. */
  readonly verdictVersion: number;
  readonly current: string | null;
  readonly instances: Readonly<Record<string, PlacedInstance>>;
  readonly intents: readonly IntentState[];
  /** Reaps by chain: a new intent never resets them. */
  readonly reaps: Readonly<Record<string, number>>;
  readonly walk: Walk | null;
  readonly move: Move | null;
  /** Keys whose one failover was completed. */
  readonly stamps: readonly string[];
  /** The newest acceptance of a failover: covers the re-drives of its move until its life time ends. */
  readonly acceptance: {
    readonly key: string;
    readonly questionId: string;
    readonly expiresAt: string;
  } | null;
  readonly creates: DayCount;
  readonly retries: DayCount;
  readonly lastRetryAt: string | null;
  readonly blockedAt: string | null;
  /** UTC day of the rung's newest queue loss. */
  readonly queueLosses: Readonly<Record<string, string>>;
  readonly bootDeaths: Readonly<Record<string, { readonly day: string; readonly count: number }>>;
  /** Instances whose boot death was counted: once per provider id. */
  readonly countedDeaths: readonly string[];
  /** Cancels that are owed, with the lane of the instance. */
  readonly cancelsOwed: Readonly<Record<string, string>>;
  readonly cancelled: readonly string[];
  /** `kind subject` of every alert raised so far. */
  readonly alerts: readonly string[];
  readonly foreignSeen: readonly string[];
  /** The instance that proved a restored backup; null = nothing does, or a person released it. */
  readonly rewound: string | null;
  readonly released: readonly string[];
  /** Prompts of the pool question whose move was tried or found impossible. */
  readonly poolMoves: readonly string[];
  /** An accepted pool question, until its move was tried. */
  readonly poolAccepted: { readonly prompt: string; readonly requestDigest: string } | null;
}

const NO_DAY: DayCount = { day: '', count: 0 };

/** Before any launch. */
export const NOT_PLACED: Placement = {
  version: 0,
  launch: null,
  outcome: null,
  verdict: null,
  verdictVersion: 0,
  current: null,
  instances: {},
  intents: [],
  reaps: {},
  walk: null,
  move: null,
  stamps: [],
  acceptance: null,
  creates: NO_DAY,
  retries: NO_DAY,
  lastRetryAt: null,
  blockedAt: null,
  queueLosses: {},
  bootDeaths: {},
  countedDeaths: [],
  cancelsOwed: {},
  cancelled: [],
  alerts: [],
  foreignSeen: [],
  rewound: null,
  released: [],
  poolMoves: [],
  poolAccepted: null,
};

/** The UTC day of an instant: caps and streaks run on it. */
export function utcDay(at: string): string {
  return at.slice(0, 10);
}

export function createsToday(state: Placement, day: string): number {
  return state.creates.day === day ? state.creates.count : 0;
}

export function retriesToday(state: Placement, day: string): number {
  return state.retries.day === day ? state.retries.count : 0;
}

export function bootStreak(state: Placement, rung: string, day: string): number {
  const streak = state.bootDeaths[rung];
  return streak?.day === day ? streak.count : 0;
}

export function openIntentOf(state: Placement): IntentState | null {
  return state.intents.find((intent) => intent.closed === null) ?? null;
}

export function currentInstance(state: Placement): PlacedInstance | null {
  return state.current === null ? null : (state.instances[state.current] ?? null);
}

export function rungOf(state: Placement, id: string): Rung | null {
  const moved = state.walk?.poolMove;
  if (moved?.id === id) return moved;
  return state.launch?.plan.rungs.find((rung) => rung.id === id) ?? null;
}

/** A decision or fact, recorded or about to be: what the fold reads of it. */
export type PlacementEvent = {
  [Type in EventType]: {
    readonly type: Type;
    readonly data: Extract<KnownEvent, { readonly type: Type }>['data'];
  };
}[EventType] & {
  readonly eventId: string;
  /** Domain time of the fact (failover 3.4). */
  readonly at: string;
};

/** Folds a recorded event: an input changes nothing, and every decision or fact counts one version. */
export function evolveRecordedPlacement(before: Placement, event: KnownEvent): Placement {
  if (event.row.role === 'input') return before;
  return evolvePlacement(before, { ...event, eventId: event.row.eventId, at: event.row.occurredAt });
}

/** The one fold of the placement (design 7). It chooses nothing: the event says what was decided. */
export function evolvePlacement(before: Placement, event: PlacementEvent): Placement {
  const state = { ...before, version: before.version + 1 };
  const next = folded(state, event);
  const verdict = 'verdict' in event.data ? event.data.verdict : null;
  if (verdict === null || verdict.outcome === 'unchanged') return next;
  return { ...next, verdict, verdictVersion: next.version, outcome: verdict.outcome };
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
        walk: walkOf(
          'launch',
          event.eventId,
          event.data.plan.rungs.map((rung) => rung.id),
        ),
      };
    case 'WalkStarted':
      return walkStarted(state, event.data, event);
    case 'RungCounted':
      return { ...state, creates: { day: event.data.day, count: event.data.count } };
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
      return placed(state, event.data, event.at);
    case 'ObservationJudged':
      return withFacts(state, event.data.instance, event.data.facts);
    case 'BootDeathRecorded': {
      const { rung, day, streak, instance } = event.data;
      return {
        ...state,
        bootDeaths: { ...state.bootDeaths, [rung]: { day, count: streak } },
        countedDeaths: [...state.countedDeaths, instance],
      };
    }
    case 'BootStreakReset':
      return { ...state, bootDeaths: without(state.bootDeaths, event.data.rung) };
    case 'QueueLossRecorded':
      return { ...state, queueLosses: { ...state.queueLosses, [event.data.rung]: event.data.day } };
    case 'AlertRaised':
      return { ...state, alerts: [...state.alerts, `${event.data.alert} ${event.data.subject}`] };
    case 'FailoverPrompted':
      return {
        ...state,
        walk: null,
        move: {
          ...moveOf(event.data.escalation, 'asked'),
          askedAt: event.data.askedAt,
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
          askedAt: state.move?.askedAt ?? null,
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
    case 'ForeignInstanceSeen':
      return { ...state, foreignSeen: [...state.foreignSeen, event.data.instance] };
    case 'LogRewound':
      return { ...state, rewound: event.data.instance };
    case 'RewindReleased':
      return {
        ...state,
        rewound: state.rewound === event.data.instance ? null : state.rewound,
        released: [...state.released, event.data.instance],
      };
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
      return { ...state, poolAccepted: null, poolMoves: [...state.poolMoves, event.data.prompt] };
    case 'ReapAnnounced': {
      const { chain, number } = event.data;
      return withIntents({ ...state, reaps: { ...state.reaps, [chain]: number } }, event);
    }
    case 'IntentClosed':
      return refusedBy(withIntents(state, event), event.data.intent, event.data.why);
    case 'DeliveredPoolDiffers':
      return withIntents({ ...state, walk: null }, event);
    default:
      return withIntents(state, event);
  }
}

function moveOf(escalation: Escalation, is: Move['state']): Move {
  return { escalation, state: is, consent: null, askedAt: null, known: null, refused: null };
}

/** The terminal lane's refusal stays with the move until it is decided what follows from it. */
function refusedBy(state: Placement, id: string, why: DataOfType<'IntentClosed'>['why']): Placement {
  const intent = state.intents.find((one) => one.intent === id);
  const refusal = why === 'missed' || why === 'refused';
  if (state.move === null || !refusal || intent?.entry.kind !== 'terminal') return state;
  return { ...state, move: { ...state.move, refused: intent.ended } };
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
        retries: { day: data.day, count: data.retry ?? 0 },
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

function placed(state: Placement, data: DataOfType<'InstancePlaced'>, at: string): Placement {
  const rung = rungOf(state, data.rung);
  const closed = evolveIntents(state.intents, { type: 'InstancePlaced', data }, state.launch?.version ?? 0);
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
        rung: data.rung,
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

/** Whether anything of ours may bill beside the current instance: then nothing is called missing (failover 12.2). */
export function ownLeftovers(state: Placement): readonly string[] {
  const pods = state.intents.flatMap((intent) => {
    const { instance } = intent;
    if (instance === null || instance === state.current || intent.reaped.includes(instance)) return [];
    return intent.entry.kind === 'terminal' ? [instance] : [];
  });
  return [...new Set([...Object.keys(state.cancelsOwed), ...pods])];
}

/** The candidate list's row: derived, never read back by a rule. */
export function placementRowOf(state: Placement): PlacementRow {
  const instance = currentInstance(state);
  const open = openIntentOf(state);
  const blockedFor = state.verdict?.reason ?? null;
  const busy =
    open !== null ||
    state.walk !== null ||
    state.move?.state === 'decided' ||
    state.poolAccepted !== null ||
    Object.keys(state.cancelsOwed).length > 0;
  return {
    outcome: state.outcome ?? 'unchanged',
    reason: blockedFor,
    lane: instance?.lane ?? null,
    instance: instance?.id ?? null,
    openIntent: open?.intent ?? null,
    needsWorker: busy && state.launch !== null,
    wakeAt: open?.ended?.notBefore ?? null,
    retryAt: retryDueAt(state),
    bills:
      state.outcome === 'placed_primary' ||
      state.outcome === 'running_on_terminal' ||
      ownLeftovers(state).length > 0,
  };
}

/** When the capacity-retry pass may pick it up (failover 7); null = never. Not the daily cap: that is the pass's. */
export function retryDueAt(state: Placement): string | null {
  if (state.outcome !== 'blocked' || state.verdict?.reason !== 'no_compute_available') return null;
  if (state.blockedAt === null || state.launch === null) return null;
  const backoffS = state.launch.plan.limits.capacityRetryBackoffS;
  const newer =
    state.lastRetryAt !== null && state.lastRetryAt > state.blockedAt ? state.lastRetryAt : state.blockedAt;
  return plusSeconds(newer, backoffS);
}
