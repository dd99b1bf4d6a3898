import { describe, expect, test } from 'vitest';
import { isCrossSite } from './cross-site.ts';

const HOST = '127.0.0.1:8787';

describe('a call that may change something', () => {
  test.each([
    ['a program, which says nothing of a site', {}],
    ['a page of this origin', { origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin' }],
    ['a page of this origin behind TLS, which ends before us', { origin: `https://${HOST}` }],
    ['an older browser that says only the origin', { origin: `http://${HOST}` }],
    ['a user who typed the address', { 'sec-fetch-site': 'none' }],
  ])('is taken from %s', (_who, headers) => {
    expect(isCrossSite('POST', { host: HOST, ...headers })).toBe(false);
  });

  test.each([
    ['another site', { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' }],
    ['another site, by an older browser', { origin: 'https://evil.test' }],
    ['a neighbour under the same name', { origin: 'http://127.0.0.1:9999', 'sec-fetch-site': 'same-site' }],
    ['another port', { origin: 'http://127.0.0.1:9999' }],
    ['a sandboxed frame or a file', { origin: 'null' }],
    ['a name that begins like ours', { origin: `http://${HOST}.evil.test` }],
    ['whoever says two sites at once', { 'sec-fetch-site': ['same-origin', 'cross-site'] }],
    ['a site that claims our origin', { origin: `http://${HOST}`, 'sec-fetch-site': 'cross-site' }],
    ['whoever says nothing of a host', { host: undefined, origin: 'http://a.test' }],
  ])('is refused from %s', (_who, headers) => {
    expect(isCrossSite('POST', { host: HOST, ...headers })).toBe(true);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('is any %s', (method) => {
    expect(isCrossSite(method, { host: HOST, origin: 'https://evil.test' })).toBe(true);
  });

  test('is none that only reads: what it answers stays unreadable to another site', () => {
    expect(isCrossSite('GET', { host: HOST, origin: 'https://evil.test' })).toBe(false);
  });
});

describe('the name under which a page was reached', () => {
  const reached = (host: string, publicUrl?: string) =>
    isCrossSite('POST', { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }, publicUrl);

  test.each(['127.0.0.1:8787', 'localhost:8787', 'LOCALHOST', '[::1]:8787', '127.9.9.9', 'a.localhost'])(
    '%s is this machine',
    (host) => {
      expect(reached(host)).toBe(false);
    },
  );
  test.each(['evil.test:8787', 'localhost.evil.test', '127.0.0.1.evil.test', 'notlocalhost', '10.0.0.1'])(
    '%s may be made to point to this machine by anybody',
    (host) => {
      expect(reached(host)).toBe(true);
      expect(reached(host, 'https://spillway.test')).toBe(true);
    },
  );
  test('is ours when it is configured, whatever the scheme of TLS that ends before us', () => {
    expect(reached('spillway.test', 'https://spillway.test')).toBe(false);
    expect(reached('spillway.test:8443', 'https://spillway.test:8443/')).toBe(false);
    expect(reached('spillway.test:1', 'https://spillway.test')).toBe(true);
  });
});

test('the port that every address of a scheme has is no difference', () => {
  const sent = { host: 'spillway.test', origin: 'https://spillway.test:443' };
  expect(isCrossSite('POST', sent, 'https://spillway.test')).toBe(false);
});
