import { refOfStream } from '#events/streams';
import type { WorkerReport } from '#messaging/partition-worker';
import type { Logger } from '#platform/logger';

/** Writes what a consumer's workers report as log lines: digests, positions and counts only. */
export function reportTo(logger: Logger, consumer: string) {
  return (report: WorkerReport, partition: number): void => {
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
      case 'foreign_message':
        logger.warn('foreign_bus_message', { ...where, pos: report.pos });
        return;
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
