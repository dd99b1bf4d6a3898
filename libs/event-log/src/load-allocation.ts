import { type Allocation, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { allocationFromDecisions, COLD_START_READS, needsOlderDeclines } from '#domain/cold-start';
import type { LogReader } from '#domain/log';
import type { KnownEvent } from '#events/catalogue';
import type { RecordedEvent } from '#events/envelope';
import { readEvent } from '#events/upcast';

type Reader = Pick<LogReader, 'newestDecisions' | 'decisionVersion'>;

/**
 * The allocation as its newest decision left it, from a bounded number of rows (fallback 7). Null for a stream
 * that does not exist. Throws UnreadableEvent for what a newer version wrote.
 */
export async function loadAllocation(log: Reader, stream: string): Promise<Allocation | null> {
  const version = await log.decisionVersion(stream);
  if (version === null) return null;
  if (version === 0) return UNKNOWN_ALLOCATION;

  const { types, limit } = COLD_START_READS.last;
  const [newest] = await log.newestDecisions(stream, types, limit);
  const last = newest === undefined ? null : readEvent(newest);
  if (last === null) return { ...UNKNOWN_ALLOCATION, version };
  const [rows, declinedRows] = await Promise.all([readRows(log, last.row), readDeclines(log, last)]);
  // A decision made since `version` was read belongs to the state: the newer of the two is the truth.
  return allocationFromDecisions({
    last,
    ...rows,
    declinedRows,
    version: Math.max(version, last.row.decisionVersion),
  });
}

/**
 * The allocation as one decision left it: what was decided then, not the state now (fallback 1.1). For answers
 * only: without the declined evidence, which no answer shows.
 */
export async function allocationAt(log: Reader, decision: RecordedEvent): Promise<Allocation> {
  const rows = await readRows(log, decision);
  const last = readEvent(decision);
  return allocationFromDecisions({ last, ...rows, declinedRows: [], version: decision.decisionVersion });
}

async function readRows(log: Reader, last: RecordedEvent) {
  const { attemptRows, consentRows } = COLD_START_READS;
  const upTo = last.decisionVersion;
  const [attempts, consents] = await Promise.all([
    log.newestDecisions(last.stream, attemptRows.types, attemptRows.limit, upTo),
    log.newestDecisions(last.stream, consentRows.types, consentRows.limit, upTo),
  ]);
  return { attemptRows: attempts.map(readEvent), consentRows: consents.map(readEvent) };
}

async function readDeclines(log: Reader, last: KnownEvent): Promise<readonly KnownEvent[]> {
  const { types, limit } = COLD_START_READS.declinedRows;
  const all: KnownEvent[] = [];
  let upTo = last.row.decisionVersion;
  for (;;) {
    const page = (await log.newestDecisions(last.row.stream, types, limit, upTo)).map(readEvent);
    all.push(...page);
    if (!needsOlderDeclines(page, last)) return all;
    upTo = (page.at(-1)?.row.decisionVersion ?? 1) - 1;
  }
}
