import { connect } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';
import type { BusDelivery } from '#domain/bus';
import { type FeedPorts, type ForeignMessage, JetStreamFeed } from '#messaging/bus-feed';
import type { PullTrouble } from '#messaging/durable-pull';
import type { Topology } from '#messaging/topology';
import { busBench, eventually, TestLog, withManager } from './bus-kit.ts';

const PARTITIONS = 2;
const bench = busBench();
const topology = () => bench.topology({ partitions: PARTITIONS });
const relayTo = (log: TestLog, at: Topology, lowest = 0) =>
  bench.relay(log, at, { lowestCheckpoint: () => Promise.resolve(lowest) });

interface Heard {
  readonly feed: JetStreamFeed;
  /** Distinct positions, of all partitions, in order of arrival. */
  readonly positions: () => readonly number[];
  readonly deliveries: readonly BusDelivery[];
  readonly foreign: readonly ForeignMessage[];
  readonly troubles: readonly PullTrouble[];
}

function listen(log: TestLog, at: Topology, more: Partial<FeedPorts> = {}): Heard {
  const deliveries: BusDelivery[] = [];
  const foreign: ForeignMessage[] = [];
  const troubles: PullTrouble[] = [];
  const feed = new JetStreamFeed(
    {
      bus: bench.bus(),
      topology: at,
      consumer: 'classifier',
      log,
      checkpoint: () => Promise.resolve(0),
      onForeign: (message) => foreign.push(message),
      onTrouble: (_, trouble) => troubles.push(trouble),
      ...more,
    },
    { checkMs: 100, retryMaxMs: 200 },
  );
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    feed.subscribe(partition, (delivery) => {
      deliveries.push(delivery);
      delivery.ack();
    });
  }
  bench.after(() => feed.close());
  const positions = () => [...new Set(deliveries.map(({ event }) => event.pos))];
  return { feed, positions, deliveries, foreign, troubles };
}

const heardAll = (heard: Heard, log: TestLog, from = 1) =>
  eventually(`${log.rows.length} heard`, () => {
    const positions = new Set(heard.positions());
    return log.rows.every(({ pos }) => pos < from || positions.has(pos));
  });

describe('the feed of a consumer', () => {
  test('delivers each partition in order, and names the position before each event', async () => {
    const log = new TestLog('log-a');
    const at = topology();
    await log.append(300);
    relayTo(log, at);
    const heard = listen(log, at);
    await heardAll(heard, log);

    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const ofPartition = log.rows.filter(({ slot }) => slot % PARTITIONS === partition);
      const delivered = heard.deliveries.filter(({ event }) => event.slot % PARTITIONS === partition);
      expect(delivered.map(({ event }) => event)).toEqual(ofPartition);
      expect(delivered.map(({ previousPos }) => previousPos)).toEqual(
        ofPartition.map((_, index) => ofPartition[index - 1]?.pos ?? 0),
      );
    }
  });

  test('a durable that has to be made starts near the checkpoint', async () => {
    const log = new TestLog('log-a');
    const at = topology();
    await log.append(200);
    const relay = relayTo(log, at, 50);
    await eventually('relayed', () => relay.lastRelayedPos === 200);
    const heard = listen(log, at, { checkpoint: () => Promise.resolve(150) });
    await heardAll(heard, log, 151);

    expect(Math.min(...heard.positions())).toBe(151);
  });

  test('the stream is deleted while running: it recovers without a restart (pitfall 17)', async () => {
    const log = new TestLog('log-a');
    const at = topology();
    await log.append(20);
    relayTo(log, at);
    const heard = listen(log, at);
    await heardAll(heard, log);
    await withManager(bench.nats.port, (manager) => manager.streams.delete(at.eventStream));
    await eventually('noticed', () => heard.troubles.includes('gone'), 5_000);
    await log.append(20);
    await heardAll(heard, log);
  });

  test('its durable is deleted while running: it is made again (pitfall 17)', async () => {
    const log = new TestLog('log-a');
    const at = topology();
    await log.append(20);
    relayTo(log, at);
    const heard = listen(log, at);
    await heardAll(heard, log);
    await withManager(bench.nats.port, (manager) => manager.consumers.delete(at.eventStream, 'classifier-0'));
    await log.append(20);
    await heardAll(heard, log);
  });

  test('the store is wiped while NATS is down: it recovers without a restart (pitfall 16)', async () => {
    const log = new TestLog('log-a');
    const at = topology();
    await log.append(20);
    relayTo(log, at);
    const heard = listen(log, at);
    await heardAll(heard, log);
    await bench.nats.kill();
    await bench.nats.wipe();
    await log.append(20);
    await bench.nats.restart();
    await heardAll(heard, log);
  });

  test('NATS comes back with an older store, behind the durable: it is heard again (pitfall 16)', async () => {
    const log = new TestLog('log-a');
    const at = topology();
    await log.append(20);
    relayTo(log, at);
    const heard = listen(log, at);
    await heardAll(heard, log);
    await bench.nats.stop();
    await bench.nats.copyStoreTo('older');
    await bench.nats.restart();
    await log.append(200);
    await heardAll(heard, log);
    await bench.nats.stop();
    await bench.nats.restoreStoreFrom('older');
    await bench.nats.restart();
    await log.append(20);
    await heardAll(heard, log);
  });

  test('what is no row of the log is reported by digest, and changes nothing (pitfall 24)', async () => {
    const log = new TestLog('log-a');
    const at = topology();
    await log.append(20);
    relayTo(log, at);
    const heard = listen(log, at);
    await heardAll(heard, log);
    const stranger = await connect({ port: bench.nats.port });
    stranger.publish(`${at.prefix}.ev.0.AttemptReported`, 'a secret');
    await stranger.flush();
    await stranger.close();
    await eventually('reported', () => heard.foreign.length === 1);
    await log.append(20);
    await heardAll(heard, log);

    expect(heard.foreign).toMatchObject([{ reason: 'no_id', bodyBytes: 8 }]);
    expect(JSON.stringify(heard.foreign)).not.toContain('secret');
  });

  test('a restart of NATS past the dedup window goes on in order', async () => {
    const log = new TestLog('log-a');
    const at = topology();
    await log.append(20);
    relayTo(log, at);
    const heard = listen(log, at);
    await heardAll(heard, log);
    await bench.nats.stop();
    await bench.nats.restart();
    await log.append(20);
    await heardAll(heard, log);
  });
});
