import { argv, kill, pid, stdout } from 'node:process';
import type { Log } from '#domain/log-tables';
import { PostgresLog } from '#event-log/postgres-log';
import { Bench, withMembers } from '#support/consumer-bench';

/**
 * A consumer as a process of its own, to be killed or stopped from outside, or to end itself where the test says:
 * `consumer-worker.js DATABASE_URL CONSUMER PARTITIONS [BEHAVIOUR]`.
 */
const [, , url = '', consumer = '', partitions = '1', behaviour = 'plain'] = argv;

/** A stream whose name begins so ends the process whenever one of its events is handled. */
const DEADLY = 'deadly';

const log = await PostgresLog.open({ url, applicationName: 'consumer-worker', now: () => performance.now() });

/** Committed, and gone before anything that follows from it. */
const endsAfterCommit: Partial<Log> = {
  append: async (commands) => {
    const results = await log.append(commands);
    if (commands.some(({ events }) => events.length > 0)) await end();
    return results;
  },
};

const bench = new Bench(behaviour === 'end-after-commit' ? withMembers(log, endsAfterCommit) : log, {
  consumer,
  partitions: Number(partitions),
  plan: ({ stream }) => (stream.startsWith(DEADLY) ? end() : 'decide'),
});
await bench.start();
stdout.write('started\n');

function end(): Promise<never> {
  kill(pid, 'SIGKILL');
  return new Promise(() => undefined);
}
