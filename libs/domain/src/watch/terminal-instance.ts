import { fires, notFired, type WatchRule } from './finding.ts';
import { isInPhase } from './instance-facts.ts';

/**
 * The last resort failed too: blocked, never a second purchase (failover 4.2, 8.4). A pod whose workload failed
 * is kept for a person, whatever is known of its start.
 */
export const terminalInstance: WatchRule = (watched) => {
  const { facts, observation } = watched;
  const { provider } = observation;
  if (provider !== 'not_found' && isInPhase(facts, 'failed')) {
    return fires(
      watched,
      '8.4 terminal_workload_failure',
      { kind: 'blocked', reason: 'workload_failure', keepsPod: true },
      { phase: 'failed', workloadStarted: observation.guest?.workloadStarted ?? null },
    );
  }
  if (provider !== 'not_found' && provider !== 'terminated') return notFired('not_ended');
  return fires(
    watched,
    '4.2 terminal_lost',
    { kind: 'blocked', reason: 'instance_lost_after_start' },
    { phase: facts.phase, deleteOperation: observation.deleteOperation },
  );
};
