import { afterEach, describe, expect, test } from 'vitest';
import { type Command, LogUnavailable } from '#domain/log';
import type { Log } from '#domain/log-tables';
import { InMemoryLog } from '#event-log/in-memory-log';
import { withMembers } from '#support/consumer-bench';
import { command } from '#support/log-builders';
import { waitUntil } from '../../../tools/up/infra/chain.ts';
import { LogTail } from './log-tail.ts';

const CHECK_MS = 20;

const newLog = () =>
  new InMemoryLog({ logId: 'in-memory', now: () => performance.timeOrigin + performance.now() });

let tails: LogTail[] = [];
afterEach(async () => {
  for (const tail of tails) await tail.stop();
  tails = [];
});

async function tailOf(log: Log, checkMs = CHECK_MS, gapMs = 0) {
  const told: number[] = [];
  const failures: unknown[] = [];
  let wentBack = 0;
  const tail = new LogTail({
    log,
    batchMax: 3,
    checkMs,
    gapMs,
    onReadFailed: (error) => failures.push(error),
    onWentBack: () => {
      wentBack += 1;
    },
  });
  tails.push(tail);
  tail.subscribe(({ pos }) => told.push(pos));
  await tail.start();
  return { tail, told, failures, wentBack: () => wentBack };
}

describe('the tail of the log', () => {
  test('tells every row after the start once, in order', async () => {
    const log = newLog();
    await log.append([command(), command()]);
    const { told } = await tailOf(log);
    for (let round = 0; round < 5; round += 1) await log.append([command(), command()]);
    await waitUntil('all rows are told', 5_000, () => told.length === 10);
    expect(told).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  test('rows of many notices are read at once where nobody waits for them', async () => {
    const inner = newLog();
    let reads = 0;
    const log = withMembers(inner, {
      readAfter: (pos, limit) => {
        reads += 1;
        return inner.readAfter(pos, limit);
      },
    });
    const { told } = await tailOf(log, 60_000, 300);
    await inner.append([command()]);
    await waitUntil('the first row is told at once', 5_000, () => told.length === 1);
    for (let round = 0; round < 3; round += 1) await inner.append([command()]);
    await waitUntil('all rows are told', 5_000, () => told.length === 4);
    expect(told).toEqual([1, 2, 3, 4]);
    expect(reads).toBe(2);
  });

  test('a read that fails leaves nothing out', async () => {
    const inner = newLog();
    let failing = 1;
    const log = withMembers(inner, {
      readAfter: (pos, limit) => {
        failing -= 1;
        return failing === 0 ? Promise.reject(new LogUnavailable('away')) : inner.readAfter(pos, limit);
      },
    });
    const { told, failures } = await tailOf(log);
    await inner.append([command(), command()]);
    await waitUntil('all rows are told', 5_000, () => told.length === 2);
    expect(failures).toHaveLength(1);
  });

  test('finds by itself what nobody told it of', async () => {
    const inner = newLog();
    const { told } = await tailOf(withMembers(inner, { follow: () => () => undefined }));
    await inner.append([command(), command()]);
    await waitUntil('all rows are told', 5_000, () => told.length === 2);
  });

  test('a log that went back is told once, and none of its rows as new', async () => {
    const { log, exchange } = exchangeable();
    await log.append(fiveCommands);
    const { told, wentBack } = await tailOf(log);
    exchange(await logWith(fiveCommands.slice(0, 3)));
    await waitUntil('it is noticed', 5_000, () => wentBack() > 0);
    await log.append([command(), command(), command()]);
    expect(told).toEqual([]);
    expect(wentBack()).toBe(1);
  });

  test('also when it has grown past the old head between two looks', async () => {
    const { log, exchange } = exchangeable();
    await log.append(fiveCommands);
    const { told, wentBack } = await tailOf(log);
    exchange(await logWith([...fiveCommands.slice(0, 3), command(), command(), command(), command()]));
    await waitUntil('it is noticed', 5_000, () => wentBack() > 0);
    expect(told).toEqual([]);
  });
});

const fiveCommands = Array.from({ length: 5 }, () => command());

async function logWith(commands: readonly Command[]): Promise<Log> {
  const log = newLog();
  await log.append(commands);
  return log;
}

/** A log that becomes another one under whoever uses it. */
function exchangeable() {
  let current: Log = newLog();
  const log = withMembers(current, {
    head: () => current.head(),
    readAfter: (pos, limit) => current.readAfter(pos, limit),
    append: (commands) => current.append(commands),
  });
  return {
    log,
    exchange: (other: Log) => {
      current = other;
    },
  };
}
