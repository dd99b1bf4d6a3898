import type { InstanceFacts } from '#events/watch.events';
import { type Finding, fires, notFired, type Watched, type WatchRule } from './finding.ts';
import { ageS, isInPhase, secondsBetween } from './instance-facts.ts';

/**
 * The machine hangs (failover 4.6): the guest's own watchdog ended it, or it stands still and cannot be reached,
 * or it can be reached and is silent long after its time. One alarm never spends money.
 */
export const infraWedge: WatchRule = (watched) => {
  const { observation, facts } = watched;
  if (observation.provider === 'terminated') return watchdog(watched);
  if (observation.provider !== 'running') return notFired('not_running');
  // A guest that failed on a machine that is up is the owner's code: it waits for the end of the machine (4.2).
  if (isInPhase(facts, 'failed')) return notFired('phase_failed');
  if (facts.transportAlarms !== null) return stalled(watched, 'transport', facts.transportAlarms);
  if (facts.silentLogs !== null) return stalled(watched, 'reachable', facts.silentLogs);
  return notFired('no_alarm');
};

const watchdog: WatchRule = (watched) => {
  if (!isInPhase(watched.facts, 'wedged')) return notFired('not_wedged');
  return fires(watched, '4.6 infra_wedge watchdog', wedge('nothing'), { arm: 'watchdog', phase: 'wedged' });
};

function stalled(
  watched: Watched,
  arm: 'transport' | 'reachable',
  streak: NonNullable<InstanceFacts['silentLogs']>,
): Finding {
  const { facts, observation, limits, instance, launch } = watched;
  const { observedAt, logAgeS } = observation;
  const frozenS = secondsBetween(facts.phaseSince ?? observedAt, observedAt);
  const spanS = secondsBetween(streak.since, observedAt);
  if (frozenS <= limits.wedgeStaleS) return notFired('phase_not_frozen');
  if (streak.count < limits.wedgeObservations) return notFired('too_few_alarms');
  if (spanS < limits.wedgeSpanS) return notFired('alarms_too_close');
  const silence =
    arm === 'transport'
      ? {}
      : {
          logAgeS,
          wedgeLogAgeS: limits.wedgeLogAgeS,
          ageS: ageS(instance, observation),
          budgetS: launch.plan.budgetS,
          wedgeBudgetFactor: limits.wedgeBudgetFactor,
        };
  return fires(watched, `4.6 infra_wedge ${arm}`, wedge('running'), {
    arm,
    phase: facts.phase,
    phaseSince: facts.phaseSince,
    frozenS,
    wedgeStaleS: limits.wedgeStaleS,
    alarms: streak.count,
    wedgeObservations: limits.wedgeObservations,
    alarmsSince: streak.since,
    spanS,
    wedgeSpanS: limits.wedgeSpanS,
    ...silence,
  });
}

function wedge(cancel: 'nothing' | 'running') {
  return { kind: 'escalates', trigger: 'infra_wedge', cancel, queueLoss: false } as const;
}
