import { describe, expect, test } from 'vitest';
import type { Log } from '#domain/log-tables';
import type { RecordedEvent } from '#events/envelope';
import { benches } from '#support/benches';
import { decideBeside, decisionOn, orderOf, type Plan, report } from '#support/consumer-bench';
import { command, event, fresh } from '#support/log-builders';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import type { ConsumerLog } from './consumer-log.ts';

/** As another worker of the same partition does it. */
async function decideAll(log: Log, consumer: string, rows: readonly RecordedEvent[]): Promise<void> {
  for (const row of rows) {
    const from = (await log.checkpoints.read(consumer, 0))?.pos ?? 0;
    const version = (await log.decisionVersion(row.stream)) ?? 0;
    const checkpoint = { consumer, partition: 0, from, to: row.pos, hash: row.hash };
    await log.append([{ ...decisionOn(row, version), checkpoint }]);
  }
}

export function consumerOrderContract(current: () => ConsumerLog): void {
  const bench = benches();

  describe('order and effects', () => {
    test('decides the inputs of each stream in their order, once, in every partition', async () => {
      const { log } = current();
      const streams = Array.from({ length: 6 }, () => fresh('stream'));
      const given = await bench(log, { partitions: 3 });
      await Promise.all(streams.map((stream) => report(log, stream, 6)));
      await given.start();
      await Promise.all(streams.map((stream) => report(log, stream, 6)));
      await given.caughtUp();
      for (const stream of streams) {
        const { inputs, decided } = await orderOf(log, stream);
        expect(inputs).toHaveLength(12);
        expect(decided).toEqual(inputs);
      }
    });

    test('decides again where somebody else decided in the middle of a batch', async () => {
      const { log } = current();
      const [raced, calm] = [fresh('raced'), fresh('calm')];
      const given = await bench(log, {
        plan: async (row, calls): Promise<Plan> => {
          if (row.stream === raced && calls === 1 && given.callsOf(raced) === 3)
            await decideBeside(log, raced);
          return 'decide';
        },
      });
      await report(log, calm, 8);
      for (let round = 0; round < 4; round += 1) {
        await report(log, raced);
        await report(log, calm);
      }
      await given.start();
      await given.caughtUp();
      for (const stream of [raced, calm]) {
        const { inputs, decided } = await orderOf(log, stream);
        expect(decided).toEqual(inputs);
      }
      expect(given.callsOf(raced)).toBeGreaterThan(4);
      expect(given.kinds()).toEqual([]);
    });

    test('decides nothing twice after its checkpoint was set back', async () => {
      const { log, setBack } = current();
      const stream = fresh('stream');
      const first = await bench(log);
      const start = await first.stored();
      await report(log, stream, 12);
      await first.start();
      await first.caughtUp();
      await first.stop();

      await setBack(first.name, 0, start);
      const second = await bench(log, { consumer: first.name });
      await second.start();
      await second.caughtUp();
      const { inputs, decided } = await orderOf(log, stream);
      expect(second.callsOf(stream)).toBe(12);
      expect(decided).toEqual(inputs);
    });

    test('begins again at the stored checkpoint when another worker has moved it', async () => {
      const { log } = current();
      const stream = fresh('stream');
      let rows: readonly RecordedEvent[] = [];
      const given = await bench(log, {
        plan: async (row): Promise<Plan> => {
          // Meanwhile another owner decides the first four.
          if (given.calls.length === 4) await decideAll(log, given.name, rows.slice(0, 4));
          return row.stream === stream ? 'decide' : 'nothing';
        },
      });
      rows = await report(log, stream, 8);
      await given.start();
      await given.caughtUp();
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
      expect(given.kinds()).toEqual(['retrying']);
    });

    test('moves its checkpoint over events that change nothing', async () => {
      const { log } = current();
      const stream = fresh('stream');
      const given = await bench(log, { plan: () => 'nothing' });
      await given.start();
      await report(log, stream, 3);
      await log.append([command({ stream, events: [event('OfNoConcern')] })]);
      const { pos } = await log.head();
      await waitUntil('the checkpoint is at the head', 10_000, async () => (await given.stored()) === pos);
      expect(given.callsOf(stream)).toBe(3);
    });

    test('gives its partitions back at the end, and the next process goes on at once', async () => {
      const { log } = current();
      const stream = fresh('stream');
      const first = await bench(log, { partitions: 2 });
      await first.start();
      await report(log, stream, 3);
      await first.caughtUp();
      await first.stop();

      await report(log, stream, 3);
      const second = await bench(log, { partitions: 2, consumer: first.name });
      await second.start();
      expect(second.consumer.ownedPartitions).toEqual([0, 1]);
      await second.caughtUp();
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
      expect(second.callsOf(stream)).toBe(3);
    });

    test('a partition has one owner at a time', async () => {
      const { log } = current();
      const stream = fresh('stream');
      const first = await bench(log, { partitions: 2 });
      const second = await bench(log, { partitions: 2, consumer: first.name });
      await first.start();
      await second.start();
      await report(log, stream, 6);
      await first.caughtUp();
      expect(second.consumer.ownedPartitions).toEqual([]);
      expect(second.callsOf(stream)).toBe(0);
    });
  });
}
