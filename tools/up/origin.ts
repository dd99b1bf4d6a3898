import httpProxy from '@fastify/http-proxy';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { problem } from '#platform/problem';

/** Which app serves a path: the longest prefix wins (design 3, one origin for users). */
export interface Route {
  readonly prefix: string;
  readonly upstream: string;
}

const BODY_MAX_BYTES = 256 * 1024;

/** One origin before all apps, by a stock proxy plugin. An app that is down is a 503 with Retry-After. */
export async function startOrigin(port: number, routes: readonly Route[]): Promise<FastifyInstance> {
  const origin = fastify({ logger: false, bodyLimit: BODY_MAX_BYTES * 2, forceCloseConnections: true });
  for (const { prefix, upstream } of routes) {
    await origin.register(httpProxy, {
      prefix,
      upstream,
      rewritePrefix: prefix === '/' ? '' : prefix,
      undici: { connections: 128, pipelining: 1 },
      replyOptions: {
        onError: (reply) => {
          const refusal = problem('log_unavailable');
          const raw: FastifyReply = reply as unknown as FastifyReply;
          void raw.status(refusal.status).headers(refusal.headers).send(JSON.stringify(refusal.body));
        },
      },
    });
  }
  await origin.listen({ host: '127.0.0.1', port });
  return origin;
}
