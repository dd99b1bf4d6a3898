import type { LogReader } from '#domain/log';
import { partitionOf } from './topology.ts';

/** Rows of one read. */
const READ_ROWS = 1_024;

/**
 * For each partition the position of its newest row so far: what the header of its next message names. Kept in
 * memory while the relay goes on where it was, read from the log when it starts elsewhere.
 */
export class PreviousPositions {
  #at: { readonly pos: number; readonly hash: string } | null = null;
  #newest: number[] = [];

  constructor(
    private readonly log: Pick<LogReader, 'readAfter'>,
    private readonly partitions: number,
    private readonly lookBackRows: number,
  ) {}

  /** Makes sure that the rows up to and including this one are accounted for, and none behind it. */
  async moveTo(pos: number, hash: string): Promise<void> {
    if (this.#at?.pos === pos && this.#at.hash === hash) return;

    this.#at = null;
    this.#newest = await lookBack(this.log, pos, this.partitions, this.lookBackRows);
    this.#at = { pos, hash };
  }

  /** The position before this row in its partition; the row is then the newest. */
  step(row: { readonly pos: number; readonly hash: string; readonly slot: number }): number {
    const partition = partitionOf(row.slot, this.partitions);
    const previous = this.#newest[partition] ?? 0;
    this.#newest[partition] = row.pos;
    this.#at = { pos: row.pos, hash: row.hash };
    return previous;
  }
}

/**
 * A partition without a row among the last `lookBackRows` gets the position before those, which is never below
 * the true one.
 */
async function lookBack(
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
