import { type Finding, fires, notFired, type Watched, type WatchRule } from './finding.ts';
import { ageS, secondsBetween } from './instance-facts.ts';

/**
 * An instance that went from the queue without having run: the pool had no room for it (failover 4.3). The first
 * confirmed absence is enough. What has run once never vanishes this way, however young it is.
 */
export const queueVanish: WatchRule = (watched) => {
  const { instance, facts, observation } = watched;
  if (observation.provider !== 'not_found') return notFired('not_missing');
  if (observation.createOperation !== 'done') return notFired('create_not_done');
  if (!instance.queues) return notFired('no_queueing_pool');
  if (facts.reachedRunning) return notFired('reached_running');
  switch (observation.deleteOperation) {
    case 'present':
      return notFired('deleted');
    case 'none':
      return facts.seenQueued || facts.seenProvisioning ? vanished(watched, 'seen') : neverSeen(watched);
    case 'unknown':
      return facts.seenQueued ? vanished(watched, 'seen') : undecided(watched);
  }
};

function neverSeen(watched: Watched): Finding {
  const age = ageS(watched.instance, watched.observation);
  if (age === null) return notFired('creation_time_unknown');
  if (age >= watched.limits.vanishMaxAgeS) return notFired('too_old');
  return vanished(watched, 'never_seen');
}

/** Never seen in the queue, and who deleted it cannot be read: no spending on that; asked again while it is young. */
function undecided(watched: Watched): Finding {
  const { instance, observation, limits } = watched;
  const sinceCreateS = secondsBetween(instance.createdAt ?? instance.placedAt, observation.observedAt);
  if (sinceCreateS >= limits.vanishMaxAgeS) return notFired('delete_operation_unknown');
  return fires(
    watched,
    '4.3 delete_operation_unknown',
    { kind: 'holds' },
    { deleteOperation: 'unknown', seenQueued: false, sinceCreateS, vanishMaxAgeS: limits.vanishMaxAgeS },
  );
}

function vanished(watched: Watched, arm: 'seen' | 'never_seen'): Finding {
  const { instance, before, facts, observation, limits } = watched;
  return fires(
    watched,
    `4.3 queue_vanish ${arm}`,
    { kind: 'escalates', trigger: 'queue_vanish', cancel: 'nothing', queueLoss: true },
    {
      arm,
      lastPhase: before?.phase ?? null,
      pool: instance.pool,
      seenQueued: facts.seenQueued,
      seenProvisioning: facts.seenProvisioning,
      reachedRunning: false,
      createOperation: observation.createOperation,
      deleteOperation: observation.deleteOperation,
      ...(arm === 'never_seen'
        ? {
            createdAt: instance.createdAt,
            ageS: ageS(instance, observation),
            vanishMaxAgeS: limits.vanishMaxAgeS,
          }
        : {}),
    },
  );
}
