import { afterEach, describe, expect, test, vi } from 'vitest';
import { type AppendResult, InvalidCommand, LogBusy, LogUnavailable } from '#domain/log';
import { GroupCommit, type GroupCommitOptions, type SendFailure } from './group-commit.ts';

const RESULT: AppendResult = { outcome: 'fenced' };

class Sent extends Error {
  constructor(readonly failure: SendFailure) {
    super(failure);
  }
}

type Send = GroupCommitOptions<string>['send'];

/** A group over a statement that the test answers. `batches` is what was sent. */
function groupOf(options: Partial<GroupCommitOptions<string>> & { readonly answer?: Send } = {}) {
  const batches: (readonly string[])[] = [];
  const resends: boolean[] = [];
  let open: () => void = () => {};
  let gate = Promise.resolve();
  const group = new GroupCommit<string>({
    failureOf: (error) => (error instanceof Sent ? error.failure : 'unknown_outcome'),
    bytesOf: (item) => item.length,
    now: () => performance.now(),
    maxBatchCommands: 4,
    maxBatchBytes: 100,
    maxQueuedCommands: 10,
    maxQueuedBytes: 1000,
    deadlineMs: 200,
    attemptTimeoutMs: 100,
    ...options,
    send: async (items, timeoutMs, resent) => {
      batches.push(items);
      resends.push(resent);
      await gate;
      return options.answer ? options.answer(items, timeoutMs, resent) : items.map(() => RESULT);
    },
  });
  return {
    group,
    batches,
    resends,
    hold() {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    release() {
      open();
    },
  };
}

describe('group commit', () => {
  test('sends a lone call alone and at once', async () => {
    const { group, batches } = groupOf();
    expect(await group.append(['a'])).toEqual([RESULT]);
    expect(await group.append(['b'])).toEqual([RESULT]);
    expect(batches).toEqual([['a'], ['b']]);
  });

  test('forms the next batch while one is on its way, in the order of the calls', async () => {
    const { group, batches, hold, release } = groupOf();
    hold();
    const first = group.append(['a']);
    await Promise.resolve();
    await Promise.resolve();
    const later = [
      group.append(['b']),
      group.append(['c', 'd']),
      group.append(['e', 'f']),
      group.append(['g']),
    ];
    release();
    await Promise.all([first, ...later]);
    expect(batches).toEqual([['a'], ['b', 'c', 'd'], ['e', 'f', 'g']]);
  });

  test('bounds a batch by bytes, but lets one large call through', async () => {
    const { group, batches } = groupOf();
    await Promise.all([
      group.append(['x'.repeat(60)]),
      group.append(['y'.repeat(60)]),
      group.append(['z'.repeat(200)]),
    ]);
    expect(batches.map((batch) => batch.map((item) => item[0]))).toEqual([['x'], ['y'], ['z']]);
  });

  test('gives each call its own results', async () => {
    const { group } = groupOf({
      answer: async (items) =>
        items.map((item) => ({ outcome: 'wrong_version', decisionVersion: Number(item) })),
    });
    const results = await Promise.all([group.append(['1', '2']), group.append(['3'])]);
    expect(
      results.map((call) => call.map((result) => 'decisionVersion' in result && result.decisionVersion)),
    ).toEqual([[1, 2], [3]]);
  });

  test('refuses more than its queue holds, and what no batch holds', async () => {
    const { group, hold, release } = groupOf();
    hold();
    const waiting = Array.from({ length: 10 }, (_, index) => group.append([String(index)]));
    await expect(group.append(['one more'])).rejects.toBeInstanceOf(LogBusy);
    await expect(group.append(['1', '2', '3', '4', '5'])).rejects.toBeInstanceOf(InvalidCommand);
    release();
    await Promise.all(waiting);
    expect(await group.append(['again'])).toEqual([RESULT]);
  });

  test('pitfall 8: after bad content each call goes alone, and only the bad one is refused', async () => {
    const { group, batches } = groupOf({
      answer: async (items) => {
        if (items.includes('bad')) throw new Sent('bad_content');
        return items.map(() => RESULT);
      },
    });
    const settled = await Promise.allSettled([
      group.append(['a']),
      group.append(['bad']),
      group.append(['b']),
    ]);
    expect(settled.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(settled[1]).toMatchObject({ reason: { name: 'InvalidCommand' } });
    expect(batches).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
  });

  test('pitfall 5: after an unknown outcome the same commands go again, and the sender is told so', async () => {
    let failures = 2;
    const { group, batches, resends } = groupOf({
      answer: async (items) => {
        if (failures-- > 0) throw new Sent('unknown_outcome');
        return items.map(() => RESULT);
      },
    });
    expect(await group.append(['a', 'b'])).toEqual([RESULT, RESULT]);
    expect(batches).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
    ]);
    expect(resends).toEqual([false, true, true]);
  });

  test('ends every call by its deadline', async () => {
    const { group } = groupOf({
      answer: async () => {
        throw new Sent('unknown_outcome');
      },
    });
    const started = performance.now();
    const settled = await Promise.allSettled([group.append(['a']), group.append(['b'])]);
    expect(settled.map((one) => one.status === 'rejected' && one.reason instanceof LogUnavailable)).toEqual([
      true,
      true,
    ]);
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  describe('calls of one batch with different times left', () => {
    afterEach(() => {
      vi.useRealTimers();
    });

    test('each ends in its time, and none of them cuts the sending of the others short', async () => {
      vi.useFakeTimers();
      const timeoutsMs: number[] = [];
      const { group, batches, hold, release } = groupOf({
        answer: async (items, timeoutMs) => {
          timeoutsMs.push(timeoutMs);
          if (items.includes('first')) throw new Sent('refused');
          return items.map(() => RESULT);
        },
      });
      hold();
      const first = group.append(['first']).catch(() => null);
      await vi.advanceTimersByTimeAsync(1);
      const ended: string[] = [];
      const note = (name: string) => (error: Error) =>
        void ended.push(`${name} at ${performance.now() - startMs}: ${error.message}`);
      const startMs = performance.now();
      const early = group.append(['early']).catch(note('early'));
      await vi.advanceTimersByTimeAsync(150);
      const late = group.append(['late']);
      await vi.advanceTimersByTimeAsync(20);
      release();
      hold();
      await vi.advanceTimersByTimeAsync(29);
      expect(ended).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(ended).toEqual([
        'early at 200: no answer from the log in time: whether it was recorded is unproven',
      ]);
      await vi.advanceTimersByTimeAsync(30);
      release();
      expect(await late).toEqual([RESULT]);
      expect(batches.slice(1)).toEqual([['early', 'late']]);
      // As long as `late` has, and an attempt may take at most.
      expect(timeoutsMs.at(-1)).toBe(100);
      await Promise.all([first, early]);
    });
  });

  test('a refusal that will not change is told at once', async () => {
    const { group, batches } = groupOf({
      answer: async () => {
        throw new Sent('refused');
      },
    });
    await expect(group.append(['a'])).rejects.toBeInstanceOf(LogUnavailable);
    expect(batches).toHaveLength(1);
  });

  test('closing waits for what was taken and takes nothing new', async () => {
    const { group, batches, hold, release } = groupOf();
    hold();
    const taken = [group.append(['a']), group.append(['b'])];
    const closed = group.close();
    await expect(group.append(['late'])).rejects.toBeInstanceOf(LogUnavailable);
    release();
    await closed;
    await Promise.all(taken);
    expect(batches.flat()).toEqual(['a', 'b']);
  });

  test('given up, it takes nothing new, and what waits ends as unproven whatever its deadline is', async () => {
    const { group, batches } = groupOf({
      deadlineMs: 60_000,
      answer: () => Promise.reject(new Sent('unknown_outcome')),
    });
    const waiting = group.append(['a']);
    await vi.waitFor(() => expect(batches.length).toBeGreaterThan(1));
    group.giveUp();
    await expect(waiting).rejects.toThrow(/unproven/);
    await expect(group.append(['b'])).rejects.toThrow(LogUnavailable);
    await group.close();
  });
});
