import { connect } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';
import { type ReconcilePass, Reconciler } from '#messaging/reconcile';
import type { Relay } from '#messaging/relay';
import type { Topology } from '#messaging/topology';
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

async function relayed(rows: number): Promise<{ log: TestLog; at: Topology; relay: Relay }> {
  const log = new TestLog('log-a');
  const at = bench.topology();
  await log.append(rows);
  const relay = bench.relay(log, at);
  await relayedAll(relay, log);
  return { log, at, relay };
}

const endsWithTheLog = (log: TestLog, at: Topology) =>
  eventually('the bus holds the run', async () => {
    const ids = await idsNow(bench.nats.port, at.eventStream);
    return JSON.stringify(ids) === JSON.stringify(idsOf(log, 1));
  });

describe('the bus ends equal to the log', () => {
  test('after NATS was killed in mid-window (pitfall 16)', async () => {
    const { log, at, relay } = await relayed(10);
    for (let round = 0; round < 3; round += 1) {
      await log.append(1_500);
      await eventually('in mid-run', () => relay.lastRelayedPos > log.rows.length - 1_400);
      await bench.nats.kill();
      await bench.nats.restart();
    }
    await relayedAll(relay, log);
    await endsWithTheLog(log, at);
  });

  test('after a restart in which the broker forgot its last id', async () => {
    const { log, at } = await relayed(10);
    // Past the dedup window a broker does not read its last message again when it starts.
    await eventually('the window has passed', () => lastMessageIsOlderThan(at, 1_500));
    await bench.nats.stop();
    await bench.nats.restart();
    await log.append(10);
    await endsWithTheLog(log, at);
  });

  test('after the store was deleted while NATS was down (pitfall 16)', async () => {
    const { log, at } = await relayed(300);
    await bench.nats.kill();
    await bench.nats.wipe();
    await log.append(10);
    await bench.nats.restart();
    await endsWithTheLog(log, at);
  });

  test('after the store was replaced by an older copy (pitfall 16)', async () => {
    const { log, at, relay } = await relayed(300);
    await bench.nats.stop();
    await bench.nats.copyStoreTo('older');
    await bench.nats.restart();
    await log.append(300);
    await relayedAll(relay, log);
    await bench.nats.kill();
    await bench.nats.restoreStoreFrom('older');
    await log.append(5);
    await bench.nats.restart();
    await endsWithTheLog(log, at);
  });

  test('after its tail was cut off on disk (pitfall 16)', async () => {
    const { log, at } = await relayed(300);
    await bench.nats.stop();
    await bench.nats.cutTailOf(at.eventStream, 20_000);
    await log.append(5);
    await bench.nats.restart();
    await endsWithTheLog(log, at);
  });

  test('after the stream was deleted, or emptied, while idle (pitfall 17)', async () => {
    const { log, at } = await relayed(100);
    await withManager(bench.nats.port, (manager) => manager.streams.delete(at.eventStream));
    await endsWithTheLog(log, at);
    await withManager(bench.nats.port, (manager) => manager.streams.purge(at.eventStream));
    await endsWithTheLog(log, at);
  });

  test('after its last messages were deleted by hand', async () => {
    const { log, at } = await relayed(100);
    await withManager(bench.nats.port, async (manager) => {
      for (const seq of [99, 100]) await manager.streams.deleteMessage(at.eventStream, seq);
    });
    await endsWithTheLog(log, at);
  });

  test('after NATS was frozen', async () => {
    const { log, at, relay } = await relayed(10);
    await bench.nats.freeze();
    await log.append(300);
    await eventually('down', () => relay.status.state === 'down');
    await bench.nats.thaw();
    await endsWithTheLog(log, at);
  });
});

