import { fires, notFired, type WatchRule } from './finding.ts';

/** Somebody else deleted it, whether or not it ran: neither a failover nor a boot death (failover 4.2). */
export const deletedExternally: WatchRule = (watched) => {
  const { provider, deleteOperation } = watched.observation;
  if (provider !== 'not_found') return notFired('not_missing');
  if (deleteOperation !== 'present') return notFired('no_delete_operation');
  return fires(
    watched,
    '4.2 deleted_externally',
    { kind: 'blocked', reason: 'instance_deleted_externally' },
    { deleteOperation, reachedRunning: watched.facts.reachedRunning },
  );
};
