import type { z } from 'zod';
import type { Escalation } from '#events/intent.events';
import type { LaneKind, Plan, Rung } from '#events/plan';
import type { Miss } from '#events/provision.events';
import type { AlertKind, InstanceFacts, Outcome, Verdict } from '#events/watch.events';
import type { CreateEnd, IntentState } from './intent/intent-state.ts';

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

/** A machine that carries an intent of ours which the log does not know. */
export interface Rewound {
  readonly instance: string;
  readonly lane: string;
  readonly intent: string;
}

/** An alert that was raised and whose subject has not changed since (failover 13). */
export interface OpenAlert {
  readonly alert: AlertKind;
  /** What it is about: an instance, an intent chain, a lane or a day. */
  readonly subject: string;
  /** The lane of its subject, where the alert named one. */
  readonly lane: string | null;
  /** When it was raised last, in domain time. */
  readonly at: string;
  /** The event that raised it last, and the decision version of that event. */
  readonly eventId: string;
  readonly version: number;
}

/** A machine in another pool than was agreed to: it waits for a person (failover 5.8). */
export interface DeliveredPool {
  readonly instance: string;
  readonly lane: string;
  readonly intent: string;
  readonly rung: Rung;
  /** Null = the provider's word could not be read. */
  readonly delivered: string | null;
}

/** Counts by UTC day: a fact of one day says nothing of another, in whatever order they come (failover 5.2). */
export type DayCounts = Readonly<Record<string, number>>;

/** Where one allocation stands: what the rules of failover ask for (failover 1 to 12). */
export interface Placement {
  /** Decisions and facts folded so far. */
  readonly version: number;
  readonly launch: Launch | null;
  readonly outcome: Outcome | null;
  /** The latest decision of this launch. */
  readonly verdict: Verdict | null;
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
  readonly creates: DayCounts;
  readonly retries: DayCounts;
  readonly lastRetryAt: string | null;
  readonly blockedAt: string | null;
  /** UTC day of the rung's newest queue loss. */
  readonly queueLosses: Readonly<Record<string, string>>;
  /** Boot deaths in a row, by rung and day. */
  readonly bootDeaths: Readonly<Record<string, DayCounts>>;
  /** Instances whose boot death was counted: once per provider id. */
  readonly countedDeaths: readonly string[];
  /** Cancels that are owed, with the lane of the instance. */
  readonly cancelsOwed: Readonly<Record<string, string>>;
  readonly cancelled: readonly string[];
  /** Alerts whose subject has not changed since, oldest first (failover 13). */
  readonly alerts: readonly OpenAlert[];
  /** Machines that a complete listing shows no more: they bill nothing (failover 12.2). */
  readonly gone: readonly string[];
  readonly foreignSeen: readonly string[];
  /** The machine that proved a restored backup; null = none does, or a person dealt with it (failover 10.3). */
  readonly rewound: Rewound | null;
  readonly released: readonly string[];
  /** Prompts of the pool question whose move was tried or found impossible. */
  readonly poolMoves: readonly string[];
  /** An accepted pool question, until its move was tried. */
  readonly poolAccepted: { readonly prompt: string; readonly requestDigest: string } | null;
  readonly poolDiffers: DeliveredPool | null;
  /** Digest of the request that the record is about now; null = no attempt was ever reported. */
  readonly request: string | null;
}

/** Before any launch. */
export const NOT_PLACED: Placement = {
  version: 0,
  launch: null,
  outcome: null,
  verdict: null,
  current: null,
  instances: {},
  intents: [],
  reaps: {},
  walk: null,
  move: null,
  stamps: [],
  acceptance: null,
  creates: {},
  retries: {},
  lastRetryAt: null,
  blockedAt: null,
  queueLosses: {},
  bootDeaths: {},
  countedDeaths: [],
  cancelsOwed: {},
  cancelled: [],
  alerts: [],
  gone: [],
  foreignSeen: [],
  rewound: null,
  released: [],
  poolMoves: [],
  poolAccepted: null,
  poolDiffers: null,
  request: null,
};

/** The UTC day of an instant: caps and streaks run on it. */
export function utcDay(at: string): string {
  return at.slice(0, 10);
}

/** So many days are kept: the newest ones that anything was counted on. */
const DAYS_KEPT = 3;

/** The counts with that of one day as a fact says it; an older day takes nothing from a newer one. */
export function countedOn(counts: DayCounts, day: string, count: number): DayCounts {
  const days = Object.entries({ ...counts, [day]: count }).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(days.slice(-DAYS_KEPT));
}

export function createsToday(state: Placement, day: string): number {
  return state.creates[day] ?? 0;
}

export function retriesToday(state: Placement, day: string): number {
  return state.retries[day] ?? 0;
}

export function bootStreak(state: Placement, rung: string, day: string): number {
  return Object.hasOwn(state.bootDeaths, rung) ? (state.bootDeaths[rung]?.[day] ?? 0) : 0;
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

/** Whether an instance is known to bill no more: it ended, or is confirmed absent (failover 12.2). */
export function isGone({ instances, gone }: Placement, instance: string): boolean {
  return gone.includes(instance) || instances[instance]?.facts?.gone === true;
}

/** The lane of a machine of ours; `unknown` where no event of this stream names it. */
export function laneOfMachine({ instances, cancelsOwed, intents }: Placement, instance: string): string {
  const intent = intents.findLast((one) => one.instance === instance);
  return instances[instance]?.lane ?? cancelsOwed[instance] ?? intent?.lane ?? 'unknown';
}

/** What of ours may bill beside the current instance: while there is any, nothing is called missing (failover 12.2). */
export function ownLeftovers(state: Placement): readonly string[] {
  const reaped = new Set(state.intents.flatMap((intent) => intent.reaped));
  const pods = state.intents.flatMap((intent) => {
    const { instance } = intent;
    if (instance === null || instance === state.current || reaped.has(instance)) return [];
    if (isGone(state, instance)) return [];
    // Of a rung only what a person was left with: what was delivered in another pool (failover 5.8).
    return intent.entry.kind === 'terminal' || intent.closed === 'blocked' ? [instance] : [];
  });
  return [...new Set([...Object.keys(state.cancelsOwed), ...pods])];
}
