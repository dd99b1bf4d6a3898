import { describe, expect, test } from 'vitest';
import type { CheckpointStep } from '#domain/log';
import { ZERO_HASH } from '#events/envelope';
import { command, fresh } from '#support/log-builders';
import type { LogUnderTest } from './log-under-test.ts';

/** Checkpoint steps. */
export function stepsContract({ log, appendOne }: LogUnderTest): void {
  /** A consumer at the beginning, and its step to the newest event. */
  const consumerAtStart = async (): Promise<{ consumer: string; step: CheckpointStep }> => {
    const consumer = fresh('consumer');
    await log().checkpoints.ensure(consumer, { index: 0, count: 1 });
    await appendOne(command());
    const head = await log().head();
    return { consumer, step: { consumer, partition: 0, from: 0, to: head.pos, hash: head.hash } };
  };

  describe('checkpoint steps', () => {
    test('move with the events or not at all', async () => {
      const { consumer, step } = await consumerAtStart();
      const given = command({ checkpoint: step, expected: { decisionVersion: 9 } });
      expect(await appendOne(given)).toMatchObject({ outcome: 'wrong_version' });
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(0);

      expect(await appendOne({ ...given, expected: 'any' })).toMatchObject({ outcome: 'appended' });
      expect(await log().checkpoints.read(consumer, 0)).toMatchObject({ pos: step.to, hash: step.hash });
    });

    test('pitfall 20: an effect that was recorded with its step does not happen again', async () => {
      const { step } = await consumerAtStart();
      const given = command({ checkpoint: step });
      await appendOne(given);
      expect(await appendOne(given)).toEqual({ outcome: 'stale_consumer', at: step.to });
      expect(await appendOne({ ...given, commandId: fresh('other') })).toEqual({
        outcome: 'stale_consumer',
        at: step.to,
      });
      expect(await log().readStream(given.stream, 0, 10)).toHaveLength(1);
    });

    test('without events just move', async () => {
      const { consumer, step } = await consumerAtStart();
      const before = await log().head();
      expect(await appendOne(command({ events: [], checkpoint: step }))).toMatchObject({
        outcome: 'appended',
        firstPos: 0,
        decisionVersion: 0,
      });
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(step.to);
      expect(await log().head()).toEqual(before);
    });

    test('follow each other within one call', async () => {
      const { consumer, step } = await consumerAtStart();
      const middle = await log().at(step.to - 1);
      const half = { ...step, to: step.to - 1, hash: middle?.hash ?? ZERO_HASH };
      // The log may have had one row only, and a step to position 0 is none.
      const steps = middle ? [half, { ...step, from: half.to }] : [step];
      const results = await log().append(steps.map((checkpoint) => command({ checkpoint })));
      expect(results.map((result) => result.outcome)).toEqual(steps.map(() => 'appended'));
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(step.to);
    });

    test('of several partitions in one call go their own ways', async () => {
      const { consumer, step } = await consumerAtStart();
      await appendOne(command());
      const head = await log().head();
      const other = { ...step, consumer: fresh('consumer') };
      await log().checkpoints.ensure(other.consumer, { index: 0, count: 1 });
      const second = { from: step.to, to: head.pos, hash: head.hash };
      const results = await log().append([
        command({ checkpoint: step }),
        command({ checkpoint: { ...other, ...second } }),
        command({ checkpoint: { ...step, ...second } }),
        command({ checkpoint: other }),
      ]);
      expect(results.map(({ outcome }) => outcome)).toEqual([
        'appended',
        'stale_consumer',
        'appended',
        'appended',
      ]);
      expect(results[1]).toEqual({ outcome: 'stale_consumer', at: 0 });
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(head.pos);
      expect(await log().checkpoints.read(other.consumer, 0)).toMatchObject({
        pos: step.to,
        hash: step.hash,
      });
    });

    test('behind a command that was refused are refused, and the checkpoint stays before it', async () => {
      const { consumer, step } = await consumerAtStart();
      await appendOne(command());
      await appendOne(command());
      const [middle, head] = [await log().at(step.to + 1), await log().head()];
      const later = { ...step, from: step.to, to: step.to + 1, hash: middle?.hash ?? ZERO_HASH };
      const last = { ...step, from: later.to, to: head.pos, hash: head.hash };
      const results = await log().append([
        command({ checkpoint: step }),
        command({ checkpoint: later, expected: { decisionVersion: 9 } }),
        command({ checkpoint: last }),
      ]);
      expect(results.map(({ outcome }) => outcome)).toEqual(['appended', 'wrong_version', 'stale_consumer']);
      expect(results[2]).toEqual({ outcome: 'stale_consumer', at: step.to });
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(step.to);
    });

    test.each([
      ['from another place', (step: CheckpointStep) => ({ ...step, from: step.to })],
      [
        'with a hash that is not the log\u2019s',
        (step: CheckpointStep) => ({ ...step, hash: 'f'.repeat(64) }),
      ],
      ['beyond the head', (step: CheckpointStep) => ({ ...step, to: step.to + 1000 })],
      ['of a consumer without a row', (step: CheckpointStep) => ({ ...step, consumer: fresh('unknown') })],
      ['of another partition', (step: CheckpointStep) => ({ ...step, partition: 1 })],
    ])('are refused %s, and nothing is written', async (_reason, change) => {
      const { consumer, step } = await consumerAtStart();
      const given = command({
        checkpoint: change(step),
        mark: { instance: 'i-1', observedAt: '2026-11-29T10:00:00.000Z' },
      });
      expect(await appendOne(given)).toEqual({ outcome: 'stale_consumer', at: 0 });
      expect(await log().readStream(given.stream, 0, 1)).toEqual([]);
      expect(await log().marks.of(given.stream)).toEqual([]);
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(0);
    });

    test('move with a duplicate, so that a consumer that was set back does not stand still', async () => {
      const { consumer, step } = await consumerAtStart();
      const given = command();
      await appendOne(given);
      expect(await appendOne({ ...given, checkpoint: step })).toMatchObject({ outcome: 'duplicate' });
      expect((await log().checkpoints.read(consumer, 0))?.pos).toBe(step.to);
    });

    test('are checked first: before fence, id and version', async () => {
      const { step } = await consumerAtStart();
      const known = command();
      await appendOne(known);
      const everythingWrong = {
        ...known,
        digest: 'other',
        expected: 'new' as const,
        fence: { lease: fresh('lease'), fence: 7 },
        checkpoint: { ...step, from: step.to },
      };
      const { checkpoint: _step, ...withoutStep } = everythingWrong;
      const { fence: _fence, ...withoutFence } = withoutStep;
      expect((await appendOne(everythingWrong)).outcome).toBe('stale_consumer');
      expect((await appendOne(withoutStep)).outcome).toBe('fenced');
      expect((await appendOne(withoutFence)).outcome).toBe('id_conflict');
      expect((await appendOne({ ...withoutFence, commandId: fresh('new') })).outcome).toBe('wrong_version');
    });

    test('start where they are told, once, and the lowest is known', async () => {
      const consumer = fresh('consumer');
      const head = await log().head();
      expect(await log().checkpoints.ensure(consumer, { index: 1, count: 2 }, head.pos)).toMatchObject({
        consumer,
        partition: 1,
        partitionCount: 2,
        pos: head.pos,
        hash: head.hash,
      });
      expect(await log().checkpoints.ensure(consumer, { index: 1, count: 2 })).toMatchObject({
        pos: head.pos,
      });
      await log().checkpoints.ensure(consumer, { index: 0, count: 2 });
      expect(await log().checkpoints.lowest()).toBe(0);
      expect((await log().checkpoints.all()).filter((row) => row.consumer === consumer)).toHaveLength(2);
    });

    test('two layouts of one consumer are refused', async () => {
      const consumer = fresh('consumer');
      await log().checkpoints.ensure(consumer, { index: 0, count: 2 });
      await expect(log().checkpoints.ensure(consumer, { index: 3, count: 4 })).rejects.toMatchObject({
        name: 'CheckpointLayout',
      });
    });
  });
}
