import { beforeEach, describe, expect, test } from 'vitest';
import { InMemoryLog } from '#event-log/in-memory-log';
import { allocationStream } from '#events/streams';
import { at, digestOf } from '#support/builders';
import { type Release, type ReleaseLog, releaseParked } from './release-parked.ts';

const stream = allocationStream(digestOf('ref'));
const consumer = 'classifier';

let nowMs = 0;
let log: InMemoryLog;
beforeEach(() => {
  nowMs = 0;
  log = new InMemoryLog({ logId: 'log', now: () => nowMs });
});

const park = () => log.parked.park({ consumer, stream, firstPos: 4, reason: 'poison', tries: 5 });
const release = (as: Release, on: ReleaseLog = log) => releaseParked(on, { consumer, stream, as, at: at(0) });
const recorded = async () => (await log.readAfter(0, 10)).map(({ type, role }) => `${type} ${role}`);
const state = async () => (await log.parked.find(consumer, stream))?.state;

/** The log, whose `mark` does something else first. */
const marking = (mark: ReleaseLog['parked']['mark']): ReleaseLog => ({
  append: (commands) => log.append(commands),
  parked: { find: (...row) => log.parked.find(...row), mark },
});

describe('an operator lets a parked allocation go', () => {
  test.each([
    ['requeued', 'ParkedRequeued input'],
    ['skipped', 'ParkedSkipped input'],
  ] as const)('%s: recorded as an input of its stream, then marked', async (as, event) => {
    await park();
    expect(await release(as)).toMatchObject({ outcome: 'released', row: { firstPos: 4, state: as } });
    expect(await recorded()).toEqual([event]);
    expect(await state()).toBe(as);
  });

  test('once, however often it is said', async () => {
    await park();
    await release('requeued');
    expect(await release('requeued')).toMatchObject({ outcome: 'released_already' });
    expect(await recorded()).toEqual(['ParkedRequeued input']);
  });

  test('finished by the same call when it was cut short between the record and the mark', async () => {
    await park();
    const cut = marking(() => Promise.reject(new Error('killed')));
    await expect(release('skipped', cut)).rejects.toThrow('killed');
    expect(await state()).toBe('parked');
    expect(await release('skipped')).toMatchObject({ outcome: 'released' });
    expect(await recorded()).toEqual(['ParkedSkipped input']);
    expect(await state()).toBe('skipped');
  });

  test('not when nothing of it is parked', async () => {
    expect(await release('requeued')).toEqual({ outcome: 'nothing_parked' });
    expect(await recorded()).toEqual([]);
  });

  test('again when it was parked again at the same event', async () => {
    await park();
    await release('requeued');
    await log.parked.clear(consumer, stream);
    nowMs = 1_000;
    await park();
    expect(await release('requeued')).toMatchObject({ outcome: 'released' });
    expect(await recorded()).toEqual(['ParkedRequeued input', 'ParkedRequeued input']);
  });

  test('never past an event that nobody decided about: the consumer has moved on meanwhile', async () => {
    await park();
    const movesOn: ReleaseLog = {
      ...marking((...row) => log.parked.mark(...row)),
      append: async (commands) => {
        const results = await log.append(commands);
        await log.parked.clear(consumer, stream);
        await log.parked.park({ consumer, stream, firstPos: 9, reason: 'poison', tries: 5 });
        return results;
      },
    };
    expect(await release('skipped', movesOn)).toMatchObject({ outcome: 'moved_on' });
    expect(await log.parked.find(consumer, stream)).toMatchObject({ firstPos: 9, state: 'parked' });
  });
});
