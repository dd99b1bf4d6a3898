import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { withManager } from '../integration/bus-kit.ts';
import { CRASH_SECONDS, CrashStack, EVENT_STREAM } from './crash-stack.ts';

/** 60 by hand. */
const FROZEN_SECONDS = Number(process.env.SPILLWAY_CRASH_FROZEN_SECONDS ?? CRASH_SECONDS);
const ANSWERED_WITHIN_MS = 1_000;
const SHARE = 0.95;
const COPY = 'older-copy';
/** Other work of the machine may spoil one of them. */
const WINDOWS = 3;
const NOISE = 0.8;

describe('NATS under load', () => {
  let stack: CrashStack;
  beforeAll(async () => {
    stack = await CrashStack.start();
  });
  afterAll(() => stack?.remove());

  async function proveAll(): Promise<void> {
    await stack.prove();
    await stack.relayed();
    await stack.ready('classifier');
    await stack.ready('ingest');
  }

  test('stopped cleanly and started again, it misses nothing', async () => {
    await stack.underLoad(async () => {
      await stack.nats.stop();
      await stack.nats.copyStoreTo(COPY);
      await stack.nats.restart();
    });
    await proveAll();
  });

  test('killed with kill -9 and started again', async () => {
    await stack.underLoad(async () => {
      await stack.nats.kill();
      await stack.nats.restart();
    });
    await proveAll();
  });

  test('pitfall 16: its store is gone when it comes back', async () => {
    await stack.underLoad(async () => {
      await stack.nats.kill();
      await stack.nats.wipe();
      await stack.nats.restart();
    });
    await proveAll();
  });

  test('pitfall 16: the tail of its store is cut off when it comes back', async () => {
    await stack.underLoad(async () => {
      await stack.nats.stop();
      await stack.nats.cutTailOf(EVENT_STREAM, 50_000);
      await stack.nats.restart();
    });
    await proveAll();
  });

  test('pitfall 16: it comes back with an older copy of its store', async () => {
    await stack.underLoad(async () => {
      await stack.nats.kill();
      await stack.nats.restoreStoreFrom(COPY);
      await stack.nats.restart();
    });
    await proveAll();
  });

  test('pitfall 17: the stream is deleted while running: all recovers without a restart', async () => {
    await stack.underLoad(async () => {
      await withManager(stack.nats.port, (manager) => manager.streams.delete(EVENT_STREAM));
    });
    await proveAll();
    expect(await durables()).toContain('classifier-0');
    expect(stack.unexpected).toEqual([]);
  });

  test('frozen, it costs latency only: nearly all attempts are answered within a second', async () => {
    await stack.nats.freeze();
    const share = await shareInTime(FROZEN_SECONDS / 2);
    await stack.prove();
    await stack.nats.thaw();
    await proveAll();
    await expectUsual(share);
  });

  test('stopped for good, it costs latency only: nearly all attempts are answered within a second', async () => {
    await stack.nats.stop();
    const share = await shareInTime(CRASH_SECONDS / 2);
    await stack.prove();
    await stack.ready('ingest');
    await stack.ready('classifier');
    if (share < SHARE) await stack.nats.restart();
    await expectUsual(share);
  });

  test('every app closes on SIGTERM with code 0 while NATS and PostgreSQL are frozen under load', async () => {
    await stack.nats.restart();
    await stack.underLoad(async () => {}, 1);
    await stack.relayed();
    await stack.proveCleanEnd(async () => {
      const load = stack.load(CRASH_SECONDS, 1);
      await waitUntil('the load is under way', 30_000, () => load.answered() > 0);
      await stack.nats.freeze();
      await stack.postgres.pause();
    });
    await stack.postgres.resume();
    await stack.nats.thaw();
  });

  /** The best of a few windows. */
  async function shareInTime(seconds: number): Promise<number> {
    let best = 0;
    for (let window = 0; window < WINDOWS && best < SHARE; window += 1) {
      const { answered, unanswered, sent } = await stack.underLoad(async () => {}, seconds);
      expect(unanswered).toEqual([]);
      expect(answered.every(({ status }) => status === 200)).toBe(true);
      best = Math.max(best, answered.filter(isInTime).length / sent);
    }
    return best;
  }

  /** A machine that is too busy for it with NATS up need not do it without. */
  async function expectUsual(share: number): Promise<void> {
    if (share < SHARE) expect(share).toBeGreaterThan(NOISE * (await shareInTime(CRASH_SECONDS / 2)));
  }

  async function durables(): Promise<readonly string[]> {
    let names: string[] = [];
    await waitUntil('the durables are there again', 30_000, async () => {
      names = await withManager(stack.nats.port, async (manager) => {
        const found: string[] = [];
        for await (const { name } of manager.consumers.list(EVENT_STREAM)) found.push(name);
        return found;
      }).catch(() => []);
      return names.length >= 4;
    });
    return names;
  }
});

function isInTime({ latencyMs }: { readonly latencyMs: number }): boolean {
  return latencyMs <= ANSWERED_WITHIN_MS;
}
