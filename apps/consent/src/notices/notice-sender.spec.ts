import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ClaimedNotice, FailedTry, NoticeTable } from '#domain/prompt/notice-table';
import { ManualClock } from '#platform/clock';
import { Secret } from '#platform/secret';
import { T0 } from '#support/builders';
import { startWebhookReceiver, type WebhookReceiver, webhookKey } from '#support/webhook-receiver';
import { waitUntil } from '../../../../tools/up/infra/chain.ts';
import { NoticeSender } from './notice-sender.ts';
import type { Sent } from './send-notice.ts';

const BOUND_MS = 10_000;
const AT_ONCE_MAX = 8;

/** Hands out each notice once, and remembers what became of it. */
class FakeTable implements Pick<NoticeTable, 'claim' | 'delivered' | 'failed' | 'release'> {
  readonly settled: string[] = [];
  readonly tries: FailedTry[] = [];
  readonly asked: number[] = [];
  beforeClaim: () => void = () => undefined;
  #waiting: readonly string[];

  constructor(count: number) {
    this.#waiting = Array.from({ length: count }, (_, index) => `msg_${index}`);
  }

  async claim(receiver: string, limit: number): Promise<readonly ClaimedNotice[]> {
    this.asked.push(limit);
    const taken = this.#waiting.slice(0, limit);
    this.#waiting = this.#waiting.slice(limit);
    this.beforeClaim();
    const body = JSON.stringify({ type: 'alert.raised', timestamp: T0, data: {} });
    return taken.map((id) => ({ receiver, id, type: 'alert.raised', body, tries: 3 }));
  }

  async delivered({ id }: ClaimedNotice): Promise<void> {
    this.settled.push(`${id} delivered`);
  }

  async failed({ id }: ClaimedNotice, failed: FailedTry): Promise<void> {
    this.settled.push(`${id} failed`);
    this.tries.push(failed);
  }

  async release({ id }: ClaimedNotice): Promise<void> {
    this.settled.push(`${id} released`);
  }
}

let server: WebhookReceiver;
const senders: NoticeSender[] = [];
beforeEach(async () => {
  server = await startWebhookReceiver();
});
afterEach(async () => {
  await Promise.all(senders.splice(0).map((sender) => sender.stop()));
  await server.close();
});

function start(table: FakeTable, change: { readonly timeoutMs?: number; readonly clock?: ManualClock } = {}) {
  const seen: { readonly sent: Sent[]; readonly trouble: unknown[] } = { sent: [], trouble: [] };
  const sender = new NoticeSender({
    receiver: {
      name: 'pager',
      url: new Secret(server.url),
      events: ['alert.raised'],
      keys: new Secret([webhookKey('a')]),
    },
    table,
    clock: change.clock ?? new ManualClock(T0),
    chance: () => 0,
    tryRules: { firstPauseMs: 1_000, longestPauseMs: 60_000 },
    timeoutMs: change.timeoutMs ?? BOUND_MS,
    onSent: (_notice, sent) => seen.sent.push(sent),
    onTrouble: (error) => seen.trouble.push(error),
  });
  senders.push(sender);
  sender.start();
  return { sender, ...seen };
}

describe('a sender', () => {
  test('sends all that is due, and writes down that each was taken', async () => {
    const table = new FakeTable(20);
    start(table);
    await waitUntil('all are sent', BOUND_MS, () => table.settled.length === 20);
    expect(new Set(table.settled)).toEqual(new Set(server.taken.map(({ id }) => `${id} delivered`)));
    expect(server.taken).toHaveLength(20);
  });

  test('holds no more than it sends at once, however many wait for a receiver that hangs', async () => {
    server.behave('hang');
    const table = new FakeTable(20);
    const { sender } = start(table);
    await waitUntil('they are being sent', BOUND_MS, () => server.taken.length === AT_ONCE_MAX);
    sender.wake();
    await sender.stop();
    expect(table.asked).toEqual([AT_ONCE_MAX]);
    // Nothing is known of them: they are given back, and sent again by whoever is next.
    expect([...table.settled].sort()).toEqual(
      Array.from({ length: AT_ONCE_MAX }, (_, index) => `msg_${index} released`),
    );
    expect(server.taken).toHaveLength(AT_ONCE_MAX);
  });

  test('pauses by the number of the try, and for as long as the receiver asks', async () => {
    server.behave({ status: 503, headers: { 'retry-after': '30' } });
    const table = new FakeTable(1);
    const { sent } = start(table);
    await waitUntil('it failed', BOUND_MS, () => sent.length === 1);
    expect(table.tries).toEqual([
      { outcome: 'refused', status: 503, pauseMs: 30_000, receiverPauseMs: 30_000, isGone: false },
    ]);
  });

  test.each([
    { answer: 410, tried: { outcome: 'refused', status: 410, isGone: true, pauseMs: 2_000 } },
    { answer: 500, tried: { outcome: 'refused', status: 500, isGone: false, pauseMs: 2_000 } },
    { answer: 'cut', tried: { outcome: 'unreachable', status: null, isGone: false, receiverPauseMs: 0 } },
  ] as const)('says of $answer what the table needs to know', async ({ answer, tried }) => {
    server.behave(answer);
    const table = new FakeTable(1);
    start(table);
    await waitUntil('it failed', BOUND_MS, () => table.tries.length === 1);
    expect(table.tries[0]).toMatchObject(tried);
  });

  test('that stood still since it claimed sends nothing: another one may have', async () => {
    const clock = new ManualClock(T0);
    const table = new FakeTable(1);
    table.beforeClaim = () => clock.advance(60_000);
    start(table, { clock });
    await waitUntil('it is given back', BOUND_MS, () => table.settled.length === 1);
    expect([table.settled, server.taken]).toEqual([['msg_0 released'], []]);
  });

  test('goes on when the table could not be asked', async () => {
    const table = new FakeTable(2);
    let faults = 1;
    table.beforeClaim = () => {
      faults -= 1;
      if (faults >= 0) throw new Error('no table');
    };
    const { trouble, sender } = start(table);
    await waitUntil('it was told', BOUND_MS, () => trouble.length === 1);
    sender.wake();
    await waitUntil('it asks again', BOUND_MS, () => table.asked.length >= 2);
  });
});
