import { type Allocation, evolveRecorded, UNKNOWN_ALLOCATION } from '#domain/allocation';
import type { LogReader } from '#domain/log';
import { NOT_PLACED, type Placement } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import type { KnownEvent } from '#events/catalogue';
import { readEvent } from '#events/upcast';

/** One allocation as its whole stream leaves it. */
export interface StreamState {
  readonly events: readonly KnownEvent[];
  readonly placement: Placement;
  readonly record: Allocation;
}

const ROWS_MAX = 100_000;

/** Reads a stream whole and folds it: the simulation's streams are short, and a full fold is what is promised. */
export async function readState(log: Pick<LogReader, 'readStream'>, stream: string): Promise<StreamState> {
  const rows = await log.readStream(stream, 0, ROWS_MAX);
  const events = rows.map(readEvent);
  return {
    events,
    placement: events.reduce(evolveRecordedPlacement, NOT_PLACED),
    record: events.reduce(evolveRecorded, UNKNOWN_ALLOCATION),
  };
}
