import { refOfStream } from '#events/streams';
import type { WorkerReport } from '#messaging/partition-worker';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import { RepeatedLines } from '#platform/repeated-lines';

const KINDS: readonly WorkerReport['kind'][] = [
  'parked',
  'requeue_done',
  'foreign_message',
  'halted',
  'handler_failed',
  'retrying',
];

/** Counts and logs what a consumer's workers report: digests, positions and counts only. */
export function reportTo(logger: Logger, metrics: Metrics, consumer: string) {
  const reports = metrics.counter('spillway_consumer_reports_total', 'What consumers report, by kind.', {
    kind: KINDS,
  });
  const lines = new RepeatedLines();
  return (report: WorkerReport, partition: number): void => {
    reports.add({ kind: report.kind });
    const where = { consumer, partition };
    switch (report.kind) {
      case 'parked':
        logger.warn('allocation_parked', {
          ...where,
          ...refField(report.stream),
          pos: report.pos,
          tries: report.tries,
        });
        return;
      case 'requeue_done':
        logger.info('parked_allocation_caught_up', { ...where, ...refField(report.stream), pos: report.pos });
        return;
      case 'foreign_message': {
        // Anybody may send many.
        const repeats = lines.leftOutBefore(`foreign ${partition}`);
        if (repeats !== null) logger.warn('foreign_bus_message', { ...where, pos: report.pos, repeats });
        return;
      }
      case 'halted':
        logger.warn('halted_at_unreadable_event', { ...where, pos: report.pos, reason: report.why });
        return;
      case 'handler_failed':
        logger.error('handler_failed', { ...where, pos: report.pos, tries: report.tries }, report.error);
        return;
      case 'retrying':
        logger.warn('consumer_retries', where, report.error);
    }
  };
}

function refField(stream: string): { readonly ref?: string } {
  const ref = refOfStream(stream);
  return ref === null ? {} : { ref };
}
