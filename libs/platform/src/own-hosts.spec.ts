import { describe, expect, test } from 'vitest';
import { isOwnHost, ownHosts } from './own-hosts.ts';

const OURS = ownHosts({
  SPILLWAY_PUBLIC_URL: 'https://Spillway.test:8443/x',
  SPILLWAY_HOST_NAMES: ['lb.test'],
});

describe('a call is answered under', () => {
  test.each([
    ['a loopback address', '127.0.0.1:8787'],
    ['any of them', '127.9.9.9'],
    ['a loopback address of IPv6', '[::1]:8787'],
    ['the loopback name, as it may be written', 'LOCALHOST'],
    ['a name that browsers take for loopback', 'a.localhost:1'],
    ['the host of the public address, whatever ends TLS before us', 'spillway.test'],
    ['the same at another port', 'SPILLWAY.test:8443'],
    ['a configured name', 'lb.test:80'],
  ])('%s', (_what, host) => {
    expect(isOwnHost(host, OURS)).toBe(true);
  });
});

describe('a call is not answered under a name that anybody may have made to point here', () => {
  test.each([
    'evil.test',
    'evil.test:8787',
    'localhost.evil.test',
    '127.0.0.1.evil.test',
    'notlocalhost',
    'x.spillway.test',
    'spillway.test.evil.test',
    '10.0.0.1',
    '0.0.0.0',
    '[::]',
    '[::ffff:10.0.0.1]',
    '',
    ':8787',
    '127.0.0.1:8787/',
    'evil.test#127.0.0.1',
    'localhost@evil.test',
    'evil.test@localhost',
    'localhost:8787,evil.test',
  ])('%j', (host) => {
    expect(isOwnHost(host, OURS)).toBe(false);
  });

  test('unless it is configured', () => {
    expect(isOwnHost('lb.test', [])).toBe(false);
    expect(isOwnHost('lb.test', ['lb.test'])).toBe(true);
  });
});
