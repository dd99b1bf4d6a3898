import { describe } from 'vitest';
import { withRole } from '#event-log/connect';
import { migrate } from '#event-log/migrate';
import { PostgresLog } from '#event-log/postgres-log';
import { withPostgres } from '#support/infra';
import { eventLogContract } from './event-log.contract.ts';

describe('the log on PostgreSQL', () => {
  const database = withPostgres();
  eventLogContract(async () => {
    await migrate(database.url);
    const log = await PostgresLog.open({
      // The contract has what an operator does too: erasing and re-wrapping.
      url: withRole(database.url, 'spillway_admin'),
      applicationName: 'contract',
      now: () => performance.now(),
    });
    return { log, close: () => log.close() };
  });
});
