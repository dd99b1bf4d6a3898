import { afterEach } from 'vitest';
import type { Log } from '#domain/log-tables';
import { Bench, type BenchOptions } from './consumer-bench.ts';
import { fresh } from './log-builders.ts';

/**
 * Benches of the calling file; each is stopped after its test. Each has a consumer of its own that begins at the
 * head of now, unless the name of another one is given: then it goes on where that one stands.
 */
export function benches() {
  const made: Bench[] = [];
  afterEach(async () => {
    for (const bench of made.splice(0)) await bench.stop();
  });
  return async (log: Log, options: BenchOptions = {}): Promise<Bench> => {
    const { partitions = 1, consumer = fresh('consumer') } = options;
    const bench = new Bench(log, { ...options, partitions, consumer });
    made.push(bench);
    const { pos } = await log.head();
    for (let index = 0; index < partitions; index += 1) {
      await log.checkpoints.ensure(consumer, { index, count: partitions }, pos);
    }
    return bench;
  };
}
