import { fires, notFired, type WatchRule } from './finding.ts';
import { isInPhase } from './instance-facts.ts';

/**
 * The workload ran and failed, and its machine has ended (failover 4.5). While the machine is up, and while it
 * cannot be read whether the workload ever began, nothing is made up: the next observation is asked (4.2).
 */
export const workloadCrash: WatchRule = (watched) => {
  const { facts, observation } = watched;
  const { provider, guest } = observation;
  if (!isInPhase(facts, 'failed')) return notFired('phase_not_failed');
  if (provider === 'running') {
    return fires(
      watched,
      '4.2 failed_machine_up',
      { kind: 'holds' },
      { phase: 'failed', since: facts.failedUpSince },
    );
  }
  if (facts.setupFailed) return notFired('workload_never_started');
  if (!facts.workloadStarted) {
    // A machine that is gone cannot be asked again: its loss is judged by what else was seen.
    if (provider !== 'terminated' && guest === null) return notFired('workload_started_unknown');
    return fires(
      watched,
      '4.2 workload_started_unknown',
      { kind: 'holds' },
      { phase: 'failed', workloadStarted: null },
    );
  }
  if (provider !== 'terminated') return notFired('not_terminated');
  return fires(
    watched,
    '4.5 workload_crash',
    { kind: 'escalates', trigger: 'workload_crash', cancel: 'nothing', queueLoss: false },
    { phase: 'failed', workloadStarted: true },
  );
};
