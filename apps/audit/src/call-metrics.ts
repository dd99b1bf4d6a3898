import type { FastifyInstance } from 'fastify';
import type { Metrics } from '#platform/metrics';

const ANSWER_BUCKETS_MS = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** The reads of the audit by the template of their route. */
const CALLS: Readonly<Record<string, Call>> = {
  '/api/audit/overview': 'overview',
  '/api/audit/allocations': 'list',
  '/api/audit/allocations/:ref': 'allocation',
  '/api/audit/allocations/:ref/state': 'state',
};
const CALL_NAMES = ['overview', 'list', 'allocation', 'state'] as const;
type Call = (typeof CALL_NAMES)[number];

/** Counts the reads by how they ended, and how long those took that were answered. */
export function measureCalls(server: FastifyInstance, metrics: Metrics): void {
  const calls = metrics.counter('spillway_audit_calls_total', 'Reads of the audit by how they ended.', {
    call: CALL_NAMES,
    outcome: ['answered', 'refused', 'failed'],
  });
  const took = metrics.histogram(
    'spillway_audit_answer_ms',
    'From a read of the audit to its answer, in milliseconds.',
    { call: CALL_NAMES },
    ANSWER_BUCKETS_MS,
  );
  server.addHook('onResponse', async (request, reply) => {
    const call = CALLS[request.routeOptions.url ?? ''];
    if (call === undefined) return;
    const { statusCode } = reply;
    calls.add({ call, outcome: statusCode >= 500 ? 'failed' : statusCode >= 400 ? 'refused' : 'answered' });
    if (statusCode < 400) took.observe({ call }, reply.elapsedTime);
  });
}
