import { headers, type MsgHdrs } from '@nats-io/nats-core';
import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '#events/envelope';
import { eventMessage, readEventMessage, readMessageId } from './event-message.ts';
import { topologyOf } from './topology.ts';

const at = topologyOf({ deployment: 'main', partitions: 4 });
const row: RecordedEvent = {
  pos: 7,
  stream: 'allocation-x',
  streamVersion: 3,
  decisionVersion: 1,
  eventId: 'e',
  commandId: 'c',
  commandIndex: 0,
  commandDigest: 'd'.repeat(64),
  type: 'AttemptReported',
  schemaVersion: 1,
  role: 'input',
  slot: 6,
  occurredAt: '2026-01-05T00:00:00.000Z',
  recordedAt: '2026-01-05T00:00:00.000Z',
  // Order, digits and escapes must come out as they went in.
  body: '{"b":1.10,"a":"\\u2028 \\ud83d\\ude00 ü"}',
  meta: '{"causedBy":null,"saw":null}',
  format: 1,
  prevHash: 'a'.repeat(64),
  hash: `${'b'.repeat(16)}${'c'.repeat(48)}`,
};
const ordinary = { lastId: 'log-a:6:aaaaaaaaaaaaaaaa', lastSequence: null };
const message = eventMessage(at, 'log-a', row, 5, ordinary, 100_000);

/** What the broker hands on: the headers that went over the wire. */
function received(more: Readonly<Record<string, string>> = {}): MsgHdrs {
  const heads = headers();
  heads.set('Nats-Msg-Id', 'log-a:7:bbbbbbbbbbbbbbbb');
  heads.set('Spillway-Previous', '5');
  heads.set('Spillway-Partition', '2/4');
  heads.set('Spillway-Hash', row.hash);
  for (const [name, value] of Object.entries(more)) heads.set(name, value);
  return heads;
}
const read = (from: MsgHdrs | undefined, body = message.body, partition = 2) =>
  readEventMessage(at, 'log-a', partition, from, Buffer.from(body));

describe('a row on the bus', () => {
  test('goes to the subject of its partition and type, and names the row before it', () => {
    expect(message.subject).toBe('spillway.ev.2.AttemptReported');
    expect(message.id).toBe('log-a:7:bbbbbbbbbbbbbbbb');
    expect(readMessageId(message.id)).toEqual({ logId: 'log-a', pos: 7, hash16: 'b'.repeat(16) });
  });

  test('comes back as it was, bytes of body and meta included', () => {
    expect(read(received())).toEqual({ kind: 'event', event: row, previousPos: 5 });
  });

  test('above the limit it travels without its body, and the reader looks into the log', () => {
    const short = eventMessage(at, 'log-a', row, 5, ordinary, 100);
    expect(short.body).toBe('');
    expect(read(received({ 'Spillway-Omitted': '1' }), '')).toEqual({ kind: 'passed', reason: 'omitted' });
  });
});

describe('a message is foreign when', () => {
  test.each([
    ['it has no id', 'no_id', received({ 'Nats-Msg-Id': 'hello' }), undefined],
    ['it is of another log', 'other_log', received({ 'Nats-Msg-Id': 'log-b:7:bbbbbbbbbbbbbbbb' }), undefined],
    ['its body is no JSON', 'unreadable_body', received(), '{'],
    ['its body is no row', 'unreadable_body', received(), '{"pos":7}'],
    ['its body has a member too many', 'unreadable_body', received(), JSON.stringify({ ...row, more: 1 })],
    ['its position is another', 'header_mismatch', received(), JSON.stringify({ ...row, pos: 8 })],
    ['its hash is another', 'header_mismatch', received({ 'Spillway-Hash': 'd'.repeat(64) }), undefined],
    [
      'its id has another hash',
      'header_mismatch',
      received({ 'Nats-Msg-Id': 'log-a:7:dddddddddddddddd' }),
      undefined,
    ],
    ['it names no position before it', 'header_mismatch', received({ 'Spillway-Previous': '7' }), undefined],
    ['its slot is of another partition', 'wrong_partition', received(), JSON.stringify({ ...row, slot: 5 })],
    [
      'its header names another partition',
      'wrong_partition',
      received({ 'Spillway-Partition': '1/4' }),
      undefined,
    ],
  ])('%s', (_, reason, heads, body) => {
    expect(read(heads, body)).toEqual({ kind: 'foreign', reason });
  });

  test('it has no headers at all', () => {
    expect(read(undefined)).toEqual({ kind: 'foreign', reason: 'no_id' });
  });
});

test('a message of another number of partitions is passed over: the log has it', () => {
  expect(read(received({ 'Spillway-Partition': '6/8' }))).toEqual({
    kind: 'passed',
    reason: 'other_partitioning',
  });
});
