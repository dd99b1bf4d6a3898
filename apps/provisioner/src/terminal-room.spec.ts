import { expect, test } from 'vitest';
import { commandDigest } from '#domain/command-digest';
import { eventOfFact, type Fact } from '#domain/fact';
import type { PlacementRow } from '#domain/log';
import { InMemoryLog } from '#event-log/in-memory-log';
import type { Entry } from '#events/intent.events';
import { allocationStream } from '#events/streams';
import { digestOf } from '#support/builders';
import { createSending, intentId, intentRecorded } from '#support/provision-builders';
import { type TerminalLimits, TerminalRoom } from './terminal-room.ts';

const HOUR_MS = 3_600_000;
const T0_MS = Date.parse('2026-11-29T10:00:00.000Z');

const BILLING: PlacementRow = {
  outcome: 'running_on_terminal',
  reason: null,
  lane: 'runpod',
  instance: 'P1',
  openIntent: null,
  needsWorker: false,
  wakeAt: null,
  retryAt: null,
  bills: true,
  alerts: 0,
};

/** A log whose clock is moved by hand, and rooms over it that share nothing but the log. */
function world(limits: Partial<TerminalLimits>) {
  let nowMs = T0_MS;
  const log = new InMemoryLog({ logId: 'test', now: () => nowMs });
  let commands = 0;
  const record = (fact: Fact, placement?: PlacementRow, stream?: string) => {
    commands += 1;
    const commandId = `test-${commands}`;
    return log.append([
      {
        commandId,
        digest: commandDigest('provision', commandId),
        stream: allocationStream(digestOf(stream ?? commandId)),
        expected: 'any',
        occurredAt: new Date(nowMs).toISOString(),
        events: [{ event: eventOfFact(fact), meta: { causedBy: null, saw: 0 } }],
        ...(placement === undefined ? {} : { placement }),
      },
    ]);
  };
  const room = () =>
    new TerminalRoom({
      limits: { createsPerHour: null, billingMax: null, ...limits },
      log,
      lanes: new Set(['runpod']),
      nowMs: () => nowMs,
    });
  const sent = async (intent: string, stream: string, entry?: Entry) => {
    await record(intentRecorded(intent, entry), undefined, stream);
    await record(createSending(intent, 0), undefined, stream);
  };
  return { record, sent, room, pass: (ms: number) => (nowMs += ms) };
}

const [A, B] = [intentId('a'), intentId('b')];
const X = allocationStream(digestOf('x'));
const Y = allocationStream(digestOf('y'));

test('without limits there is always room', async () => {
  const { record, room } = world({});
  await record(intentRecorded(A), BILLING);
  expect(await room().hasRoom(X)).toBe(true);
});

test('so many terminal creates in an hour, and a fresh process counts the same', async () => {
  const { sent, room, pass } = world({ createsPerHour: 2 });
  const first = room();
  await sent(A, 'a');
  expect(await first.hasRoom(X)).toBe(true);
  pass(60_000);
  await sent(B, 'b');
  expect([await first.hasRoom(X), await room().hasRoom(X)]).toEqual([false, false]);
  pass(HOUR_MS - 60_001);
  expect([await first.hasRoom(X), await room().hasRoom(X)]).toEqual([false, false]);
  pass(1);
  expect([await first.hasRoom(X), await room().hasRoom(X)]).toEqual([true, true]);
});

test('an intent that was not sent yet takes no room, least of all from itself', async () => {
  const { record, room } = world({ createsPerHour: 1, billingMax: 1 });
  for (const letter of ['a', 'b', 'c']) await record(intentRecorded(intentId(letter)));
  expect(await room().hasRoom(X)).toBe(true);
});

test('the next create of an intent that is open still has the room of the one before', async () => {
  const { sent, room } = world({ createsPerHour: 1, billingMax: 1 });
  await sent(A, 'a');
  expect(await room().hasRoom(allocationStream(digestOf('a')))).toBe(true);
  expect(await room().hasRoom(X)).toBe(false);
});

test('of many that ask at once only so many pass, until it is known that they send nothing', async () => {
  const { room, pass } = world({ createsPerHour: 1 });
  const one = room();
  expect(await Promise.all([one.hasRoom(X), one.hasRoom(Y), one.hasRoom(X)])).toEqual([true, false, true]);
  pass(60_000);
  expect(await one.hasRoom(Y)).toBe(true);
});

test('a machine that is being made counts as one that bills', async () => {
  const { sent, record, room } = world({ billingMax: 1 });
  const one = room();
  await sent(A, 'a');
  expect(await one.hasRoom(X)).toBe(false);
  await record({ type: 'IntentClosed', data: { intent: A, why: 'missed' } }, undefined, 'a');
  expect(await one.hasRoom(X)).toBe(true);
});

test('creates of rungs are none of the terminal lane', async () => {
  const { sent, room } = world({ createsPerHour: 1, billingMax: 1 });
  await sent(A, 'a', { kind: 'rung', rung: 'od_a', zone: null });
  expect(await room().hasRoom(X)).toBe(true);
});

test.each([
  { bills: [BILLING], billingMax: 2, room: true },
  { bills: [BILLING, BILLING], billingMax: 2, room: false },
  { bills: [BILLING, { ...BILLING, lane: 'gcp' }], billingMax: 2, room: true },
  { bills: [BILLING, { ...BILLING, bills: false }], billingMax: 2, room: true },
])('at most $billingMax terminal machines that bill at once: $room', async ({ bills, billingMax, room }) => {
  const all = world({ billingMax });
  for (const row of bills) await all.record(intentRecorded(intentId('a')), row);
  expect(await all.room().hasRoom(X)).toBe(room);
});
