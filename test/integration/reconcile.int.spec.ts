import { describe, expect, test } from 'vitest';
import { type ReconcilePass, Reconciler } from '#messaging/reconcile';
import type { Topology } from '#messaging/topology';
import { busBench, eventually, idsOf, messageIdsOn, relayedAll, TestLog, withManager } from './bus-kit.ts';

const bench = busBench();
const onBus = (stream: string) => messageIdsOn(bench.nats.port, stream);

function reconcile(log: TestLog, at: Topology, lowest: () => number | null, keepRows = 10): ReconcilePass[] {
  const passes: ReconcilePass[] = [];
  const reconciler = new Reconciler(
    {
      bus: bench.bus(),
      topology: at,
      log,
      lowestCheckpoint: () => Promise.resolve(lowest()),
      isFull: () => false,
      onPass: (pass) => passes.push(pass),
    },
    { intervalMs: 20, keepRows },
  );
  bench.after(() => reconciler.stop());
  return passes;
}

describe('the reconciler', () => {
  test('trims to the lowest checkpoint, less what is kept behind it', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(200);
    await relayedAll(bench.relay(log, at), log);
    const passes = reconcile(log, at, () => 150);
    await eventually('trimmed', () => passes.some(({ kind }) => kind === 'trimmed'));

    expect(await onBus(at.eventStream)).toEqual(idsOf(log, 141));
  });

  test('never trims to empty, and the relay goes on behind what is left', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(200);
    const relay = bench.relay(log, at);
    await relayedAll(relay, log);
    const passes = reconcile(log, at, () => 10_000, 0);
    await eventually('trimmed', () => passes.some(({ kind }) => kind === 'trimmed'));
    expect(await onBus(at.eventStream)).toEqual(idsOf(log, 200));

    await log.append(5);
    await relayedAll(relay, log);
    expect((await onBus(at.eventStream)).at(-1)).toBe(idsOf(log, 205)[0]);
  });

  test('keeps everything while a consumer has not begun, or there is none', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    let lowest: number | null = null;
    await log.append(50);
    await relayedAll(bench.relay(log, at), log);
    const passes = reconcile(log, at, () => lowest);
    await eventually('passed', () => passes.some(({ kind }) => kind === 'skipped'));
    lowest = 0;
    await eventually('passed', () => passes.some(({ kind }) => kind === 'kept'));

    expect((await onBus(at.eventStream)).length).toBe(50);
  });

  test('makes both streams again after the store was wiped while running (pitfall 17)', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    reconcile(log, at, () => 0);
    const both = () =>
      withManager(bench.nats.port, async (manager) => {
        await manager.streams.info(at.eventStream);
        await manager.streams.info(at.inputStream);
        return true;
      }).catch(() => false);
    await eventually('made', both);
    await bench.nats.kill();
    await bench.nats.wipe();
    await bench.nats.restart();
    await eventually('made again', both);
  });

  test('leaves a stream alone that is forked: it is evidence until a person has looked (pitfall 24)', async () => {
    const log = new TestLog('log-a');
    const at = bench.topology();
    await log.append(100);
    const relay = bench.relay(log, at);
    await relayedAll(relay, log);
    await relay.stop();
    await log.cutTo(60);
    const passes = reconcile(log, at, () => 50, 0);
    await eventually('passed', () => passes.length > 5);

    expect(passes.every(({ kind }) => kind === 'skipped')).toBe(true);
    expect((await onBus(at.eventStream)).length).toBe(100);
  });
});
