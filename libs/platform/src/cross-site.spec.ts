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

test.each(['localhost:8787', 'spillway.test', '[::1]:8787'])(
  'a page reached as %s is of its origin: that the name is ours is asked elsewhere',
  (host) => {
    expect(isCrossSite('POST', { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).toBe(
      false,
    );
  },
);

test.each([
  { host: 'spillway.test', origin: 'https://spillway.test:443' },
  { host: 'spillway.test:443', origin: 'https://spillway.test' },
  { host: 'spillway.test:80', origin: 'http://spillway.test' },
])('the port that every address of a scheme has is no difference: $host, $origin', (sent) => {
  expect(isCrossSite('POST', sent)).toBe(false);
});

test.each([
  { host: 'spillway.test:443', origin: 'http://spillway.test' },
  { host: 'spillway.test:1', origin: 'https://spillway.test' },
])('another port is another place: $host, $origin', (sent) => {
  expect(isCrossSite('POST', sent)).toBe(true);
});
