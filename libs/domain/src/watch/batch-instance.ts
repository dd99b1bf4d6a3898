import { fires, notFired, type WatchRule } from './finding.ts';
import { isInPhase } from './instance-facts.ts';

/** A batch job never fails over: its crash is the owner's, and a job that was stopped is lost (failover 4.2). */
export const batchInstance: WatchRule = (watched) => {
  const { facts, observation } = watched;
  const { provider } = observation;
  const failed = isInPhase(facts, 'failed');
  if (failed && provider === 'running') {
    return fires(
      watched,
      '4.2 failed_machine_up',
      { kind: 'holds' },
      { phase: 'failed', since: facts.failedUpSince },
    );
  }
  if (provider !== 'terminated') return notFired('not_terminated');
  if (failed) {
    return fires(
      watched,
      '4.2 batch_workload_failure',
      { kind: 'blocked', reason: 'workload_failure' },
      { phase: 'failed', workloadStarted: facts.workloadStarted },
    );
  }
  if (!facts.workloadStarted) return notFired('workload_never_started');
  return fires(
    watched,
    '4.2 lost_after_start',
    { kind: 'blocked', reason: 'instance_lost_after_start' },
    { phase: facts.phase, workloadStarted: true },
  );
};
