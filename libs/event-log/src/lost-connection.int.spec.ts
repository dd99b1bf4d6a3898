import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LogUnavailable } from '#domain/log';
import { eventIdOf } from '#events/envelope';
import { ownPostgres, withPostgres } from '#support/infra';
import { command, decision, fresh, input } from '#support/log-builders';
import { openLog } from '#support/open-log';
import { TcpProxy } from '#support/tcp-proxy';
import type { PostgresLog } from './postgres-log.ts';
import { verifyLog } from './verify.ts';

/** Far below what any wait for an answer takes by itself. */
const FROZEN_CLOSE_MAX_MS = 5_000;

describe('a connection that is lost', () => {
  const database = withPostgres();
  let proxy: TcpProxy;
  let log: PostgresLog;
  let direct: PostgresLog;
  let onFault: (fault: unknown) => void = () => {};
  beforeAll(async () => {
    direct = await openLog(database.url);
    const there = await TcpProxy.before(database.url);
    proxy = there.proxy;
    // No polling meanwhile: the reply that gets lost must be that of the append.
    log = await openLog(there.url, {
      pollIntervalMs: 60_000,
      attemptTimeoutMs: 500,
      onFault: (fault) => onFault(fault),
    });
  });
  afterAll(async () => {
    await log.close();
    await proxy.close();
    await direct.close();
  });

  test('pitfall 5: cut after COMMIT, the retry answers duplicate with the first position', async () => {
    await log.append([command()]);
    const given = command({ events: [input(), decision()] });
    const head = await direct.head();

    const lost = proxy.loseNextReply();
    const [result] = await log.append([given]);
    await lost;

    expect(result).toMatchObject({ outcome: 'duplicate', firstPos: head.pos + 1, decisionVersion: 1 });
    expect(await direct.readStream(given.stream, 0, 10)).toHaveLength(2);
  });

  test('pitfall 5: a whole group keeps its results, with its own checkpoint step', async () => {
    const consumer = fresh('consumer');
    await direct.checkpoints.ensure(consumer, { index: 0, count: 1 });
    const head = await direct.head();
    const step = { consumer, partition: 0, from: 0, to: head.pos, hash: head.hash };
    const stream = fresh('stream');
    await direct.append([command({ stream })]);

    const lost = proxy.loseNextReply();
    const results = await Promise.all([
      log.append([command({ stream, checkpoint: step, events: [decision()] })]),
      log.append([command({ stream, expected: 'new' })]),
      log.append([command(), command({ stream, checkpoint: step })]),
    ]);
    await lost;

    expect(results.flat().map((result) => result.outcome)).toEqual([
      'duplicate',
      'wrong_version',
      'duplicate',
      // Another command for the same step never had a chance.
      'stale_consumer',
    ]);
    expect((await direct.checkpoints.read(consumer, 0))?.pos).toBe(head.pos);
  });

  test('pitfall 5: an append that took a lease finds it taken by itself, and is a duplicate all the same', async () => {
    const stream = fresh('stream');
    const lease = { lease: stream, holder: 'a', from: 0, forMs: 60_000 };
    const lost = proxy.loseNextReply();
    const [result] = await log.append([command({ stream, events: [decision()], lease })]);
    await lost;

    expect(result).toMatchObject({ outcome: 'duplicate', decisionVersion: 1 });
    expect(await direct.leases.read(stream)).toMatchObject({ fence: 1, holder: 'a' });
    const [fact] = await log.append([command({ stream, fence: { lease: stream, fence: 1 } })]);
    expect(fact).toMatchObject({ outcome: 'appended' });
  });

  test('a cut before the server was reached is made good too', async () => {
    proxy.cut();
    expect((await log.append([command()]))[0]).toMatchObject({ outcome: 'appended' });
  });

  test('a frozen connection is given up, and the repeat on a new one is told what happened', async () => {
    const given = command();
    proxy.freeze();
    const faults: unknown[] = [];
    onFault = (fault) => {
      faults.push(fault);
      proxy.thaw();
    };
    const appended = log.append([given]);
    expect((await appended)[0]?.outcome).toMatch(/appended|duplicate/);
    expect(faults[0]).toMatchObject({ name: 'NoAnswer' });
    expect(await direct.readStream(given.stream, 0, 10)).toHaveLength(1);
  });

  test('without any answer each call ends by its deadline, and says that it is unproven', async () => {
    const there = await TcpProxy.before(database.url);
    const short = await openLog(there.url, { appendDeadlineMs: 600, attemptTimeoutMs: 250 });
    try {
      const given = command();
      there.proxy.freeze();
      const started = performance.now();
      await expect(Promise.all([short.append([given]), short.append([command()])])).rejects.toThrow(
        LogUnavailable,
      );
      expect(performance.now() - started).toBeLessThan(2_000);
      await expect(short.append([given])).rejects.toThrow(/unproven/);
      expect(short.takesAppends()).toBe(false);
      there.proxy.thaw();
      there.proxy.cut();
      await vi.waitFor(async () => {
        expect((await short.append([given]))[0]?.outcome).toMatch(/appended|duplicate/);
      });
      expect(short.takesAppends()).toBe(true);
      expect(await direct.readStream(given.stream, 0, 10)).toHaveLength(1);
      expect((await direct.byEventId(eventIdOf(given.commandId, 0)))?.commandDigest).toBe(given.digest);
    } finally {
      await there.proxy.close();
      await short.close();
    }
  });

  test('closing does not wait for a server that is frozen, with reads, an append and idle connections', async () => {
    const there = await TcpProxy.before(database.url);
    const closing = await openLog(there.url, { appendDeadlineMs: 60_000, attemptTimeoutMs: 60_000 });
    await Promise.all([closing.head(), closing.head(), closing.append([command()])]);
    there.proxy.freeze();
    const waiting = [closing.head(), closing.head(), closing.append([command()])].map((asked) =>
      expect(asked).rejects.toThrow(LogUnavailable),
    );
    closing.endWithin(50);
    const startedMs = performance.now();
    await closing.close();
    await Promise.all(waiting);
    expect(performance.now() - startedMs).toBeLessThan(FROZEN_CLOSE_MAX_MS);
    await expect(closing.head()).rejects.toThrow(LogUnavailable);
    await there.proxy.close();
  });

  test('reading says that the log is unavailable, and works again afterwards', async () => {
    proxy.refuse();
    await expect(log.head()).rejects.toBeInstanceOf(LogUnavailable);
    proxy.allow();
    await vi.waitFor(() => log.head());
  });

  test('the follower survives a cut and tells how old its last read is', async () => {
    const there = await TcpProxy.before(database.url);
    const follower = await openLog(there.url, { pollIntervalMs: 30 });
    try {
      const told: number[] = [];
      follower.follow((pos) => told.push(pos));
      await vi.waitFor(() => expect(follower.lastReadAgeMs()).toBeLessThan(100));
      there.proxy.refuse();
      await vi.waitFor(() => expect(follower.lastReadAgeMs()).toBeGreaterThan(300));
      await direct.append([command()]);
      there.proxy.allow();
      const head = (await direct.head()).pos;
      await vi.waitFor(() => expect(told.at(-1)).toBe(head), { timeout: 5_000 });
      expect(follower.lastReadAgeMs()).toBeLessThan(2_000);
    } finally {
      await follower.close();
      await there.proxy.close();
    }
  });
});

describe('PostgreSQL restarts', () => {
  test('pitfall 13: no process dies of it, and everybody goes on', async () => {
    const own = await ownPostgres();
    try {
      const faults: unknown[] = [];
      const log = await openLog(own.url, {
        appendDeadlineMs: 20_000,
        pollIntervalMs: 50,
        onFault: (fault) => faults.push(fault),
      });
      const told: number[] = [];
      log.follow((pos) => told.push(pos));
      // Several idle connections in the pool, each of which gets the server's goodbye.
      await Promise.all(Array.from({ length: 4 }, () => log.head()));
      await log.append([command()]);

      await own.stop();
      const during = log.append([command()]);
      await own.restart();
      expect((await during)[0]?.outcome).toBe('appended');

      await vi.waitFor(async () => expect((await log.head()).pos).toBe(2), { timeout: 10_000 });
      await vi.waitFor(() => expect(told.at(-1)).toBe(2), { timeout: 10_000 });
      expect(faults.length).toBeGreaterThan(0);
      expect(await verifyLog(log)).toMatchObject({ ok: true });
      await log.close();
    } finally {
      await own.remove();
    }
  });
});
