import type { NatsConnection } from '@nats-io/nats-core';
import { describe, expect, test } from 'vitest';
import { Bus } from '#messaging/connect-bus';
import type { Relay } from '#messaging/relay';
import type { Topology } from '#messaging/topology';
import { type Bench, busBench, eventually, idsOf, messageIdsOn, TestLog, withManager } from './bus-kit.ts';

const bench = busBench();
const ROUNDS = 12;
const seeds = [Number(process.env.SPILLWAY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))];

/** A small generator of its own, so that a seed means the same everywhere. */
function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

/** Loses, and repeats, publishes at random. */
class BadBus extends Bus {
  chance: (below: number) => number = () => 1;
  bad = false;

  override connection(): NatsConnection {
    const real = super.connection();
    const publish: NatsConnection['publish'] = (subject, payload, options) => {
      const fate = this.bad ? this.chance(60) : 59;
      if (fate > 0) real.publish(subject, payload, options);
      if (fate === 1) real.publish(subject, payload, options);
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

/** Each leaves NATS running. */
const FAULTS: readonly ((
  bench: Bench,
  at: Topology,
  random: (below: number) => number,
) => Promise<unknown>)[] = [
  async ({ nats }) => {
    await nats.kill();
    await nats.restart();
  },
  async ({ nats }) => {
    await nats.stop();
    await nats.restart();
  },
  async ({ nats }) => {
    await nats.kill();
    await nats.wipe();
    await nats.restart();
  },
  async ({ nats }, at, random) => {
    await nats.stop();
    await nats.cutTailOf(at.eventStream, 1_000 + random(50_000)).catch(() => {});
    await nats.restart();
  },
  async ({ nats }, at) => {
    await withManager(nats.port, (manager) => manager.streams.delete(at.eventStream).catch(() => false));
  },
  async ({ nats }, at) => {
    await withManager(nats.port, (manager) => manager.streams.purge(at.eventStream).catch(() => null));
  },
  async ({ nats }) => {
    await nats.freeze();
    await nats.thaw();
  },
  async () => {},
];

describe('whatever fails, the bus holds a run of the log without gap or repeat (pitfalls 15, 16)', () => {
  test.each(seeds)(
    'seed %i (SPILLWAY_TEST_SEED)',
    async (seed) => {
      const random = randomOf(seed);
      const log = new TestLog('log-a');
      const at = bench.topology({ eventMaxBytes: 64 * 1024 ** 2 });
      const options = { servers: [bench.nats.url], clientName: 'bad', retryMinMs: 10, requestTimeoutMs: 500 };
      const buses = [new BadBus(options), new BadBus(options)];
      const relays = buses.map((bus): Relay => {
        bus.chance = random;
        bench.after(() => bus.close(100));
        return bench.relay(log, at, { bus }, { ackTimeoutMs: 200 });
      });
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const bus of buses) bus.bad = random(2) === 0;
        await log.append(1 + random(400), `r${round}`);
        const target = log.rows.length - random(200);
        await eventually(
          'under way',
          () => relays.some((relay) => relay.lastRelayedPos >= target),
          5_000,
        ).catch(() => {});
        await FAULTS[random(FAULTS.length)]?.(bench, at, random);
      }
      for (const bus of buses) bus.bad = false;
      await log.append(1, 'last');

      const ends = async () => {
        const ids = await messageIdsOn(bench.nats.port, at.eventStream).catch(() => []);
        return ids.at(-1) === idsOf(log, log.rows.length)[0];
      };
      await eventually('the newest row is on the bus', ends, 20_000);
      for (const relay of relays) await relay.stop();
      const ids = await messageIdsOn(bench.nats.port, at.eventStream);
      expect(ids).toEqual(idsOf(log, log.rows.length - ids.length + 1));
    },
    90_000,
  );
});
