import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Problem, type ProblemName, problem } from './problem.ts';

/** What Node's parser says of a request that never reaches a handler; anything else is malformed. */
const REFUSED_BY_NODE: Readonly<Record<string, ProblemName>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_too_slow',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
};

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The newest call of each connection. */
const newestCalls = new WeakMap<Socket, Call>();

/** Remembers what a connection still owes an answer to, for `answerClientError`. */
export function followCalls({ server }: FastifyInstance): void {
  server.on('request', (request, response) => newestCalls.set(request.socket, { request, response }));
}

/**
 * Answers a connection whose request could not be read: with a problem body, like everything else (fallback 1.4).
 * A call before it that was read whole gets its own answer, and the connection ends with that one.
 */
export function answerClientError(error: Error, socket: Socket): void {
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const call = newestCalls.get(socket);
  if (call !== undefined && isOwed(call)) {
    // Its caller would take our refusal for the answer, and what was recorded for not recorded.
    call.response.shouldKeepAlive = false;
    call.response.once('finish', () => socket.destroySoon());
    return;
  }
  // Nothing behind what cannot be read is a request: the connection ends with the answer.
  socket.end(rawAnswer(problem(REFUSED_BY_NODE[code] ?? 'malformed_request')), () => socket.destroy());
}

function isOwed({ request, response }: Call): boolean {
  return (request.complete || response.headersSent) && !response.writableFinished;
}

/**
 * An `Expect` that this server does not know is passed over, as it may be (RFC 9110, 10.1.1): Node would answer
 * 417 without a body.
 */
export function ignoreExpectations({ server }: FastifyInstance): void {
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
}

function rawAnswer({ status, headers, body }: Problem): string {
  const text = JSON.stringify(body);
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`;
}
