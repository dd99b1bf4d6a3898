import { evolveRecorded, UNKNOWN_ALLOCATION } from '#domain/allocation';
import type { Standing } from '#domain/fact';
import type { LogReader } from '#domain/log';
import { NOT_PLACED } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import type { KnownEvent } from '#events/catalogue';
import { readEvent } from '#events/upcast';

const PAGE_ROWS = 500;

/**
 * An allocation as its newest recorded decision left it, from its whole stream; `onEvent` sees every event on the
 * way. Throws UnreadableEvent for what a newer version wrote.
 */
export async function standingOf(
  log: Pick<LogReader, 'readStream'>,
  stream: string,
  onEvent: (event: KnownEvent) => void = () => {},
): Promise<Standing> {
  let standing: Standing = { placement: NOT_PLACED, record: UNKNOWN_ALLOCATION };
  let version = 0;
  for (;;) {
    const rows = await log.readStream(stream, version, PAGE_ROWS);
    for (const row of rows) {
      const event = readEvent(row);
      onEvent(event);
      standing = {
        placement: evolveRecordedPlacement(standing.placement, event),
        record: evolveRecorded(standing.record, event),
      };
      version = row.streamVersion;
    }
    if (rows.length < PAGE_ROWS) return standing;
  }
}
