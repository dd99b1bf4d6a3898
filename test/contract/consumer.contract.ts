import { afterAll, beforeAll } from 'vitest';
import { consumerBusContract } from './consumer-bus.contract.ts';
import { consumerFailuresContract } from './consumer-failures.contract.ts';
import type { ConsumerLog } from './consumer-log.ts';
import { consumerOrderContract } from './consumer-order.contract.ts';

/** What a consumer promises over any log. */
export function consumerContract(open: () => Promise<ConsumerLog>): void {
  let opened: ConsumerLog | null = null;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened?.close());
  const current = (): ConsumerLog => {
    if (opened === null) throw new Error('the log is open from the first hook on');
    return opened;
  };
  consumerOrderContract(current);
  consumerFailuresContract(() => current().log);
  consumerBusContract(() => current().log);
}
