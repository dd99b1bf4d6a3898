import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '#events/envelope';
import { counted } from '#support/allocation-events';
import { digestOf } from '#support/builders';
import { recorded } from '#support/recorded';
import { allocationView } from './allocation-view.ts';
import { StoryPlaces } from './story-places.ts';

const AT = '2026-11-29T12:00:00.000Z';
const STREAM = `allocation-${'a'.repeat(64)}`;
const LIMIT = 500;

/** A long story, in which one row in two stands in the log: others are between them. */
const STORY = Array.from({ length: 5_300 }, (_, index): RecordedEvent => {
  const version = index + 1;
  const { row } = recorded(counted(1 + (version % 2)), version);
  return { ...row, pos: 2 * version, hash: digestOf(`row ${version}`) };
});

class Log {
  rowsRead = 0;
  rows: readonly RecordedEvent[] = STORY;

  async readStream(_stream: string, after: number, limit: number) {
    const page = this.rows.slice(after, after + limit);
    this.rowsRead += page.length;
    return page;
  }
}

const viewed = (log: Log, places?: StoryPlaces, before?: number) =>
  allocationView(log, STREAM, {
    limit: LIMIT,
    at: AT,
    unsealer: null,
    ...(before === undefined ? {} : { before }),
    ...(places === undefined ? {} : { places }),
  });

describe('a long story that was looked at before', () => {
  test('is the same as one that is folded anew, and only its newest rows are read', async () => {
    const [log, places] = [new Log(), new StoryPlaces()];
    const whole = await viewed(log);
    expect(await viewed(log, places)).toEqual(whole);
    log.rowsRead = 0;
    expect(await viewed(log, places)).toEqual(whole);
    expect(log.rowsRead).toBeLessThan(LIMIT + 2 * 1_000);
  });

  test.each([10_599, 6_001, 2_003, 1_001, 901, 3])(
    'before position %d it is the same too, whole where it begins',
    async (before) => {
      const [log, places] = [new Log(), new StoryPlaces()];
      await viewed(log, places);
      expect(await viewed(log, places, before)).toEqual(await viewed(log, undefined, before));
    },
  );

  test('has what came since', async () => {
    const [log, places] = [new Log(), new StoryPlaces()];
    log.rows = STORY.slice(0, 4_200);
    await viewed(log, places);
    log.rows = STORY;
    expect(await viewed(log, places)).toEqual(await viewed(log));
  });

  test('is folded anew where the log is another one, as after a restored backup', async () => {
    const [log, places] = [new Log(), new StoryPlaces()];
    await viewed(log, places);
    log.rows = STORY.slice(0, 4_700).map((row) => ({ ...row, hash: digestOf(`other ${row.pos}`) }));
    expect(await viewed(log, places)).toEqual(await viewed(log));
    log.rows = log.rows.slice(0, 600);
    expect(await viewed(log, places)).toEqual(await viewed(log));
  });
});
