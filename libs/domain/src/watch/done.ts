import { fires, notFired, type WatchRule } from './finding.ts';

/** The workload ended well, or badly with every output verified: never a crash (failover 4.2). */
export const done: WatchRule = (watched) => {
  const phase = watched.observation.guest?.phase;
  if (phase !== 'done' && phase !== 'done_unclean') return notFired('not_done');
  return fires(watched, '4.2 done', { kind: 'done' }, { phase });
};
