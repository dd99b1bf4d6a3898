import { once } from 'node:events';
import { type FastifyInstance, fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { getUnder, rawCall } from '#support/raw-call';
import { authenticationOff } from './auth.ts';
import { answerClientError } from './client-errors.ts';
import { createHttpServer, portOf } from './http-server.ts';
import { type ProblemName, problem } from './problem.ts';

let server: FastifyInstance;
let url: string;
/** The answer to a slow call waits for it. */
let unreadable: Promise<unknown>;
beforeAll(async () => {
  server = await createHttpServer({
    authenticator: authenticationOff,
    callsPerSecond: 1_000,
    hosts: ['lb.test'],
  });
  server.get('/here', async () => 'answered');
  server.post('/slow', async () => {
    await unreadable;
    return 'recorded';
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${portOf(server)}`;
});
afterAll(() => server.close());

/** The whole answer: the status line, a problem body of its length, and the end of the connection. */
async function expectRefused(at: string, request: string, name: ProblemName): Promise<void> {
  const { status, body } = problem(name);
  const reply = await rawCall(at, request);
  expect([reply.status, JSON.parse(reply.text)]).toEqual([status, body]);
  expect(reply.head).toContain('content-type: application/problem+json');
  expect(reply.head).toContain(`content-length: ${Buffer.byteLength(reply.text)}`);
}

describe('what Node refuses before a handler sees it is a problem body', () => {
  test.each<readonly [string, string, ProblemName]>([
    ['no HTTP at all', 'hello\r\n\r\n', 'malformed_request'],
    [
      'a version that is none',
      'GET /here HTTP/9.9\r\nhost: localhost\r\nconnection: close\r\n\r\n',
      'malformed_request',
    ],
    ['a blank in a header name', getUnder('localhost', '/here', 'a b: c\r\n'), 'malformed_request'],
    [
      'two lengths',
      getUnder('localhost', '/here', 'content-length: 1\r\ncontent-length: 2\r\n'),
      'malformed_request',
    ],
    [
      'a length beside chunks',
      getUnder('localhost', '/here', 'content-length: 1\r\ntransfer-encoding: chunked\r\n'),
      'malformed_request',
    ],
    ['no host', 'GET /here HTTP/1.1\r\nconnection: close\r\n\r\n', 'malformed_request'],
    [
      'headers over 16 KiB',
      getUnder('localhost', '/here', `x: ${'a'.repeat(17_000)}\r\n`),
      'headers_too_large',
    ],
    ['a path over 16 KiB', getUnder('localhost', `/${'a'.repeat(17_000)}`), 'headers_too_large'],
    [
      'chunk extensions without end',
      `POST /here HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2;${'a'.repeat(20_000)}\r\n{}\r\n`,
      'body_too_large',
    ],
  ])('%s', async (_what, request, name) => {
    await expectRefused(url, request, name);
  });

  test('a request that does not arrive', async () => {
    const hasty = fastify({
      requestTimeout: 20,
      http: { connectionsCheckingInterval: 10 },
      clientErrorHandler: answerClientError,
    });
    await hasty.listen({ host: '127.0.0.1', port: 0 });
    try {
      await expectRefused(
        `http://127.0.0.1:${portOf(hasty)}`,
        'GET / HTTP/1.1\r\nhost: l',
        'request_too_slow',
      );
    } finally {
      await hasty.close();
    }
  });

  test.each([
    ['bytes behind the length that it states', '{}}\r\n\r\n'],
    ['a second request that is none', '{}hello\r\n\r\n'],
  ])('a call that was read is never told that nothing was recorded: %s', async (_what, body) => {
    unreadable = once(server.server, 'clientError');
    const head =
      'POST /slow HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n';
    const reply = await rawCall(url, head + body);
    expect([reply.status, reply.text]).toEqual([200, 'recorded']);
    expect(reply.head).toContain('connection: close');
  });

  test('what is expected of us beside 100-continue is passed over, and the call answered', async () => {
    const reply = await rawCall(url, getUnder('localhost', '/here', 'expect: wonders\r\n'));
    expect([reply.status, reply.text]).toEqual([200, 'answered']);
  });
});

describe('the host under which a call comes', () => {
  test.each(['localhost', '127.0.0.1:1', 'lb.test'])('%s is ours: it is answered', async (host) => {
    expect(await rawCall(url, getUnder(host, '/here'))).toMatchObject({ status: 200, text: 'answered' });
  });

  test.each(['/here', '/nowhere', '/api/agent/gpu-allocation/results/x', '/metrics'])(
    'evil.test is nobody: %s is refused, also to read',
    async (path) => {
      await expectRefused(url, getUnder('evil.test', path), 'unknown_host');
    },
  );

  test('is asked before anything else: a page there learns nothing by writing either', async () => {
    const request =
      'POST /here HTTP/1.1\r\nhost: evil.test\r\norigin: http://evil.test\r\nsec-fetch-site: same-origin\r\n' +
      'connection: close\r\ncontent-length: 0\r\n\r\n';
    await expectRefused(url, request, 'unknown_host');
  });
});
