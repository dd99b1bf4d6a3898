import type { FastifyInstance } from 'fastify';
import { type Check, readinessOf } from './health.ts';
import type { Metrics } from './metrics.ts';

/** Liveness, readiness and metrics of an app, for operators. No state, names or digests. */
export function addHealthRoutes(server: FastifyInstance, checks: readonly Check[], metrics: Metrics): void {
  server.get('/health/live', async () => ({ ok: true }));
  server.get('/health/ready', async (_request, reply) => {
    const readiness = await readinessOf(checks);
    return reply.status(readiness.ready ? 200 : 503).send(readiness);
  });
  server.get('/metrics', async (_request, reply) => {
    return reply.header('content-type', metrics.contentType).send(await metrics.text());
  });
}
