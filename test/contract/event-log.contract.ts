import { afterAll, beforeAll } from 'vitest';
import type { Log } from '#domain/log-tables';
import { allocationsContract } from './event-log-allocations.contract.ts';
import { appendedContract } from './event-log-appended.contract.ts';
import { besideContract } from './event-log-beside.contract.ts';
import { leasesContract } from './event-log-leases.contract.ts';
import { readContract } from './event-log-read.contract.ts';
import { stepsContract } from './event-log-steps.contract.ts';
import { versionsContract } from './event-log-versions.contract.ts';
import type { LogUnderTest } from './log-under-test.ts';

/** What every log must hold, whatever it is built on. `open` is called once; the suite closes what it opens. */
export function eventLogContract(open: () => Promise<{ log: Log; close: () => Promise<void> }>): void {
  let opened: Awaited<ReturnType<typeof open>> | undefined;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened?.close());

  const underTest: LogUnderTest = {
    log() {
      if (!opened) throw new Error('the log is open only while tests and hooks run');
      return opened.log;
    },
    async appendOne(given) {
      const [result] = await underTest.log().append([given]);
      if (!result) throw new Error('no result');
      return result;
    },
  };

  appendedContract(underTest);
  versionsContract(underTest);
  stepsContract(underTest);
  leasesContract(underTest);
  besideContract(underTest);
  allocationsContract(underTest);
  readContract(underTest);
}
