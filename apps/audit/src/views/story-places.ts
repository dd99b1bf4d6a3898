import { LRUCache } from 'lru-cache';
import { type Chart, EMPTY_CHART } from '#domain/audit/bars';
import { STREAM_BEGIN, type StreamPlace, type StreamReader } from './stream-states.ts';

/** Where the fold of a stream and its chart stood at one of its rows. */
export interface StoryPlace extends StreamPlace {
  readonly chart: Chart;
  /** Position and hash of that row; 0 and '' before the first. */
  readonly pos: number;
  readonly hash: string;
}

/** Before the first row. */
export const STORY_BEGIN: StoryPlace = { ...STREAM_BEGIN, chart: EMPTY_CHART, pos: 0, hash: '' };

/** One row in so many is kept: what a view may read beyond what it shows. */
export const PLACE_EVERY_ROWS = 1_000;
const STREAMS_MAX = 64;

/**
 * Remembers where the folds of long stories stood, so that a page that looks at one every few seconds reads its
 * newest rows and not all. Rows never change; after a restored backup they are others, which their hash tells.
 * Nothing that was unsealed is kept.
 */
export class StoryPlaces {
  readonly #streams = new LRUCache<string, readonly StoryPlace[]>({ max: STREAMS_MAX });

  /** The newest known place that has at least `rows` rows between it and position `before`; else the begin. */
  async before(
    log: StreamReader,
    stream: string,
    rows: number,
    before = Number.POSITIVE_INFINITY,
  ): Promise<StoryPlace> {
    const known = this.#streams.get(stream) ?? [];
    const last = known.findLast(({ pos }) => pos < before)?.streamVersion ?? 0;
    const place = known.findLast(({ streamVersion }) => streamVersion <= last - rows);
    if (place === undefined) return STORY_BEGIN;
    const [row] = await log.readStream(stream, place.streamVersion - 1, 1);
    if (row?.hash === place.hash) return place;
    this.#streams.delete(stream);
    return STORY_BEGIN;
  }

  /** Keeps a place that a fold has come by, if it is one of those that are kept. */
  keep(stream: string, place: StoryPlace): void {
    if (place.streamVersion % PLACE_EVERY_ROWS !== 0) return;
    const known = this.#streams.get(stream) ?? [];
    if ((known.at(-1)?.streamVersion ?? 0) >= place.streamVersion) return;
    this.#streams.set(stream, [...known, place]);
  }
}
