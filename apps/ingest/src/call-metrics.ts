import type { Metrics } from '#platform/metrics';
import { CALL_OUTCOMES, type CallOutcome } from './attempt-calls.ts';

const ANSWER_BUCKETS_MS = [1, 2, 5, 10, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** Counts attempts by outcome and how long they took, by HTTP and by the bus. */
export function callMetrics(metrics: Metrics): (outcome: CallOutcome, tookMs: number) => void {
  const calls = metrics.counter('spillway_attempt_calls_total', 'Attempts by how they ended.', {
    outcome: CALL_OUTCOMES,
  });
  const took = metrics.histogram(
    'spillway_attempt_answer_ms',
    'From an attempt to its answer, in milliseconds.',
    { outcome: ['answered', 'undecided'] },
    ANSWER_BUCKETS_MS,
  );
  return (outcome, tookMs) => {
    calls.add({ outcome });
    if (outcome === 'answered' || outcome === 'undecided') took.observe({ outcome }, tookMs);
  };
}
