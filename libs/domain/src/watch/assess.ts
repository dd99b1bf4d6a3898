import type { Evidence, InstanceFacts, Observation } from '#events/watch.events';
import { notWatched } from '../intent/failover-once.ts';
import type { Launch, PlacedInstance, Placement } from '../placement.ts';
import { batchInstance } from './batch-instance.ts';
import { bootDeath, endsBootStreak } from './boot-death.ts';
import { deletedExternally } from './deleted-externally.ts';
import { done } from './done.ts';
import { failedCreate } from './failed-create.ts';
import type { Consequence, Finding, Watched, WatchRule } from './finding.ts';
import { infraWedge } from './infra-wedge.ts';
import { observed } from './instance-facts.ts';
import { plainLoss } from './plain-loss.ts';
import { queueTimeout } from './queue-timeout.ts';
import { queueVanish } from './queue-vanish.ts';
import { terminalInstance } from './terminal-instance.ts';
import { workloadCrash } from './workload-crash.ts';

/** What one observation shows, before consent is asked about it. */
export interface Assessment {
  /** The section's rule and arm that decided, or why none was asked. */
  readonly rule: string;
  readonly evidence: Evidence;
  /** Rules that did not fire, each with the first condition that failed. */
  readonly notFired: readonly string[];
  readonly follows: Consequence | { readonly kind: 'voids' };
  readonly bootDeath: { readonly rung: string; readonly day: string; readonly streak: number } | null;
  /** The rung's streak of boot deaths ends. */
  readonly endsStreak: boolean;
  /** Whether the rules looked at it: then its alarms count. */
  readonly counts: boolean;
  /** The facts after it; null for an instance that this allocation does not know. */
  readonly facts: InstanceFacts | null;
  /** Null where nothing may follow from it but its facts. */
  readonly watched: Watched | null;
}

type Order = readonly (readonly [string, WatchRule])[];

/** The order of 4.1. The first rule that decides ends it. */
const ORDER: Readonly<Record<PlacedInstance['kind'], Order>> = {
  primary: [
    ['done', done],
    ['failed_create', failedCreate],
    ['infra_wedge', infraWedge],
    ['queue_timeout', queueTimeout],
    ['deleted_externally', deletedExternally],
    ['queue_vanish', queueVanish],
    ['workload_crash', workloadCrash],
    ['boot_death', bootDeath],
    ['plain_loss', plainLoss],
  ],
  batch: [
    ['done', done],
    ['failed_create', failedCreate],
    ['deleted_externally', deletedExternally],
    ['batch_instance', batchInstance],
  ],
  terminal: [
    ['done', done],
    ['deleted_externally', deletedExternally],
    ['terminal_instance', terminalInstance],
  ],
};

/** Judges an observation on the state that it meets (failover 3, 4.1, 4.2, 10.5, 14). */
export function assess(state: Placement, observation: Observation, mark: string | null): Assessment {
  const { launch } = state;
  const instance = instanceOf(state, observation);
  if (instance === null || launch === null) return nothing('10.5 unknown_instance', null);
  if (instance.id !== state.current) return nothing('10.5 not_current', instance.facts);

  const before = instance.facts;
  const newest = newestOf(before, mark);
  const facts = observed(before, instance, observation, newest, termsOf(state, launch, instance));
  if (newest !== null && observation.observedAt <= newest) {
    const why = observation.observedAt === newest ? '3.6 repeat' : '3.6 late';
    return { ...nothing(why, facts), evidence: { instance: instance.id, newest } };
  }
  if (observation.provider === 'probe_error') return nothing('3.3 probe_error', facts);

  const { limits } = launch.plan;
  const watched: Watched = { state, launch, instance, before, facts, observation, limits };
  const out = notWatched(state, instance.id);
  return out === null ? asked(watched) : asideOf(watched, out);
}

/** The newest observation that is known of an instance: of mark and facts the newer one (failover 3.8). */
export function newestOf(facts: InstanceFacts | null, mark: string | null): string | null {
  if (facts === null) return mark;
  return mark !== null && mark > facts.newest ? mark : facts.newest;
}

