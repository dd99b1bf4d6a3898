import type { Metrics } from '#platform/metrics';
import { CALL_OUTCOMES, type OnCall } from './call-result.ts';

const ANSWER_BUCKETS_MS = [1, 2, 5, 10, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** Counts calls of one kind by outcome and how long they took, by HTTP and by the bus. */
export function callMetrics(metrics: Metrics, call: 'attempt' | 'launch' | 'observation'): OnCall {
  const calls = metrics.counter(`spillway_${call}_calls_total`, `Calls of ${call} by how they ended.`, {
    outcome: CALL_OUTCOMES,
  });
  const took = metrics.histogram(
    `spillway_${call}_answer_ms`,
    `From a call of ${call} to its answer, in milliseconds.`,
    { outcome: ['answered', 'undecided'] },
    ANSWER_BUCKETS_MS,
  );
  return (outcome, tookMs) => {
    calls.add({ outcome });
    if (outcome === 'answered' || outcome === 'undecided') took.observe({ outcome }, tookMs);
  };
}
