import type { JetStreamManager, StreamAPI } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { Bus } from '#messaging/connect-bus';
import { busBench, eventually, idsOf, messageIdsOn, relayedAll, TestLog } from './bus-kit.ts';

const bench = busBench();

/** A broker that counts its messages and can give none of them, until the stream is deleted. */
class DamagedBus extends Bus {
  isDamaged = false;

  override manager(): JetStreamManager {
    const real = super.manager();
    const streams = wrapped<StreamAPI>(real.streams, {
      getMessage: (...given) => (this.isDamaged ? Promise.resolve(null) : real.streams.getMessage(...given)),
      delete: (stream) => {
        this.isDamaged = false;
        return real.streams.delete(stream);
      },
    });
    return wrapped<JetStreamManager>(real, { streams });
  }
}

function wrapped<T extends object>(real: T, instead: Partial<T>): T {
  return new Proxy(real, {
    get: (target, name) => {
      const member: unknown = Reflect.get(name in instead ? instead : target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

test('pitfall 16: a stream of which nothing can be read any more is made anew from the log', async () => {
  const log = new TestLog('log-a');
  const at = bench.topology();
  const bus = new DamagedBus({ servers: [bench.nats.url], clientName: 'spec', retryMinMs: 20 });
  bench.after(() => bus.close(200));
  const relay = bench.relay(log, at, { bus, lowestCheckpoint: () => Promise.resolve(10) });
  await log.append(50);
  await relayedAll(relay, log);

  bus.isDamaged = true;
  await eventually('the damage was seen and repaired', () => !bus.isDamaged);
  await log.append(5);
  await relayedAll(relay, log);
  expect(await messageIdsOn(bench.nats.port, at.eventStream)).toEqual(idsOf(log, 11));
});
