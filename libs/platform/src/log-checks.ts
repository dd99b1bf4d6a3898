import type { Log } from '#domain/log-tables';
import { type Check, MAX_SINCE_LOG_READ_MS } from './health.ts';

type Health = Pick<Log, 'lastReadAgeMs' | 'takesAppends'>;

/** True while the log is read and takes appends: what an app that records needs of it (design 6). */
export function logServes(log: Health): boolean {
  return logChecks(log).every((check) => check.passes());
}

/** The same in two checks, so that an operator sees which it is: a read-only server is read all the same. */
export function logChecks(log: Health): readonly (Check & { passes(): boolean })[] {
  return [
    { name: 'log', passes: () => log.lastReadAgeMs() <= MAX_SINCE_LOG_READ_MS },
    { name: 'append', passes: () => log.takesAppends() },
  ];
}
