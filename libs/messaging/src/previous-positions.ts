import type { LogReader } from '#domain/log';
import { partitionOf } from './topology.ts';

/** Rows of one read. */
const READ_ROWS = 1_024;

/**
 * For each partition the position of its newest row at or before `pos`. Looks back through `lookBackRows`
 * rows; a partition with none among them gets the position before those, which is never below the true one:
 * a reader that stands between the two looks into the log and finds nothing missing.
 */
export async function previousPositions(
  log: Pick<LogReader, 'readAfter'>,
  pos: number,
  partitions: number,
  lookBackRows: number,
): Promise<number[]> {
  const from = Math.max(0, pos - lookBackRows);
  const newest = new Array<number>(partitions).fill(from);
  let read = from;
  while (read < pos) {
    const rows = await log.readAfter(read, Math.min(READ_ROWS, pos - read));
    const last = rows.at(-1);
    if (last === undefined) break;
    for (const row of rows) if (row.pos <= pos) newest[partitionOf(row.slot, partitions)] = row.pos;
    read = last.pos;
  }
  return newest;
}