describe('a full bus', () => {
  test('pushes back on the relay, and drains when consumers have moved on (pitfall 22)', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology({ eventMaxBytes: 200_000 });
    let lowest = 0;
    const passes: ReconcilePass[] = [];
    const bus = bench.bus();
    const relay = bench.relay(log, at, { bus, lowestCheckpoint: () => Promise.resolve(lowest) });
    const reconciler = new Reconciler(
      {
        bus,
        topology: at,
        log,
        lowestCheckpoint: () => Promise.resolve(lowest),
        isFull: () => relay.status.state === 'full',
        onPass: (pass) => passes.push(pass),
      },
      { intervalMs: 50 },
    );
    bench.after(() => reconciler.stop());
    await log.append(1_000);
    await eventually('full', () => relay.status.state === 'full');
    const stuckAt = relay.lastRelayedPos;
    expect(stuckAt).toBeLessThan(1_000);
    await log.append(10);

    const stuck = () =>
      `drains: ${JSON.stringify(relay.status)} at ${relay.lastRelayedPos}, ${passes.at(-1)?.kind}`;
    await eventually(
      stuck,
      () => {
        lowest = relay.lastRelayedPos;
        return lowest === log.rows.length;
      },
      20_000,
    );
    const ids = await onBus(at.eventStream);
    expect(ids.length).toBeGreaterThan(0);
    expect(ids).toEqual(idsOf(log, log.rows.length - ids.length + 1));
  });
});

describe('what is not ours is left alone', () => {
  test('the stream of another log is refused, and both ids are named', async () => {
    const { at } = await relayed(10);
    const other = new TestLog('log-b');
    await other.append(50, 'b');
    const relay = bench.relay(other, at);
    await eventually('refused', () => relay.status.state === 'foreign_stream');

    expect(relay.status).toMatchObject({ ourLogId: 'log-b', theirLogId: 'log-a' });
    expect(relay.status).toHaveProperty(
      'repair',
      expect.stringContaining(`nats stream rm ${at.eventStream}`),
    );
    expect((await onBus(at.eventStream)).length).toBe(10);
    expect(relay.counters.relayed).toBe(0);
  });

  test('subjects that belong to another deployment’s stream are refused, and it is named', async () => {
    const { at } = await relayed(10);
    const second = new TestLog('log-b');
    const relay = bench.relay(second, bench.topology({ prefix: at.prefix, deployment: 'second' }));
    await eventually('refused', () => relay.status.state === 'foreign_stream');

    expect(relay.status).toMatchObject({ ourLogId: 'log-b', theirLogId: at.eventStream });
  });

  test('a log restored to an older backup forks the bus: it stops and prints the repair (pitfall 24)', async () => {
    const { log, at, relay } = await relayed(100);
    await log.cutTo(60);
    await eventually('forked', () => relay.status.state === 'bus_forked');
    expect(relay.status).toMatchObject({
      pos: 100,
      repair: expect.stringMatching(/log ends at 60.*nats stream rm/s),
    });

    await withManager(bench.nats.port, (manager) => manager.streams.delete(at.eventStream));
    await endsWithTheLog(log, at);
  });

  test('also after the log has grown past it again, without a notice in between (pitfall 24)', async () => {
    const { log, at, relay } = await relayed(100);
    const before = await onBus(at.eventStream);
    await log.cutTo(60);
    await log.append(60, 'b');
    await eventually('forked', () => relay.status.state === 'bus_forked');

    expect(relay.status).toMatchObject({ pos: 100 });
    expect(relay.status).toHaveProperty(
      'repair',
      expect.stringContaining(log.rows[99]?.hash.slice(0, 16) ?? 'none'),
    );
    expect(await onBus(at.eventStream)).toEqual(before);
  });

  test('a message that somebody slipped in is stepped over, and not relayed behind (pitfall 24)', async () => {
    const { log, at, relay } = await relayed(10);
    const stranger = await connect({ port: bench.nats.port });
    for (let n = 0; n < 3; n += 1) stranger.publish(`${at.prefix}.ev.0.AttemptReported`, 'not a row');
    await stranger.flush();
    await stranger.close();
    await log.append(10);
    await relayedAll(relay, log);

    expect((await onBus(at.eventStream)).filter((id) => id !== '')).toEqual(idsOf(log, 1));
  });
});

function lastMessageIsOlderThan(at: Topology, ageMs: number): Promise<boolean> {
  return withManager(bench.nats.port, async (manager) => {
    const { state } = await manager.streams.info(at.eventStream);
    return Date.now() - Date.parse(state.last_ts) > ageMs;
  });
}
