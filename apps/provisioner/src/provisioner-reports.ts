import { refOfStream } from '#events/streams';
import type { WorkerReport } from '#messaging/partition-worker';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import { RepeatedLines } from '#platform/repeated-lines';
import type { ProvisionerReport } from './parts.ts';

const KINDS: readonly ProvisionerReport['kind'][] = [
  'alert',
  'step_failed',
  'lease_lost',
  'listing_failed',
  'steps_exceeded',
];
const CONSUMER_KINDS: readonly WorkerReport['kind'][] = [
  'parked',
  'requeue_done',
  'foreign_message',
  'halted',
  'handler_failed',
  'retrying',
];

/** Counts and logs what workers report: refs, lanes and members of closed unions only. */
export function provisionerReports(logger: Logger, metrics: Metrics): (event: ProvisionerReport) => void {
  const reports = metrics.counter('spillway_provisioner_reports_total', 'What workers report, by kind.', {
    kind: KINDS,
  });
  return (event) => {
    reports.add({ kind: event.kind });
    switch (event.kind) {
      case 'alert':
        logger.warn('alert_raised', { ...refField(event.stream), reason: event.alert });
        return;
      case 'step_failed':
        logger.error('step_failed', refField(event.stream), event.error);
        return;
      case 'lease_lost':
        logger.warn('lease_lost', refField(event.stream));
        return;
      case 'steps_exceeded':
        logger.error('steps_exceeded', refField(event.stream));
        return;
      case 'listing_failed':
        logger.warn('listing_failed', { lane: event.lane, reason: event.failure.kind });
    }
  };
}

/** What the consumer that wakes the workers reports. */
export function consumerReports(logger: Logger, metrics: Metrics) {
  const reports = metrics.counter('spillway_consumer_reports_total', 'What consumers report, by kind.', {
    kind: CONSUMER_KINDS,
  });
  const lines = new RepeatedLines();
  return (report: WorkerReport, partition: number): void => {
    reports.add({ kind: report.kind });
    if (report.kind === 'foreign_message') {
      // Anybody may send many.
      const repeats = lines.leftOutBefore(`foreign ${partition}`);
      if (repeats !== null)
        logger.warn('foreign_bus_message', { consumer: 'provisioner', partition, pos: report.pos, repeats });
      return;
    }
    if (report.kind === 'handler_failed' || report.kind === 'retrying') {
      logger.warn('consumer_trouble', { consumer: 'provisioner', partition }, report.error);
      return;
    }
    logger.warn('consumer_trouble', { consumer: 'provisioner', partition, outcome: report.kind });
  };
}

function refField(stream: string): { readonly ref?: string } {
  const ref = refOfStream(stream);
  return ref === null ? {} : { ref };
}
