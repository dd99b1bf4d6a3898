import { expect, test } from 'vitest';
import { commandDigest } from '#domain/command-digest';
import { eventOfFact, type Fact } from '#domain/fact';
import type { PlacementRow } from '#domain/log';
import { InMemoryLog } from '#event-log/in-memory-log';
import { allocationStream } from '#events/streams';
import { digestOf } from '#support/builders';
import { intentId, intentRecorded } from '#support/provision-builders';
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
};

/** A log whose clock is moved by hand, and rooms over it that share nothing but the log. */
function world(limits: Partial<TerminalLimits>) {
  let nowMs = T0_MS;
  const log = new InMemoryLog({ logId: 'test', now: () => nowMs });
  let commands = 0;
  const record = (fact: Fact, placement?: PlacementRow) => {
    commands += 1;
    const commandId = `test-${commands}`;
    return log.append([
      {
        commandId,
        digest: commandDigest('provision', commandId),
        stream: allocationStream(digestOf(commandId)),
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
  return { record, room, pass: (ms: number) => (nowMs += ms) };
}

test('without limits there is always room', async () => {
  const { record, room } = world({});
  await record(intentRecorded(intentId('a')), BILLING);
  expect(await room().hasRoom()).toBe(true);
});

test('so many terminal intents in an hour, and a fresh process counts the same', async () => {
  const { record, room, pass } = world({ createsPerHour: 2 });
  const first = room();
  await record(intentRecorded(intentId('a')));
  expect(await first.hasRoom()).toBe(true);
  pass(60_000);
  await record(intentRecorded(intentId('b')));
  expect([await first.hasRoom(), await room().hasRoom()]).toEqual([false, false]);
  pass(HOUR_MS - 60_001);
  expect([await first.hasRoom(), await room().hasRoom()]).toEqual([false, false]);
  pass(1);
  expect([await first.hasRoom(), await room().hasRoom()]).toEqual([true, true]);
});

test('intents of rungs are none of the terminal lane', async () => {
  const { record, room } = world({ createsPerHour: 1 });
  await record(intentRecorded(intentId('a'), { kind: 'rung', rung: 'od_a', zone: null }));
  expect(await room().hasRoom()).toBe(true);
});

test.each([
  { bills: [BILLING], billingMax: 2, room: true },
  { bills: [BILLING, BILLING], billingMax: 2, room: false },
  { bills: [BILLING, { ...BILLING, lane: 'gcp' }], billingMax: 2, room: true },
  { bills: [BILLING, { ...BILLING, bills: false }], billingMax: 2, room: true },
])('at most $billingMax terminal machines that bill at once: $room', async ({ bills, billingMax, room }) => {
  const all = world({ billingMax });
  for (const row of bills) await all.record(intentRecorded(intentId('a')), row);
  expect(await all.room().hasRoom()).toBe(room);
});
