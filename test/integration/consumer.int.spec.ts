import { describe } from 'vitest';
import { withPostgres } from '#support/infra';
import { openLog, withClient } from '#support/open-log';
import { consumerContract } from '../contract/consumer.contract.ts';

describe('a consumer of the log on PostgreSQL', () => {
  const database = withPostgres();
  consumerContract(async () => {
    const log = await openLog(database.url, { pollIntervalMs: 100 });
    return {
      log,
      setBack: (consumer, partition, pos) =>
        withClient(database.url, async (client) => {
          await client.query(
            `update spillway.consumer_checkpoint k
             set pos = $3, hash = coalesce((select e.hash from spillway.event e where e.pos = $3), repeat('0', 64))
             where k.consumer = $1 and k.partition = $2`,
            [consumer, partition, pos],
          );
        }),
      close: () => log.close(),
    };
  });
});
