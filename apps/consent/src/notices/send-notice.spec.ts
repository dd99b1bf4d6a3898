import type { Agent } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '#platform/secret';
import {
  type Behaviour,
  isSignedBy,
  startWebhookReceiver,
  type WebhookReceiver,
  webhookKey,
} from '#support/webhook-receiver';
import { receiverAgent, type Sent, saysGone, sendNotice, signedHeaders } from './send-notice.ts';

const TIMEOUT_MS = 300;
const KEYS = [webhookKey('new'), webhookKey('old')];
const NOTICE = {
  receiver: 'pager',
  id: 'msg_a',
  type: 'alert.raised',
  body: JSON.stringify({ type: 'alert.raised', timestamp: '2026-11-29T10:00:00.000Z', data: { ref: 'r' } }),
  tries: 1,
};

let server: WebhookReceiver;
let agent: Agent;
beforeAll(async () => {
  server = await startWebhookReceiver();
  agent = receiverAgent(TIMEOUT_MS);
});
afterEach(() => server.behave(204));
afterAll(async () => {
  await agent.destroy();
  await server.close();
});

const send = (change: { readonly url?: string; readonly signal?: AbortSignal } = {}): Promise<Sent> =>
  sendNotice(
    NOTICE,
    {
      name: 'pager',
      url: new Secret(change.url ?? server.url),
      events: ['alert.raised'],
      keys: new Secret(KEYS),
    },
    {
      dispatcher: agent,
      timeoutMs: TIMEOUT_MS,
      signal: change.signal ?? new AbortController().signal,
      now: new Date().toISOString(),
    },
  );

describe('a notice', () => {
  test('arrives as it is, with its id, the time of the try and a signature of each key', async () => {
    expect(await send()).toEqual({ outcome: 'delivered', status: 204 });
    const taken = server.taken.at(-1);
    expect(taken).toMatchObject({ path: '/hook', id: 'msg_a', text: NOTICE.body });
    expect(taken?.headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    expect(KEYS.map((key) => taken !== undefined && isSignedBy(taken, key))).toEqual([true, true]);
  });

  test('is signed over id, time and text: another of them does not verify', () => {
    const now = new Date().toISOString();
    const headers = signedHeaders(NOTICE, KEYS, now);
    const taken = { path: '', id: '', headers, text: NOTICE.body, type: '', data: {}, status: 204 };
    const other = String(Number(headers['webhook-timestamp']) + 1);
    const [key = ''] = KEYS;
    expect(isSignedBy(taken, key)).toBe(true);
    expect(isSignedBy({ ...taken, text: `${NOTICE.body} ` }, key)).toBe(false);
    expect(isSignedBy({ ...taken, headers: { ...headers, 'webhook-id': 'msg_b' } }, key)).toBe(false);
    expect(isSignedBy({ ...taken, headers: { ...headers, 'webhook-timestamp': other } }, key)).toBe(false);
    expect(isSignedBy(taken, webhookKey('foreign'))).toBe(false);
  });
});

const asking = (status: number, retryAfter: string): Behaviour => ({
  status,
  headers: { 'retry-after': retryAfter },
});

describe('an answer', () => {
  test.each<{ answer: Behaviour; sent: Sent }>([
    { answer: 200, sent: { outcome: 'delivered', status: 200 } },
    { answer: 299, sent: { outcome: 'delivered', status: 299 } },
    { answer: 400, sent: { outcome: 'refused', status: 400, retryAfterS: null } },
    { answer: 500, sent: { outcome: 'refused', status: 500, retryAfterS: null } },
    { answer: asking(429, '7'), sent: { outcome: 'refused', status: 429, retryAfterS: 7 } },
    { answer: asking(503, '0'), sent: { outcome: 'refused', status: 503, retryAfterS: 0 } },
    { answer: asking(503, 'soon'), sent: { outcome: 'refused', status: 503, retryAfterS: null } },
    { answer: asking(503, '-7'), sent: { outcome: 'refused', status: 503, retryAfterS: null } },
    {
      answer: asking(503, 'Thu, 01 Jan 1970 00:00:00 GMT'),
      sent: { outcome: 'refused', status: 503, retryAfterS: 0 },
    },
    { answer: asking(500, '7'), sent: { outcome: 'refused', status: 500, retryAfterS: null } },
    { answer: 'hang', sent: { outcome: 'timeout' } },
    { answer: 'cut', sent: { outcome: 'unreachable' } },
  ])('of $answer is $sent.outcome', async ({ answer, sent }) => {
    server.behave(answer);
    expect(await send()).toEqual(sent);
  });

  test('that never ends is read no further than it is of use', async () => {
    server.behave('flood');
    expect(await send()).toEqual({ outcome: 'delivered', status: 200 });
    server.behave(204);
    expect(await send()).toEqual({ outcome: 'delivered', status: 204 });
  });

  test('that leads elsewhere is a refusal: nobody else is told', async () => {
    const elsewhere = await startWebhookReceiver();
    try {
      server.behave({ status: 307, headers: { location: elsewhere.url } });
      expect(await send()).toMatchObject({ outcome: 'refused', status: 307 });
      expect(elsewhere.taken).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });

  test('of 410 alone says that nothing more is wanted', async () => {
    server.behave(410);
    expect(saysGone(await send())).toBe(true);
    server.behave(404);
    expect(saysGone(await send())).toBe(false);
    server.behave(204);
    expect(saysGone(await send())).toBe(false);
  });

  test('is not waited for at a shutdown', async () => {
    server.behave('hang');
    const ending = new AbortController();
    const sending = send({ signal: ending.signal });
    ending.abort();
    await expect(sending).rejects.toThrow();
  });

  test('cannot come from where nobody listens', async () => {
    const closed = await startWebhookReceiver();
    await closed.close();
    expect(await send({ url: closed.url })).toEqual({ outcome: 'unreachable' });
  });
});
