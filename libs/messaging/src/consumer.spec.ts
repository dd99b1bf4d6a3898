import { describe } from 'vitest';
import { InMemoryLog } from '#event-log/in-memory-log';
import { consumerContract } from '../../../test/contract/consumer.contract.ts';

describe('a consumer of the log in memory', () => {
  consumerContract(async () => {
    const now = () => performance.timeOrigin + performance.now();
    const log = new InMemoryLog({ logId: 'in-memory', now });
    return {
      log,
      setBack: async (consumer, partition, pos) => {
        log.checkpoints.move(consumer, partition, pos, (await log.at(pos))?.hash ?? '0'.repeat(64));
      },
      close: async () => {},
    };
  });
});
