import { describe, expect, test } from 'vitest';
import { LogUnavailable } from '#domain/log';
import type { Log } from '#domain/log-tables';
import { Halted } from '#messaging/handler-failure';
import { benches } from '#support/benches';
import { decisionOn, orderOf, report, withMembers } from '#support/consumer-bench';
import { fresh } from '#support/log-builders';
import { waitUntil } from '../../tools/up/infra/chain.ts';

const POISON = new Error('cannot be handled');
/** More events than are taken one by one after a start. */
const MANY = 12;

export function consumerFailuresContract(current: () => Log): void {
  const bench = benches();

  /** A consumer that has parked `poisoned`, while `healthy` flowed. */
  async function parkedBench(plan: { current: 'fail' | 'hang' | 'decide' }) {
    const log = current();
    const [poisoned, healthy] = [fresh('poisoned'), fresh('healthy')];
    const given = await bench(log, {
      bounds: { handlerDeadlineMs: 300 },
      plan: ({ stream }) => {
        if (stream !== poisoned || plan.current === 'decide') return 'decide';
        return plan.current === 'fail' ? POISON : 'hang';
      },
    });
    await report(log, healthy, MANY);
    const rows = await report(log, poisoned, 3);
    await report(log, healthy, 3);
    await given.start();
    await given.caughtUp();
    return { log, given, poisoned, healthy, firstPos: rows[0]?.pos };
  }

  describe('failures', () => {
    test('pitfall 18: poison is parked after its tries, others flow, its lag is visible, requeue works', async () => {
      const plan = { current: 'fail' as 'fail' | 'decide' };
      const { log, given, poisoned, healthy, firstPos } = await parkedBench(plan);
      const flowed = await orderOf(log, healthy);
      expect(flowed.decided).toEqual(flowed.inputs);
      expect(given.callsOf(poisoned)).toBe(3);
      expect(await log.parked.find(given.name, poisoned)).toMatchObject({
        firstPos,
        tries: 3,
        reason: 'poison',
        state: 'parked',
      });
      expect((await orderOf(log, poisoned)).decided).toEqual([]);

      plan.current = 'decide';
      await log.parked.mark(given.name, poisoned, 'requeued');
      await given.reported('requeue_done');
      await report(log, poisoned);
      await given.caughtUp();
      const { inputs, decided } = await orderOf(log, poisoned);
      expect(inputs).toHaveLength(4);
      expect(decided).toEqual(inputs);
      expect(await log.parked.find(given.name, poisoned)).toBeNull();
    });

    test('what fails again after a requeue is parked again, and nothing is lost', async () => {
      const plan = { current: 'fail' as 'fail' | 'decide' };
      const { log, given, poisoned, firstPos } = await parkedBench(plan);
      await log.parked.mark(given.name, poisoned, 'requeued');
      await waitUntil('it was tried again', 10_000, () => given.callsOf(poisoned) > 3);
      await waitUntil('it is parked again', 10_000, async () => {
        return (await log.parked.find(given.name, poisoned))?.state === 'parked';
      });
      expect(await log.parked.find(given.name, poisoned)).toMatchObject({ firstPos });
    });

    test('skip goes on behind the event that failed', async () => {
      const plan = { current: 'fail' as 'fail' | 'decide' };
      const { log, given, poisoned } = await parkedBench(plan);
      plan.current = 'decide';
      await log.parked.mark(given.name, poisoned, 'skipped');
      await given.reported('requeue_done');
      const { inputs, decided } = await orderOf(log, poisoned);
      expect(decided).toEqual(inputs.slice(1));
    });

    test('pitfall 21: a handler that hangs is given up at its deadline, parked, and others flow', async () => {
      const { log, given, poisoned, healthy } = await parkedBench({ current: 'hang' });
      const flowed = await orderOf(log, healthy);
      expect(flowed.decided).toEqual(flowed.inputs);
      expect(await log.parked.find(given.name, poisoned)).toMatchObject({ reason: 'deadline', tries: 3 });
    });

    test('pitfall 21: one that hangs when it is requeued holds nobody up', async () => {
      const { log, given, poisoned, healthy } = await parkedBench({ current: 'hang' });
      await log.parked.mark(given.name, poisoned, 'requeued');
      await waitUntil('it was tried again', 10_000, () => given.callsOf(poisoned) > 3);
      await report(log, healthy, 2);
      await given.caughtUp();
      const flowed = await orderOf(log, healthy);
      expect(flowed.decided).toEqual(flowed.inputs);
      expect(await log.parked.find(given.name, poisoned)).toMatchObject({
        reason: 'deadline',
        state: 'parked',
      });
    });

    test('pitfall 27: what a newer version wrote halts the partition, is not skipped or parked, and resumes', async () => {
      const log = current();
      const stream = fresh('stream');
      const older = await bench(log, {
        plan: (row) => (older.callsOf(stream) >= 4 ? new Halted(row.pos, 'newer_version') : 'decide'),
      });
      await report(log, stream, 6);
      await older.start();
      // Far more rounds than an event at fault would be given.
      await waitUntil('it was looked at again and again', 10_000, () => older.callsOf(stream) > 15);
      expect(older.consumer.halted).toBe(true);
      expect(older.consumer.lagMs()).toBeGreaterThan(0);
      expect(await log.parked.find(older.name, stream)).toBeNull();
      expect((await orderOf(log, stream)).decided).toHaveLength(3);
      await older.stop();

      const upgraded = await bench(log, { consumer: older.name });
      await upgraded.start();
      await upgraded.caughtUp();
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
      expect(upgraded.consumer.halted).toBe(false);
    });

    test('a checkpoint of which the log knows nothing halts the partition: nothing is passed over unseen', async () => {
      const log = current();
      const stream = fresh('stream');
      const name = fresh('restored');
      const ahead = (await log.head()).pos + 1_000;
      const checkpoints: Log['checkpoints'] = {
        read: (...place) => log.checkpoints.read(...place),
        all: () => log.checkpoints.all(),
        lowest: () => log.checkpoints.lowest(),
        ensure: async (...place) => ({
          ...(await log.checkpoints.ensure(...place)),
          pos: ahead,
          hash: 'f'.repeat(64),
        }),
      };
      const restored = withMembers(log, { checkpoints });
      const halting = await bench(restored, { consumer: name });
      await report(log, stream, 3);
      await halting.start();
      await halting.reported('halted');
      expect(halting.consumer.halted).toBe(true);
      expect((await orderOf(log, stream)).decided).toEqual([]);
      await halting.stop();

      const mended = await bench(log, { consumer: name });
      await mended.start();
      await mended.caughtUp();
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
    });

    test('an outage is held against nobody, however long it lasts', async () => {
      const log = current();
      const stream = fresh('stream');
      const given = await bench(log, {
        plan: () => (given.calls.length <= 12 ? new LogUnavailable('away') : 'decide'),
      });
      await report(log, stream, 2);
      await given.start();
      await given.caughtUp();
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
      expect(await log.parked.find(given.name, stream)).toBeNull();
    });

    test('tries are counted over the workers that had them', async () => {
      const log = current();
      const stream = fresh('stream');
      const first = await bench(log, {
        plan: () => POISON,
        bounds: { retryMinMs: 60_000, retryMaxMs: 60_000 },
      });
      await report(log, stream);
      await first.start();
      await first.reported('retrying');
      await first.stop();

      const second = await bench(log, { consumer: first.name, plan: () => POISON });
      await second.start();
      await second.caughtUp();
      expect(first.callsOf(stream) + second.callsOf(stream)).toBe(3);
      expect(await log.parked.find(first.name, stream)).toMatchObject({ tries: 3 });
    });

    test('a command whose id means something else already is parked, not dropped', async () => {
      const log = current();
      const stream = fresh('stream');
      const given = await bench(log);
      const [row] = await report(log, stream);
      if (row === undefined) throw new Error('nothing was reported');
      await log.append([{ ...decisionOn(row, 0), digest: 'of something else' }]);
      await given.start();
      await given.reported('parked');
      expect(await log.parked.find(given.name, stream)).toMatchObject({ firstPos: row.pos });
    });
  });
}
