import { Readable } from 'node:stream';
import httpProxy from '@fastify/http-proxy';
import { type FastifyInstance, fastify } from 'fastify';
import { answerClientError, followCalls, ignoreExpectations } from '#platform/client-errors';
import { BODY_MAX_BYTES, problemOfError, REQUEST_TIMEOUT_MS, sendProblem } from '#platform/http-server';
import { type Problem, problem } from '#platform/problem';

/** Which app serves a path: the longest prefix wins (design 3, one origin for users). */
export interface Route {
  readonly prefix: string;
  readonly upstream: string;
  /** Paths below it that nobody reaches by the origin. */
  readonly except?: readonly string[];
}

/** Each open page holds one for as long as it is open (200 at most), and calls need some beside them. */
const CONNECTIONS_MAX = 512;

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
    requestTimeout: REQUEST_TIMEOUT_MS,
    // The app behind asks under which host it is called; that there is one is asked below.
    http: { requireHostHeader: false },
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: (_error, _request, reply) => void sendProblem(reply, problem('not_found')),
  });
  ignoreExpectations(origin);
  followCalls(origin);
  origin.removeAllContentTypeParsers();
  origin.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, Readable.from([body]));
  });
  origin.setNotFoundHandler((_request, reply) => sendProblem(reply, problem('not_found')));
  origin.setErrorHandler((error, _request, reply) => sendProblem(reply, refusalOf(error)));
  for (const { prefix, upstream, except = [] } of routes) {
    await origin.register(httpProxy, {
      prefix,
      upstream,
      rewritePrefix: prefix === '/' ? '' : prefix,
      undici: { connections: CONNECTIONS_MAX, pipelining: 1 },
      // With a hook of ours the plugin leaves the parsers above in place.
      preValidation: async (request, reply) => {
        // Handed on without, it would get that of the app's own address.
        if (request.headers.host === undefined) return sendProblem(reply, problem('malformed_request'));
        return isRefused(request.url, except) ? sendProblem(reply, problem('not_found')) : undefined;
      },
      replyOptions: {
        // What a browser calls this place: an app refuses pages of another one by it.
        // The body is here already: what the caller expects before it sends one is not for the app to say.
        rewriteRequestHeaders: ({ headers: { host } }, { expect: _met, ...headers }) =>
          host === undefined ? headers : { ...headers, host },
        // Of the connection to the app: handed on they would keep one open that its caller wants closed.
        rewriteHeaders: ({ connection: _ours, 'keep-alive': _kept, ...headers }) => headers,
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

/** As the app behind would read the path: escaped letters are the same letters. What is no path is refused too. */
function isRefused(url: string, folders: readonly string[]): boolean {
  const path = pathOf(url);
  return path === null || folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** Null for what is no path of one place. */
function pathOf(url: string): string | null {
  // A host of our own before it, or `//x` would be read as one.
  const address = `http://origin${url}`;
  if (!URL.canParse(address)) return null;
  try {
    return decodeURIComponent(new URL(address).pathname).replace(/^\/+/, '/');
  } catch {
    return null;
  }
}

/** No body is read here, so what is refused as malformed is the path. */
function refusalOf(error: unknown): Problem {
  const refusal = problemOfError(error);
  return refusal.name === 'malformed_json' ? problem('not_found') : refusal;
}
