import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { NOTICE_TYPES } from '#domain/prompt/notice';
import { ConfigError, loadConfig } from './load-config.ts';
import { noticeVariables, receiversOf } from './notice-variables.ts';
import { httpVariables } from './variables.ts';

const Config = z.object({ ...noticeVariables, ...httpVariables(0) });
const KEY = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(64, 2).toString('base64')}`;
const PAGER = { name: 'pager', url: 'https://pager.test/hook?key=1' };

const load = (webhooks: unknown, secrets: unknown = {}) =>
  receiversOf(
    loadConfig(Config, {
      SPILLWAY_WEBHOOKS: typeof webhooks === 'string' ? webhooks : JSON.stringify(webhooks),
      SPILLWAY_WEBHOOK_SECRETS: typeof secrets === 'string' ? secrets : JSON.stringify(secrets),
    }),
  );

/** What the start is refused with; the value of a variable never stands in it. */
function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('receivers', () => {
  test('are none unless they are configured, and notices link to this machine', () => {
    const config = loadConfig(Config, {});
    expect(receiversOf(config)).toEqual([]);
    expect(config.SPILLWAY_PUBLIC_URL).toBe('http://127.0.0.1:8787');
  });

  test('get every notice unless they name some, and keep their keys in order', () => {
    const chat = { name: 'chat', url: 'http://127.0.0.1:9/x', events: ['alert.raised'] };
    const [first, second] = load([PAGER, chat], { chat: [KEY], pager: [OTHER, KEY] });
    expect([first?.name, first?.events, first?.url.reveal(), first?.keys.reveal()]).toEqual([
      'pager',
      NOTICE_TYPES,
      PAGER.url,
      [OTHER, KEY],
    ]);
    expect([second?.name, second?.events]).toEqual(['chat', ['alert.raised']]);
    expect(JSON.stringify([first, second])).not.toMatch(/whsec_|hook/);
  });

  test.each(['http://localhost:1/', 'http://127.9.9.9/', 'http://[::1]:80/', 'https://example.test/'])(
    'may be at %s',
    (url) => {
      expect(load([{ ...PAGER, url }], { pager: [KEY] })).toHaveLength(1);
    },
  );

  test.each([
    { reason: 'text that is no JSON', webhooks: '[{', says: 'is no JSON list' },
    { reason: 'no list', webhooks: {}, says: 'is no JSON list' },
    { reason: 'a name twice', webhooks: [PAGER, PAGER], says: 'each with a name of its own' },
    {
      reason: 'a name of its own kind',
      webhooks: [{ ...PAGER, name: 'Pager!' }],
      says: 'receiver 1: "name"',
    },
    { reason: 'no address', webhooks: [PAGER, { name: 'chat' }], says: 'receiver 2: "url"' },
    {
      reason: 'an address in clear',
      webhooks: [{ ...PAGER, url: 'http://pager.test/secret' }],
      says: '"url"',
    },
    {
      reason: 'a name that looks like loopback',
      webhooks: [{ ...PAGER, url: 'http://127.0.0.1.evil.test/' }],
      says: '"url"',
    },
    {
      reason: 'an address with a login',
      webhooks: [{ ...PAGER, url: 'https://u:secret@pager.test' }],
      says: '"url"',
    },
    {
      reason: 'an address with a fragment',
      webhooks: [{ ...PAGER, url: 'https://pager.test/#secret' }],
      says: '"url"',
    },
    { reason: 'another scheme', webhooks: [{ ...PAGER, url: 'ftp://pager.test/' }], says: '"url"' },
    { reason: 'events that there are not', webhooks: [{ ...PAGER, events: ['all'] }], says: '"events"' },
    { reason: 'no events at all', webhooks: [{ ...PAGER, events: [] }], says: '"events"' },
    {
      reason: 'a member too many',
      webhooks: [{ ...PAGER, secret: 'secret' }],
      says: 'receiver 1: is no object',
    },
  ])('are refused with $reason', ({ webhooks, says }) => {
    const said = refusal(() => load(webhooks, { pager: [KEY] }));
    expect(said).toContain(`SPILLWAY_WEBHOOKS: `);
    expect(said).toContain(says);
    expect(said).not.toMatch(/secret|pager\.test|evil/);
  });
});

describe('keys', () => {
  test.each([
    { reason: 'no JSON', secrets: '{', says: 'is no JSON object' },
    { reason: 'one that is no key', secrets: { pager: ['secret'] }, says: '(at pager)' },
    {
      reason: 'one that is too short',
      secrets: { pager: [`whsec_${Buffer.alloc(23).toString('base64')}`] },
      says: '24',
    },
    {
      reason: 'one that is too long',
      secrets: { pager: [`whsec_${Buffer.alloc(65).toString('base64')}`] },
      says: '64',
    },
    { reason: 'none for a receiver', secrets: { pager: [] }, says: '(at pager)' },
    { reason: 'no receiver in it', secrets: {}, says: 'has no key for the receiver pager' },
    { reason: 'one for nobody', secrets: { pager: [KEY], chat: [KEY] }, says: 'has a key for chat' },
  ])('are refused with $reason', ({ secrets, says }) => {
    const said = refusal(() => load([PAGER], secrets));
    expect(said).toContain('SPILLWAY_WEBHOOK_SECRETS');
    expect(said).toContain(says);
    expect(said).not.toMatch(/whsec_[A-Za-z0-9]/);
    expect(said).not.toContain(': secret');
  });
});

test.each([
  { url: 'https://spillway.example/', is: 'https://spillway.example' },
  { url: 'https://tools.example/spillway//', is: 'https://tools.example/spillway' },
])('the page is linked to under $is', ({ url, is }) => {
  expect(loadConfig(Config, { SPILLWAY_PUBLIC_URL: url }).SPILLWAY_PUBLIC_URL).toBe(is);
});

test.each([
  'spillway.example',
  'ftp://x.test',
  'https://u:p@x.test',
  'https://x.test/?a=1',
  'https://x.test/#a',
])('the page is not at %s', (url) => {
  expect(refusal(() => loadConfig(Config, { SPILLWAY_PUBLIC_URL: url }))).toContain('SPILLWAY_PUBLIC_URL');
});

test.each([
  { text: '', is: [] },
  { text: 'lb.test', is: ['lb.test'] },
  { text: ' LB.test , other.test:8443,[::1]', is: ['lb.test', 'other.test', '[::1]'] },
])('calls are answered under the names $text', ({ text, is }) => {
  expect(loadConfig(Config, { SPILLWAY_HOST_NAMES: text }).SPILLWAY_HOST_NAMES).toEqual(is);
});

test.each(['https://lb.test', 'lb.test/x', 'a b', 'a,b c', '*'])('%j names no host', (text) => {
  expect(refusal(() => loadConfig(Config, { SPILLWAY_HOST_NAMES: text }))).toContain('SPILLWAY_HOST_NAMES');
});
