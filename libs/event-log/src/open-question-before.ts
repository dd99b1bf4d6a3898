import { ALLOCATION_EVENTS, isAllocationDecision } from '#domain/allocation';
import type { LogReader } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import type { OpenQuestion } from '#events/scalars';
import { readEvent } from '#events/upcast';

/**
 * The question that was open before a decision: every decision about an allocation carries the one after it. One
 * indexed read. `read` may answer null for a row to be passed over; without it, what cannot be read rejects.
 */
export async function openQuestionBefore(
  log: Pick<LogReader, 'newestDecisions'>,
  { stream, decisionVersion }: RecordedEvent,
  read: (row: RecordedEvent) => KnownEvent | null = readEvent,
): Promise<OpenQuestion | null> {
  if (decisionVersion <= 1) return null;
  const [row] = await log.newestDecisions(stream, ALLOCATION_EVENTS, 1, decisionVersion - 1);
  const event = row === undefined ? null : read(row);
  return event !== null && isAllocationDecision(event) ? event.data.after.openQuestion : null;
}
