import { describe, expect, test } from 'vitest';
import type { Log } from '#domain/log-tables';
import type { RecordedEvent } from '#events/envelope';
import { benches } from '#support/benches';
import { INPUT_TYPE, orderOf, report, ScriptedFeed, withMembers } from '#support/consumer-bench';
import { command, event, fresh } from '#support/log-builders';
import { waitUntil } from '../../tools/up/infra/chain.ts';

export function consumerBusContract(current: () => Log): void {
  const bench = benches();

  describe('the bus beside the log', () => {
    test('gaps, repeats and reordering on the bus change nothing, and all is acknowledged', async () => {
      const log = current();
      const feed = new ScriptedFeed();
      const stream = fresh('stream');
      const given = await bench(log, { feed });
      await given.start();
      const rows = [...(await report(log, stream, 20))];
      // Every third is missing, the others come twice and backwards.
      const sent = rows.filter((_, index) => index % 3 !== 0).reverse();
      for (const row of [...sent, ...sent]) feed.deliver(row, row.pos - 1);
      await given.caughtUp();
      for (const row of sent) feed.deliver(row, row.pos - 1);
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
      await waitUntil('all is acknowledged', 10_000, () =>
        sent.every(({ pos }) => feed.acked.filter((acked) => acked === pos).length >= 3),
      );
      expect(given.foreign()).toEqual([]);
    });

    test('a delivery makes good a notice that was missed', async () => {
      const log = current();
      const feed = new ScriptedFeed();
      const stream = fresh('stream');
      const deaf = withMembers(log, { follow: () => () => undefined });
      const given = await bench(deaf, { feed, tailCheckMs: 60_000, bounds: { lazyCheckpointMs: 50 } });
      await given.start();
      const [row] = await report(log, stream);
      if (row === undefined) throw new Error('nothing was reported');
      feed.deliver(row, row.pos - 1);
      await given.caughtUp();
      expect((await orderOf(log, stream)).decided).toEqual([row.eventId]);
    });

    test('a delivery that is a little ahead of the tail costs no look into the log', async () => {
      const log = current();
      const feed = new ScriptedFeed();
      const stream = fresh('stream');
      let looks = 0;
      let notice: (pos: number) => void = () => undefined;
      const late = withMembers(log, {
        follow: (onHead) => {
          notice = onHead;
          return () => undefined;
        },
        head: () => {
          looks += 1;
          return log.head();
        },
      });
      const given = await bench(late, { feed, tailCheckMs: 60_000, bounds: { newsAfterMs: 60_000 } });
      await given.start();
      await given.caughtUp();
      const before = looks;
      const [row] = await report(log, stream);
      if (row === undefined) throw new Error('nothing was reported');
      feed.deliver(row, row.pos - 1);
      notice(row.pos);
      await given.caughtUp();
      expect((await orderOf(log, stream)).decided).toEqual([row.eventId]);
      await waitUntil('it is acknowledged', 10_000, () => feed.acked.includes(row.pos));
      expect(looks).toBe(before);
    });

    test('pitfall 24: a genuine event behind a false predecessor skips nothing', async () => {
      const log = current();
      const feed = new ScriptedFeed();
      const stream = fresh('stream');
      let rows: readonly RecordedEvent[] = [];
      const given = await bench(log, {
        feed,
        bounds: { batchMax: 1 },
        plan: (row) => {
          const last = rows.at(-1);
          if (last !== undefined) feed.deliver(last, row.pos);
          return 'decide';
        },
      });
      rows = await report(log, stream, 20);
      await given.start();
      await given.caughtUp();
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
      expect(given.foreign()).toEqual([]);
    });

    test('pitfall 24: an event that the log does not hold changes nothing and raises an alert', async () => {
      const log = current();
      const feed = new ScriptedFeed();
      const stream = fresh('stream');
      const given = await bench(log, { feed });
      const [row] = await report(log, stream);
      if (row === undefined) throw new Error('nothing was reported');
      await given.start();
      await given.caughtUp();

      const forged = { ...row, pos: row.pos + 1_000, eventId: 'made-up', body: '{"forged":true}' };
      for (let times = 1; times <= 5; times += 1) {
        feed.deliver(forged, await given.stored());
        await waitUntil('the alert', 10_000, () => given.foreign().length === times);
      }
      expect(given.foreign()).toEqual(Array.from({ length: 5 }, () => forged.pos));
      expect(given.calls.filter(({ eventId }) => eventId === 'made-up')).toEqual([]);
      expect(await log.parked.find(given.name, stream)).toBeNull();
      expect((await orderOf(log, stream)).decided).toEqual([row.eventId]);
    });

    test('pitfall 24: other content at a position of ours raises an alert, also where it would be ignored', async () => {
      const log = current();
      const feed = new ScriptedFeed();
      const stream = fresh('stream');
      const given = await bench(log, { feed, plan: () => hold });
      let release: (plan: 'decide') => void = () => undefined;
      const hold = new Promise<'decide'>((resolve) => {
        release = resolve;
      });
      const [handled] = await report(log, stream);
      await log.append([command({ stream, events: [event('OfNoConcern')] })]);
      const [after] = await report(log, stream);
      if (handled === undefined || after === undefined) throw new Error('nothing was reported');
      await given.start();
      await waitUntil('the handler runs', 10_000, () => given.calls.length === 1);
      feed.deliver({ ...handled, body: '{"forged":1}' }, handled.pos - 1);
      feed.deliver(
        { ...handled, pos: after.pos - 1, type: 'OfNoConcern', body: '{"forged":2}' },
        handled.pos,
      );
      feed.deliver({ ...after, type: 'Unheard' }, handled.pos);
      release('decide');
      await given.caughtUp();
      await waitUntil('the alerts', 10_000, () => given.foreign().length === 3);
      expect(given.foreign()).toEqual([handled.pos, after.pos - 1, after.pos]);
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
    });

    test('pitfall 24: a forged event holds up no acknowledgement', async () => {
      const log = current();
      const feed = new ScriptedFeed();
      const stream = fresh('stream');
      const given = await bench(log, { feed });
      await given.start();
      const [first] = await report(log, stream);
      if (first === undefined) throw new Error('nothing was reported');
      feed.deliver({ ...first, type: 'Unheard', pos: 9_000_000 }, 8_999_999);
      const rows = await report(log, stream, 4);
      for (const row of rows) feed.deliver(row, row.pos - 1);
      await given.caughtUp();
      await waitUntil('all is acknowledged', 10_000, () => rows.every(({ pos }) => feed.acked.includes(pos)));
    });

    test('more than is kept ahead comes from the log', async () => {
      const log = current();
      const feed = new ScriptedFeed();
      const stream = fresh('stream');
      const given = await bench(log, { feed, bounds: { bufferMax: 4 } });
      await given.start();
      const rows = await report(log, stream, 40);
      for (const row of rows) feed.deliver(row, row.pos - 1);
      await given.caughtUp();
      const { inputs, decided } = await orderOf(log, stream);
      expect(decided).toEqual(inputs);
      expect(given.calls.every((row) => row.type === INPUT_TYPE)).toBe(true);
    });
  });
}
