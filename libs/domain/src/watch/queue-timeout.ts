import { fires, notFired, type WatchRule } from './finding.ts';
import { secondsBetween } from './instance-facts.ts';

/** Queued for longer than the limit, counted from the first queued observation of this stretch (failover 4.4). */
export const queueTimeout: WatchRule = (watched) => {
  const { facts, observation, limits } = watched;
  if (observation.provider !== 'queued' || facts.queuedSince === null) return notFired('not_queued');
  const queuedS = secondsBetween(facts.queuedSince, observation.observedAt);
  if (queuedS <= limits.queueWaitS) return notFired('waits_not_long_enough');
  return fires(
    watched,
    '4.4 queue_timeout',
    { kind: 'escalates', trigger: 'queue_timeout', cancel: 'queued', queueLoss: true },
    { queuedSince: facts.queuedSince, queuedS, queueWaitS: limits.queueWaitS },
  );
};
