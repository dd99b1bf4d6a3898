import type { ReceiverStanding, TryOutcome } from '#domain/prompt/notice-table';
import type { Metrics } from '#platform/metrics';

/** What is measured of notices, by receiver: the names come from the configuration. */
export interface NoticeMetrics {
  tried(receiver: string, outcome: TryOutcome): void;
  standing(receivers: readonly ReceiverStanding[]): void;
}

const OUTCOMES = ['delivered', 'refused', 'timeout', 'unreachable'] as const satisfies readonly TryOutcome[];

/** Declares the metrics of notices. Once per process. */
export function noticeMetrics(metrics: Metrics, receivers: readonly string[]): NoticeMetrics {
  const receiver = [...receivers];
  const tries = metrics.counter('spillway_notice_tries_total', 'Tries of notices by how they ended.', {
    receiver,
    outcome: OUTCOMES,
  });
  const waiting = metrics.gauge('spillway_notices_waiting', 'Due notices that were not tried yet.', {
    receiver,
  });
  const failing = metrics.gauge('spillway_notices_failing', 'Notices that failed, or were given up.', {
    receiver,
  });
  const oldest = metrics.gauge(
    'spillway_notice_oldest_age_seconds',
    'Age of the oldest due notice that was not delivered and not given up.',
    { receiver },
  );
  const disabled = metrics.gauge(
    'spillway_notice_receiver_disabled',
    '1 = the receiver answered 410 and is sent nothing.',
    { receiver },
  );
  return {
    tried: (name, outcome) => tries.add({ receiver: name, outcome }),
    standing: (all) => {
      for (const { name, ...standing } of all) {
        if (!receivers.includes(name)) continue;
        waiting.set({ receiver: name }, standing.waiting);
        failing.set({ receiver: name }, standing.failing);
        oldest.set({ receiver: name }, standing.oldestS);
        disabled.set({ receiver: name }, standing.state === 'gone' ? 1 : 0);
      }
    },
  };
}
