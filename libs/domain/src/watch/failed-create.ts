import { fires, notFired, type WatchRule } from './finding.ts';
import { secondsBetween } from './instance-facts.ts';

/**
 * A create that failed in the end misses its rung; an absence while the create may still land proves nothing
 * (failover 4.2). With an unknown create it does so until the instance is too old to land any more (failover 14).
 */
export const failedCreate: WatchRule = (watched) => {
  const { createOperation } = watched.observation;
  if (createOperation === 'done') return notFired('create_done');
  return createOperation === 'failed' ? missed(watched) : open(watched);
};

const missed: WatchRule = (watched) => {
  const { instance, facts, observation, state } = watched;
  if (instance.rung === null) return notFired('no_rung');
  // It ran: whatever the operation says, a second machine beside it would do the work twice.
  if (facts.reachedRunning) return notFired('reached_running');
  const error = observation.createError ?? { kind: 'unavailable', code: null, failureDigest: null };
  const entry = state.intents.find(({ intent }) => intent === instance.intent)?.entry;
  const zone = entry?.kind === 'rung' ? entry.zone : null;
  const miss = { rung: instance.rung, zone, ...error };
  return fires(
    watched,
    '4.2 create_failed',
    { kind: 'create_failed', rung: instance.rung, miss },
    { createOperation: 'failed', refusal: error.kind, code: error.code, text: error.failureDigest },
  );
};

const open: WatchRule = (watched) => {
  const { instance, observation, limits } = watched;
  const { provider, createOperation, observedAt } = observation;
  if (provider !== 'not_found') return notFired('not_missing');
  const sinceCreateS = secondsBetween(instance.createdAt ?? instance.placedAt, observedAt);
  if (createOperation === 'unknown' && sinceCreateS >= limits.vanishMaxAgeS)
    return notFired('create_too_old');
  return fires(
    watched,
    '4.2 create_open',
    { kind: 'holds' },
    { createOperation, sinceCreateS, vanishMaxAgeS: limits.vanishMaxAgeS },
  );
};
