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

/** What is read page by page, or faster where the log has a way. */
export interface WalkedLog extends Pick<LogReader, 'readAfter'> {
  /** Pages of whole events of a share, in the order of the log; both ends belong to the range. */
  eventPages?(from: number, to: number, share: Partition): AsyncIterable<readonly RecordedEvent[]>;
}

/** Reads a share of the log from its beginning. The next page is on its way while one is worked on. */
export async function walkLog(log: WalkedLog, walk: Walk): Promise<void> {
  const { share, upTo } = walk;
  if (upTo > 0) {
    for await (const page of log.eventPages?.(1, upTo, share) ?? pagesAfter(log, walk)) {
      await walk.onPage(page);
      walk.onProgress(page.at(-1)?.pos ?? 0);
    }
  }
  walk.onProgress(upTo);
}

async function* pagesAfter(
  log: WalkedLog,
  { share, pageSize, upTo }: Walk,
): AsyncGenerator<readonly RecordedEvent[]> {
  const readAfter = (pos: number): Promise<readonly RecordedEvent[]> =>
    share.count === 1 ? log.readAfter(pos, pageSize) : log.readAfter(pos, pageSize, share);
  let coming = readAfter(0);
  try {
    for (let last = 0; last < upTo; ) {
      const page = await coming;
      const end = page.at(-1);
      if (end === undefined) return;
      coming = readAfter(end.pos);
      coming.catch(() => {});
      const rows = page.filter(({ pos }) => pos <= upTo);
      if (rows.length > 0) yield rows;
      last = end.pos;
    }
  } finally {
    // The last read was made in advance: it must not be under way when the log is closed.
    await coming.catch(() => {});
  }
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
