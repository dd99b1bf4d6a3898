import type { LogReader } from '#domain/log';
import type { AllocationTable, SealedStore } from '#domain/log-tables';
import { withRole } from '#event-log/connect';
import type { OverviewReads } from '#event-log/overview';
import { PostgresLog } from '#event-log/postgres-log';
import { systemClock } from '#platform/clock';
import type { Secret } from '#platform/secret';

/** What an auditor reads. There is nothing in it that appends, and the role may not. */
export interface AuditLog extends LogReader {
  readonly allocations: AllocationTable;
  readonly sealed: SealedStore;
  readonly overview: Pick<OverviewReads, 'newest'>;
}

const READ_CONNECTIONS = 2;

/** Opens the log under the role that may only read, and closes it when `use` has ended. */
export async function withAuditLog<Result>(
  databaseUrl: Secret<string>,
  use: (log: AuditLog) => Promise<Result>,
): Promise<Result> {
  const log = await PostgresLog.open({
    url: withRole(databaseUrl.reveal(), 'spillway_audit'),
    applicationName: 'spillway-audit',
    now: () => systemClock.monotonicMs(),
    readConnections: READ_CONNECTIONS,
  });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}
