import { LRUCache } from 'lru-cache';
import type { LogReader } from '#domain/log';
import { NOT_PLACED, type Placement } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import { evolveKept, type KeptObservations, NOTHING_KEPT } from '#domain/watch/kept-observations';
import type { RecordedEvent } from '#events/envelope';
import { readEvent, readMeta } from '#events/upcast';

type StreamLog = Pick<LogReader, 'readStream'>;

/** A stream as far as it has been read. */
export interface PlacementView {
  readonly placement: Placement;
  readonly kept: KeptObservations;
  /** Version of the last event that was folded; 0 = the stream is empty or unknown. */
  readonly streamVersion: number;
  /** Its position in the log; 0 likewise. */
  readonly pos: number;
  /** Position of the decision that gave the placement its verdict; null while it has none. */
  readonly verdictPos: number | null;
}

const PAGE_ROWS = 500;
const UNREAD: PlacementView = {
  placement: NOT_PLACED,
  kept: NOTHING_KEPT,
  streamVersion: 0,
  pos: 0,
  verdictPos: null,
};

/**
 * Placements as the log has them now: a bounded cache over a full fold. Each question reads only what is new in
 * the stream since the last one, so that it is never answered from memory alone.
 */
export class PlacementStates {
  readonly #log: StreamLog;
  readonly #views: LRUCache<string, PlacementView>;

  constructor(log: StreamLog, max: number) {
    this.#log = log;
    this.#views = new LRUCache({ max });
  }

  /** The placement as its newest recorded decision left it. Throws UnreadableEvent for what a newer version wrote. */
  async get(stream: string): Promise<Placement> {
    return (await this.view(stream)).placement;
  }

  /** The same with the polls that are kept in the stream. */
  async view(stream: string): Promise<PlacementView> {
    let view = this.#views.get(stream) ?? UNREAD;
    for (;;) {
      const rows = await this.#log.readStream(stream, view.streamVersion, PAGE_ROWS);
      view = rows.reduce(folded, view);
      if (rows.length < PAGE_ROWS) break;
    }
    const known = this.#views.get(stream);
    // Two questions at once: the one that read further stays.
    if (known === undefined || known.streamVersion < view.streamVersion) this.#views.set(stream, view);
    return view;
  }

  /** The next question reads the whole stream. */
  forget(stream: string): void {
    this.#views.delete(stream);
  }
}

/** The stream as its rows up to and including this version left it. */
export async function viewAt(log: StreamLog, stream: string, streamVersion: number): Promise<PlacementView> {
  let view = UNREAD;
  for (;;) {
    const rows = await log.readStream(stream, view.streamVersion, PAGE_ROWS);
    const upTo = rows.filter((row) => row.streamVersion <= streamVersion);
    view = upTo.reduce(folded, view);
    if (upTo.length < PAGE_ROWS) return view;
  }
}

function folded(view: PlacementView, row: RecordedEvent): PlacementView {
  const event = readEvent(row);
  const placement = evolveRecordedPlacement(view.placement, event);
  return {
    placement,
    kept: evolveKept(view.kept, event, readMeta(row).causedBy),
    streamVersion: row.streamVersion,
    pos: row.pos,
    verdictPos: verdictPosOf(view, placement, row),
  };
}

function verdictPosOf(before: PlacementView, after: Placement, row: RecordedEvent): number | null {
  if (after.verdict === null) return null;
  return after.verdict === before.placement.verdict ? before.verdictPos : row.pos;
}
