import { describe } from 'vitest';
import { InMemoryLog } from '#event-log/in-memory-log';
import { eventLogContract } from './event-log.contract.ts';

describe('the log in memory', () => {
  eventLogContract(async () => ({
    log: new InMemoryLog({ logId: 'in-memory', now: () => performance.timeOrigin + performance.now() }),
    close: async () => {},
  }));
});
