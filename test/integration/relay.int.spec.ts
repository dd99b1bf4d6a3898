import { headers, type NatsConnection } from '@nats-io/nats-core';
import { describe, expect, test } from 'vitest';
import { Bus } from '#messaging/connect-bus';
import {
  busBench,
  eventually,
  idsNow,
  idsOf,
  messageIdsOn,
  relayedAll,
  TestLog,
  withManager,
} from './bus-kit.ts';

const bench = busBench();
const onBus = (stream: string) => messageIdsOn(bench.nats.port, stream);

/** Loses each publish that it is told to lose; the broker never sees it. */
class LossyBus extends Bus {
  loses: (subject: string) => boolean = () => false;

  override connection(): NatsConnection {
    const real = super.connection();
    const publish: NatsConnection['publish'] = (subject, payload, options) => {
      if (!this.loses(subject)) real.publish(subject, payload, options);
    };
    return new Proxy(real, {
      get: (target, name) => {
        if (name === 'publish') return publish;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  }
}

describe('the relay', () => {
  test('copies the log in order, and what is appended later', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(1_000);
    const relay = bench.relay(log, at);
    await relayedAll(relay, log);
    await log.append(3);
    await relayedAll(relay, log);

    expect(await onBus(at.eventStream)).toEqual(idsOf(log, 1));
    await eventually('idle', () => relay.status.state === 'idle');
  });

  test('starts an empty stream behind the lowest checkpoint', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(100);
    await relayedAll(bench.relay(log, at, { lowestCheckpoint: () => Promise.resolve(40) }), log);

    expect(await onBus(at.eventStream)).toEqual(idsOf(log, 41));
  });

  test('relays what was appended without a notice within two polling intervals (pitfall 23)', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    const relay = bench.relay(log, at, { follower: { follow: () => () => {} } }, { pollMs: 100 });
    await eventually('idle', () => relay.status.state === 'idle');
    await log.append(5);
    await relayedAll(relay, log, 250);
  });

  test('publishes nothing while it may not run, and takes over when it may', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    let isOurs = false;
    await log.append(5);
    const other = bench.relay(log, at);
    const relay = bench.relay(log, at, { mayRun: () => isOurs });
    await relayedAll(other, log);
    await other.stop();
    expect(relay.counters).toMatchObject({ relayed: 0, tailChecks: 0 });

    isOurs = true;
    await log.append(5);
    await relayedAll(relay, log);
    expect(await onBus(at.eventStream)).toEqual(idsOf(log, 1));
  });

  test('three relays at once leave no duplicate and no reorder (pitfall 15)', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(500);
    const behind7 = { lowestCheckpoint: () => Promise.resolve(7) };
    const relays = [bench.relay(log, at), bench.relay(log, at, behind7), bench.relay(log, at)];
    for (let round = 0; round < 20; round += 1) {
      await log.append(50);
      await eventually('relayed', () =>
        relays.some(({ lastRelayedPos }) => lastRelayedPos === log.rows.length),
      );
    }
    expect([idsOf(log, 1), idsOf(log, 8)]).toContainEqual(await onBus(at.eventStream));
  });

  test('a message published again after the dedup window is not stored twice (pitfall 15)', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(10);
    await relayedAll(bench.relay(log, at), log);
    const ids = idsOf(log, 1);
    await withManager(bench.nats.port, async (manager) => {
      const js = manager.jetstream();
      const again = headers();
      again.set('Nats-Msg-Id', ids[9] ?? '');
      again.set('Nats-Expected-Last-Msg-Id', ids[8] ?? '');
      // First it is remembered as a duplicate; when that is forgotten, the chain refuses it.
      await eventually('refused by the chain', () =>
        js.publish(`${at.prefix}.ev.0.AttemptReported`, 'again', { headers: again }).then(
          ({ duplicate }) => !duplicate,
          (error: unknown) => error instanceof Error && error.message.startsWith('wrong last msg ID'),
        ),
      );
    });
    expect(await onBus(at.eventStream)).toEqual(ids);
  });

  test('a window of which one message is lost ends in order (pitfall 15)', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    const options = { servers: [bench.nats.url], clientName: 'lossy', retryMinMs: 20, requestTimeoutMs: 500 };
    const bus = new LossyBus(options);
    bench.after(() => bus.close(200));
    let events = 0;
    bus.loses = (subject) => {
      events += subject.includes('.ev.') ? 1 : 0;
      return subject.includes('.ev.') && events % 97 === 50;
    };
    await log.append(1_000);
    const relay = bench.relay(log, at, { bus });
    await relayedAll(relay, log);

    expect(await onBus(at.eventStream)).toEqual(idsOf(log, 1));
    expect(relay.counters.failures.get('wrong_last')).toBeGreaterThan(5);
  });

  test('a connection cut in mid-window leaves a run that the next relay goes on with', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(3_000);
    const bus = bench.bus();
    const relay = bench.relay(log, at, { bus });
    await eventually('in mid-run', () => relay.lastRelayedPos > 200);
    await bus.close(0);
    const next = bench.relay(log, at);
    await relayedAll(next, log);

    expect(await onBus(at.eventStream)).toEqual(idsOf(log, 1));
    expect(next.counters.relayed).toBeLessThan(3_000);
  });

  test('a row above the broker’s limit travels without its body and stops nothing', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(2);
    await log.append(1, 'a', 'x'.repeat(250_000));
    await log.append(2);
    const relay = bench.relay(log, at, {}, { maxBodyBytes: 100_000 });
    await relayedAll(relay, log);
    expect(await onBus(at.eventStream)).toEqual(idsOf(log, 1));
  });

  test('a log that is away is told apart from a bus that is away, and is waited for', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    const relay = bench.relay(log, at);
    await eventually('idle', () => relay.status.state === 'idle');
    log.unreachable = true;
    await eventually('down', () => relay.status.state === 'down' && relay.status.reason === 'log');
    log.unreachable = false;
    await log.append(5);
    await relayedAll(relay, log);
  });

  test('without NATS an app starts, and closes, at once', async () => {
    const log = new TestLog('log-a');
    const bus = bench.bus({ servers: ['nats://127.0.0.1:1'] });
    const relay = bench.relay(log, bench.topology(), { bus });
    expect(bus.connected).toBe(false);
    await eventually('down', () => relay.status.state === 'down');
    await relay.stop();
    await bus.close(100);
    expect(await idsNow(1, 'none')).toEqual([]);
  });
});
