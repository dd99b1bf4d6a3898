import { fires, notFired, type WatchRule } from './finding.ts';
import { isInPhase } from './instance-facts.ts';

/** Gone, and no better reason is known: the owner may launch again (failover 4.2, 4.7). */
export const plainLoss: WatchRule = (watched) => {
  const { facts, observation } = watched;
  const { provider } = observation;
  if (provider !== 'terminated' && provider !== 'not_found') return notFired('not_ended');
  // Its boot death was counted before it was placed anew under the same id: still the setup that failed.
  const setup = isInPhase(facts, 'failed') && facts.setupFailed;
  return fires(
    watched,
    setup ? '4.7 setup_failure' : '4.7 plain_loss',
    { kind: 'blocked', reason: setup ? 'setup_failure' : 'instance_lost_after_start' },
    {
      phase: facts.phase,
      reachedRunning: facts.reachedRunning,
      workloadStarted: facts.workloadStarted,
      createOperation: observation.createOperation,
      deleteOperation: observation.deleteOperation,
    },
  );
};
