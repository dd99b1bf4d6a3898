import type { LogReader, Partition } from '#domain/log';
import type { RecordedEvent } from '#events/envelope';

/** A part of the log to be read page by page. */
export interface Walk {
  readonly share: Partition;
  readonly pageSize: number;
  /** The last position that is read. */
  readonly upTo: number;
  /** Rows in the order of the log, all at or below `upTo`. */
  onPage(rows: readonly RecordedEvent[]): void | Promise<void>;
  /** Called with the position that was reached. */
  onProgress(pos: number): void;
}

/** Reads a share of the log from its beginning. The next page is on its way while one is worked on. */
export async function walkLog(log: Pick<LogReader, 'readAfter'>, walk: Walk): Promise<void> {
  const { share, pageSize, upTo } = walk;
  const readAfter = (pos: number): Promise<readonly RecordedEvent[]> =>
    share.count === 1 ? log.readAfter(pos, pageSize) : log.readAfter(pos, pageSize, share);
  if (upTo <= 0) return walk.onProgress(upTo);
  let coming = readAfter(0);
  try {
    for (let last = 0; last < upTo; ) {
      const page = await coming;
      const end = page.at(-1);
      if (end === undefined) break;
      coming = readAfter(end.pos);
      coming.catch(() => {});
      await walk.onPage(page.filter(({ pos }) => pos <= upTo));
      last = end.pos;
      walk.onProgress(Math.min(last, upTo));
    }
  } finally {
    // The last read was made in advance: it must not be under way when the log is closed.
    await coming.catch(() => {});
  }
  walk.onProgress(upTo);
}

/**
 * Where a replay that was asked for `until` ends: at the head, at `until`, or at the last whole command before
 * it. Half a command would look as if what follows in it had never been decided.
 */
export async function endOf(
  log: Pick<LogReader, 'readAfter'>,
  head: number,
  until: number | null,
): Promise<number> {
  if (until === null || until >= head) return head;
  const [next] = await log.readAfter(until, 1);
  return next === undefined ? until : until - Math.min(next.commandIndex, until);
}
