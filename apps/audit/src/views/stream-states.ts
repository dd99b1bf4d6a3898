import { type AuditedState, evolveAudited, NOTHING_RECORDED } from '#domain/audit/audited-state';
import type { UnreadableView } from '#domain/audit/views';
import type { LogReader } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { readEvent, UnreadableEvent } from '#events/upcast';

export type StreamReader = Pick<LogReader, 'readStream'>;

/** A row of a stream, read, with the state after it. */
export interface StreamStep {
  readonly row: RecordedEvent;
  /** What the row says, or why it cannot be read here. */
  readonly event: KnownEvent | UnreadableEvent;
  /** As the last event that could be read left it: behind one that could not, nothing more is known. */
  readonly state: AuditedState;
  /** The first row of the stream up to here that this version cannot read. */
  readonly unreadable: UnreadableView | null;
}

/** Where a fold of a stream stands, to go on from there. */
export interface StreamPlace {
  readonly state: AuditedState;
  /** Version of the last row that was read; 0 = none. */
  readonly streamVersion: number;
  /** The first row that was met which this version cannot read: behind it nothing is folded. */
  readonly unreadable: UnreadableView | null;
}

export const STREAM_BEGIN: StreamPlace = { state: NOTHING_RECORDED, streamVersion: 0, unreadable: null };

const PAGE_ROWS = 500;

/**
 * Reads a stream on from a place, one row after the other, in bounded memory, and folds it. Answers the place that
 * was reached. Ends behind `upToPos`, when it is given.
 */
export async function followStream(
  log: StreamReader,
  stream: string,
  from: StreamPlace,
  onStep: (step: StreamStep) => void,
  upToPos = Number.POSITIVE_INFINITY,
): Promise<StreamPlace> {
  let place = from;
  for (;;) {
    const rows = await log.readStream(stream, place.streamVersion, PAGE_ROWS);
    for (const row of rows) {
      if (row.pos > upToPos) return place;
      const event = readOrWhyNot(row);
      place = stepped(place, row, event);
      onStep({ row, event, state: place.state, unreadable: place.unreadable });
    }
    if (rows.length < PAGE_ROWS) return place;
  }
}

function stepped(place: StreamPlace, row: RecordedEvent, event: KnownEvent | UnreadableEvent): StreamPlace {
  const { streamVersion } = row;
  if (place.unreadable !== null) return { ...place, streamVersion };
  if (event instanceof UnreadableEvent) {
    return { ...place, streamVersion, unreadable: { pos: row.pos, at: row.recordedAt, why: event.why } };
  }
  return { state: evolveAudited(place.state, event), streamVersion, unreadable: null };
}

function readOrWhyNot(row: RecordedEvent): KnownEvent | UnreadableEvent {
  try {
    return readEvent(row);
  } catch (error) {
    if (error instanceof UnreadableEvent) return error;
    throw error;
  }
}