/** The same id on another lane is another machine. */
function instanceOf(state: Placement, { instance, lane }: Observation): PlacedInstance | null {
  const known = Object.hasOwn(state.instances, instance) ? (state.instances[instance] ?? null) : null;
  return known?.lane === lane ? known : null;
}

function termsOf({ move }: Placement, { plan }: Launch, instance: PlacedInstance) {
  const isAsked = move?.state === 'asked' && move.escalation.failedInstance === instance.id;
  return {
    limits: plan.limits,
    budgetS: plan.budgetS,
    askedAfter: isAsked ? (move.known?.newest ?? null) : null,
  };
}

function asked(watched: Watched): Assessment {
  const notFired: string[] = [];
  for (const [name, rule] of ORDER[watched.instance.kind]) {
    const finding = rule(watched);
    if (finding.fires) return found(watched, finding, notFired);
    notFired.push(`${name}:${finding.why}`);
  }
  return {
    ...nothing('4.1 no_rule', watched.facts),
    notFired,
    watched,
    counts: true,
    endsStreak: endsStreak(watched, null),
  };
}

function found(
  watched: Watched,
  finding: Extract<Finding, { fires: true }>,
  notFired: readonly string[],
): Assessment {
  return {
    rule: finding.rule,
    evidence: finding.evidence,
    notFired,
    follows: finding.follows,
    bootDeath: finding.bootDeath ?? null,
    endsStreak: endsStreak(watched, finding),
    counts: true,
    facts: watched.facts,
    watched,
  };
}

function endsStreak(watched: Watched, finding: Finding | null): boolean {
  const { kind, rung } = watched.instance;
  if (kind !== 'primary' || rung === null || !Object.hasOwn(watched.state.bootDeaths, rung)) return false;
  return endsBootStreak(watched, finding);
}

/**
 * The instance stands under a question, a move or a block. What it did in the end is still taken: a workload
 * that ended well is done, and one that is reachable again keeps its machine while the move waits for its cancel
 * (failover 14).
 */
function asideOf(watched: Watched, why: string): Assessment {
  const { state, instance, facts } = watched;
  const none = { ...nothing(ruleOf(why), facts), evidence: { instance: instance.id }, watched };
  const held = isHeld(state, instance.id);
  const isAsked = why === 'move_asked' && state.move?.escalation.failedInstance === instance.id;
  if (held || isAsked || why === 'allocation_blocked') {
    const finding = done(watched);
    if (finding.fires) return found(watched, finding, []);
  }
  if (!held || !isClean(watched)) return none;
  return { ...none, rule: '14 reachable_again', follows: { kind: 'voids' } };
}

function ruleOf(why: string): string {
  switch (why) {
    case 'move_asked':
      return '4.8 awaiting_consent';
    case 'move_decided':
      return '8.1 move_decided';
    default:
      return `4.1 ${why}`;
  }
}

/** A decided move that waits for the cancel of a machine that may still do the work (failover 12.1). */
function isHeld({ move, cancelsOwed }: Placement, instance: string): boolean {
  return (
    move?.state === 'decided' &&
    move.escalation.cancel === 'running' &&
    move.escalation.failedInstance === instance &&
    Object.hasOwn(cancelsOwed, instance)
  );
}

/** Positively well again: what the move was decided on is over. */
function isClean({ observation, facts, before, limits, state }: Watched): boolean {
  if (observation.provider !== 'running' || observation.alarm !== 'none') return false;
  if (state.move?.escalation.evidence.arm !== 'reachable') return true;
  const speaks = observation.logAgeS !== null && observation.logAgeS <= limits.wedgeLogAgeS;
  return speaks || facts.phase !== before?.phase;
}

function nothing(rule: string, facts: InstanceFacts | null): Assessment {
  return {
    rule,
    evidence: {},
    notFired: [],
    follows: { kind: 'holds' },
    bootDeath: null,
    endsStreak: false,
    counts: false,
    facts,
    watched: null,
  };
}
