import type { BlockedReason } from '#events/intent.events';
import { bootStreak, utcDay } from '../placement.ts';
import { type Finding, fires, notFired, type Watched, type WatchRule } from './finding.ts';
import { ageS, isInPhase } from './instance-facts.ts';

/**
 * An instance that died before its workload began, and the second such death in a row on one rung in one UTC day
 * (failover 4.7). Counted once per provider id.
 */
export const bootDeath: WatchRule = (watched) => {
  const { state, instance, facts, observation, limits } = watched;
  const kind = deathOf(watched);
  if (!kind.dead) return notFired(kind.why);
  const { rung } = instance;
  if (rung === null) return notFired('no_rung');
  if (state.countedDeaths.includes(instance.id)) return notFired('counted_already');

  const day = utcDay(observation.observedAt);
  const streak = bootStreak(state, rung, day) + 1;
  const evidence = {
    streak,
    bootDeaths: limits.bootDeaths,
    day,
    phase: facts.phase,
    workloadStarted: false,
    ageS: ageS(instance, observation),
    ...(kind.setup ? {} : { bootDeathMaxAgeS: limits.bootDeathMaxAgeS }),
  };
  const finding =
    streak >= limits.bootDeaths
      ? fires(watched, '4.7 boot_loop', BOOT_LOOP, evidence)
      : fires(watched, `4.7 ${kind.setup ? 'setup_failure' : 'boot_death'}`, alone(kind.setup), evidence);
  return { ...finding, bootDeath: { rung, day, streak } };
};

const BOOT_LOOP = { kind: 'escalates', trigger: 'boot_loop', cancel: 'nothing', queueLoss: false } as const;

function alone(setup: boolean): { readonly kind: 'blocked'; readonly reason: BlockedReason } {
  return { kind: 'blocked', reason: setup ? 'setup_failure' : 'instance_lost_after_start' };
}

type Death =
  | { readonly dead: true; readonly setup: boolean }
  | { readonly dead: false; readonly why: string };

function deathOf({ instance, facts, observation, limits }: Watched): Death {
  const { provider } = observation;
  if (provider !== 'terminated' && provider !== 'not_found') return alive('not_ended');
  // Gone from a queue before it ran: the pool's doing, not the machine's.
  if (provider === 'not_found' && instance.queues && !facts.reachedRunning) return alive('queue_loss');
  if (isInPhase(facts, 'failed')) {
    return facts.setupFailed ? { dead: true, setup: true } : alive('workload_started_or_unknown');
  }
  // Who finalizes has worked, also where the flag could never be read.
  const worked = isInPhase(facts, 'workload') || isInPhase(facts, 'finalizing');
  if (facts.workloadStarted || worked) return alive('workload_started');
  const age = ageS(instance, observation);
  if (age === null) return alive('creation_time_unknown');
  if (age >= limits.bootDeathMaxAgeS) return alive('too_old');
  return { dead: true, setup: false };
}

function alive(why: string): Death {
  return { dead: false, why };
}

/** A positive sign of a workload that really runs or ran: the streak of its rung ends (failover 4.7). */
export function endsBootStreak(watched: Watched, finding: Finding | null): boolean {
  const { observation } = watched;
  if (observation.provider === 'running' && observation.guest?.phase === 'workload') return true;
  if (finding === null || !finding.fires) return false;
  const { follows } = finding;
  return follows.kind === 'done' || (follows.kind === 'escalates' && follows.trigger === 'workload_crash');
}
