import type { Socket } from 'node:net';
import rateLimit from '@fastify/rate-limit';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { LogBusy, LogUnavailable } from '#domain/log';
import type { Authenticator, Caller } from './auth.ts';
import { answerClientError, followCalls, ignoreExpectations } from './client-errors.ts';
import { isCrossSite } from './cross-site.ts';
import type { Logger } from './logger.ts';
import { isOwnHost } from './own-hosts.ts';
import { type Problem, type ProblemName, problem } from './problem.ts';

/** The longest body that is taken, by HTTP and by the bus (fallback 8). */
export const BODY_MAX_BYTES = 256 * 1024;

/** A refusal as an exception: for places where only throwing reaches the edge. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';

  constructor(readonly problem: Problem) {
    super(problem.name);
  }
}

export interface HttpServerOptions {
  readonly authenticator: Authenticator;
  /** Calls of one caller in any second; above it 429 (fallback 1.4). */
  readonly callsPerSecond: number;
  /** Host names under which it is reached beside those of loopback (own-hosts.ts); absent = none. */
  readonly hosts?: readonly string[];
}

/** In which a request must have arrived as a whole; it is looked for every 30 s. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** For answers that are on their way when the server closes: half of what a shutdown may take. */
export const ANSWERS_ON_CLOSE_MS = 5_000;

/** Calls that cost something: the others are health, metrics and files of the page. */
const LIMITED = ['/api/agent/', '/api/prompts', '/api/parked'];

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; set before any handler runs. */
    caller: Caller | null;
  }
}

/**
 * A Fastify instance that takes JSON as fallback 1 says: UTF-8, `application/json` only, 256 KiB, of a repeated
 * member the last one, and every refusal a problem body. It logs nothing: a path can yield a token.
 */
export async function createHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
  const server = fastify({
    bodyLimit: BODY_MAX_BYTES,
    logger: false,
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Whether there is a host is asked below: Node's own refusal has no body.
    http: { requireHostHeader: false },
    // Not the framework's own 503: what still arrives while the server closes is answered like anything else.
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    // The path is shown to nobody, so a bad escape in it is only an unknown path.
    frameworkErrors: (_error, _request, reply) => void sendProblem(reply, problem('not_found')),
  });
  ignoreExpectations(server);
  followCalls(server);
  endConnectionsOnClose(server);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body));
    } catch {
      done(new ProblemError(problem('malformed_json')));
    }
  });
  server.decorateRequest('caller', null);
  server.addHook('onRequest', async (request, reply) => {
    const refused = refusedBySender(request, options.hosts ?? []);
    if (refused !== null) return sendProblem(reply, problem(refused));
    const caller = await options.authenticator.authenticate(request.headers);
    if (caller.outcome === 'refused') return sendProblem(reply, problem('unknown_caller'));
    request.caller = caller;
    return undefined;
  });
  await server.register(rateLimit, {
    max: options.callsPerSecond,
    timeWindow: 1_000,
    keyGenerator: (request) => request.caller?.subject ?? '',
    allowList: (request) => !LIMITED.some((prefix) => request.url.startsWith(prefix)),
    errorResponseBuilder: () => new ProblemError(problem('too_many_calls')),
    addHeadersOnExceeding: {},
    addHeaders: { 'retry-after': false },
  });
  return server;
}

/** Who may not even ask: nobody can call by a name that is not ours, and no page of another site decides. */
function refusedBySender({ method, headers }: FastifyRequest, hosts: readonly string[]): ProblemName | null {
  if (headers.host === undefined) return 'malformed_request';
  if (!isOwnHost(headers.host, hosts)) return 'unknown_host';
  return isCrossSite(method, headers) ? 'cross_site' : null;
}

/**
 * What keeps a server from closing although nobody waits for an answer, each measured to last until the deadline of
 * a shutdown, which then counts as failed:
 * - A connection that a browser or proxy opened ahead of need and that never carried a request is busy to Node.
 * - One whose request is answered during the closing is kept alive afterwards: only those that are idle at its very
 *   beginning are ended by it.
 * - A request that does not arrive or is not answered is cut after a while; its caller repeats it with the same id.
 */
function endConnectionsOnClose(server: FastifyInstance): void {
  const connected = new Set<Socket>();
  let isClosing = false;
  server.server.on('connection', (socket) => {
    if (isClosing) socket.destroy();
    connected.add(socket);
    socket.once('close', () => connected.delete(socket));
  });
  server.addHook('onResponse', async () => {
    // After the event that ended the response, so that it is out and its connection counts as idle.
    if (isClosing) setImmediate(() => server.server.closeIdleConnections());
  });
  server.addHook('preClose', async () => {
    isClosing = true;
    for (const socket of connected) if (socket.bytesRead === 0) socket.destroy();
    const cut = setTimeout(() => server.server.closeAllConnections(), ANSWERS_ON_CLOSE_MS);
    server.server.once('close', () => clearTimeout(cut));
  });
}

/** One for all: making it costs more than an ordinary body. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** JSON text in UTF-8; throws on anything else. Of a repeated member the last one counts, `__proto__` is a member. */
export function parseJson(body: Uint8Array | string): unknown {
  return JSON.parse(typeof body === 'string' ? body : UTF_8.decode(body));
}

/** What a caller is told of an error: a problem of the table, never the error's own words. */
export function problemOfError(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return problem(nameOf(error));
}

export function sendProblem(reply: FastifyReply, refusal: Problem): FastifyReply {
  return reply.status(refusal.status).headers(refusal.headers).send(JSON.stringify(refusal.body));
}

/** Every error that reaches the edge becomes a problem of the table; only our own mistakes are logged. */
export function answerError(reply: FastifyReply, error: unknown, logger: Logger): void {
  const refusal = problemOfError(error);
  if (refusal.name === 'internal') logger.error('call_failed', {}, error);
  sendProblem(reply, refusal);
}

/** The caller that the server's hook has let in. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new ProblemError(problem('unknown_caller'));
  return request.caller;
}

/**
 * A header's text; null when it is absent or sent twice. Node reads header bytes as Latin-1: an id in UTF-8 would
 * not equal the same id in a body or on the bus.
 */
export function headerText(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  if (typeof value !== 'string') return null;
  try {
    return UTF_8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

/** The port that the server listens on; 0 before it listens. */
export function portOf(server: FastifyInstance): number {
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function nameOf(error: unknown): ProblemName {
  if (!(error instanceof Error)) return 'internal';
  if (error instanceof LogUnavailable || error instanceof LogBusy) return 'log_unavailable';
  const code = 'code' in error ? error.code : null;
  const status = 'statusCode' in error ? error.statusCode : 'status' in error ? error.status : null;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE' || status === 413) return 'body_too_large';
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || status === 415) return 'not_json_type';
  if (status === 404 || status === 405) return 'not_found';
  if (status === 412) return 'precondition_failed';
  if (status === 429) return 'too_many_calls';
  if (status === 400 || code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') return 'malformed_json';
  return 'internal';
}
