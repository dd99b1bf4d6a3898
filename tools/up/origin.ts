import { Readable } from 'node:stream';
import httpProxy from '@fastify/http-proxy';
import { type FastifyInstance, fastify } from 'fastify';
import { BODY_MAX_BYTES, problemOfError, sendProblem } from '#platform/http-server';
import { problem } from '#platform/problem';

/** Which app serves a path: the longest prefix wins (design 3, one origin for users). */
export interface Route {
  readonly prefix: string;
  readonly upstream: string;
}

/**
 * One origin before all apps, by a stock proxy plugin. Bodies are taken whole before they are handed on, since an
 * app that refuses one early would leave the rest of it in the caller's connection. An app that is down is a 503
 * with Retry-After; whatever the origin refuses itself is a problem body too (fallback 1.4).
 */
export async function startOrigin(port: number, routes: readonly Route[]): Promise<FastifyInstance> {
  const origin = fastify({
    logger: false,
    bodyLimit: BODY_MAX_BYTES,
    forceCloseConnections: true,
    frameworkErrors: (_error, _request, reply) => void sendProblem(reply, problem('not_found')),
  });
  origin.removeAllContentTypeParsers();
  origin.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, Readable.from([body]));
  });
  origin.setNotFoundHandler((_request, reply) => sendProblem(reply, problem('not_found')));
  origin.setErrorHandler((error, _request, reply) => sendProblem(reply, problemOfError(error)));
  for (const { prefix, upstream } of routes) {
    await origin.register(httpProxy, {
      prefix,
      upstream,
      rewritePrefix: prefix === '/' ? '' : prefix,
      undici: { connections: 128, pipelining: 1 },
      // With a hook of ours the plugin leaves the parsers above in place.
      preValidation: async () => undefined,
      replyOptions: {
        onError: (reply) => {
          const refusal = problem('log_unavailable');
          void reply
            .status(refusal.status)
            .headers({ ...refusal.headers })
            .send(JSON.stringify(refusal.body));
        },
      },
    });
  }
  await origin.listen({ host: '127.0.0.1', port });
  return origin;
}
