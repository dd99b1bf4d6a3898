import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failedBeforeSending, httpExchange, retryAfterS } from './exchange.ts';

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code });
}

describe('whether a request can have left', () => {
  test.each([
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'UND_ERR_CONNECT_TIMEOUT',
    'CERT_HAS_EXPIRED',
  ])('%s: the connection was not made, so it has not', (code) => {
    expect(failedBeforeSending(withCode(code))).toBe(true);
    expect(failedBeforeSending(new TypeError('fetch failed', { cause: withCode(code) }))).toBe(true);
  });

  test.each([
    'ECONNRESET',
    'EPIPE',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    'ETIMEDOUT',
    'SOMETHING_NEW',
  ])('%s: it may have', (code) => {
    expect(failedBeforeSending(withCode(code))).toBe(false);
  });

  test('of several addresses all must have refused', () => {
    const refused = new AggregateError([withCode('ECONNREFUSED'), withCode('ECONNREFUSED')]);
    const mixed = new AggregateError([withCode('ECONNREFUSED'), withCode('ECONNRESET')]);
    expect(failedBeforeSending(refused)).toBe(true);
    expect(failedBeforeSending(mixed)).toBe(false);
    expect(failedBeforeSending(new AggregateError([]))).toBe(false);
  });

  test('what is no error that we know may have', () => {
    expect(failedBeforeSending(new Error('boom'))).toBe(false);
    expect(failedBeforeSending('text')).toBe(false);
    expect(failedBeforeSending(new DOMException('late', 'TimeoutError'))).toBe(false);
  });
});

describe('Retry-After', () => {
  const date = 'Mon, 05 Jan 2026 10:00:00 GMT';
  test.each([
    { headers: { 'retry-after': '12' }, wait: 12, reason: 'seconds' },
    { headers: { 'retry-after': '0' }, wait: 0, reason: 'at once' },
    { headers: { 'retry-after': '1.2' }, wait: 2, reason: 'never too early' },
    {
      headers: { 'retry-after': 'Mon, 05 Jan 2026 10:01:30 GMT', date },
      wait: 90,
      reason: 'a date against theirs',
    },
    {
      headers: { 'retry-after': 'Mon, 05 Jan 2026 09:00:00 GMT', date },
      wait: 0,
      reason: 'a date that is over',
    },
    {
      headers: { 'retry-after': 'Mon, 05 Jan 2026 10:01:30 GMT' },
      wait: null,
      reason: 'a date against nothing',
    },
    { headers: { 'retry-after': 'soon' }, wait: null, reason: 'no number' },
    { headers: { 'retry-after': '-5' }, wait: null, reason: 'a negative number' },
    { headers: {}, wait: null, reason: 'absent' },
  ])('$reason: $wait', ({ headers, wait }) => {
    expect(retryAfterS(headers)).toBe(wait);
  });
});

describe('over the wire', () => {
  let server: Server;
  let url = '';
  let arrived = 0;
  beforeAll(async () => {
    server = createServer((request, response) => {
      arrived += 1;
      if (request.url === '/moved') response.writeHead(307, { location: '/end' }).end();
      else if (request.url === '/half') {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"id":', () => request.socket.destroy());
      } else if (request.url === '/hang') response.writeHead(200).flushHeaders();
      else response.writeHead(200, { connection: 'keep-alive' }).end('{"ok":true}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const exchange = httpExchange();

  test('a redirect is an answer and is not followed: nothing is posted twice', async () => {
    arrived = 0;
    const reply = await exchange({ method: 'POST', url: `${url}/moved`, body: {}, deadlineMs: 2_000 });
    expect(reply).toMatchObject({ kind: 'answered', status: 307 });
    expect(arrived).toBe(1);
  });

  test('half an answer is none, and was sent', async () => {
    const reply = await exchange({ method: 'POST', url: `${url}/half`, body: {}, deadlineMs: 2_000 });
    expect(reply).toMatchObject({ kind: 'unanswered', sent: true });
  });

  test('the deadline counts to the last byte', async () => {
    const reply = await exchange({ method: 'GET', url: `${url}/hang`, deadlineMs: 100 });
    expect(reply).toMatchObject({ kind: 'unanswered', sent: true });
  });

  test('an answer has its text and its JSON', async () => {
    const reply = await exchange({ method: 'GET', url, deadlineMs: 2_000 });
    expect(reply).toEqual({
      kind: 'answered',
      status: 200,
      retryAfterS: null,
      text: '{"ok":true}',
      json: { ok: true },
    });
  });
});
