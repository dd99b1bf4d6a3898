import { randomUUID } from 'node:crypto';
import { appendOne, type BenchRounds } from './append-bench.ts';
import { openBenchLog } from './connections.ts';
import { callersRound, perSecond } from './measure.ts';
import { measuredInTurns, type Ratio } from './ratio.ts';

const WRITERS = 16;

/**
 * Sixteen writers of one stream that expect "any", beside sixteen that write a stream each: none is ever refused.
 * After each round every version of the stream is there.
 */
export async function benchWriters(
  databaseUrl: string,
  { rounds, secondsPerRound, say }: BenchRounds,
): Promise<Ratio> {
  const log = await openBenchLog(databaseUrl);
  const write = (streamOf: () => string) =>
    callersRound(WRITERS, secondsPerRound, () => appendOne(log, streamOf()));
  try {
    return await measuredInTurns({
      what: `${WRITERS} writers of one stream, none refused`,
      besideWhat: 'a stream each',
      target: '0 conflicts',
      unit: '/s',
      rounds,
      say,
      ours: async () => {
        const stream = `bench-${randomUUID()}`;
        const round = await write(() => stream);
        const [last] = await log.readStream(stream, round.done - 1, 2);
        if (last?.streamVersion !== round.done) {
          throw new Error(`acknowledged ${round.done}, the stream ends elsewhere: the figure is void`);
        }
        return perSecond(round);
      },
      beside: async () => perSecond(await write(() => `bench-${randomUUID()}`)),
    });
  } finally {
    await log.close();
  }
}
