import { describe, expect, test } from 'vitest';
import { idOf } from '#support/builders';
import { recordedRow } from '#support/recorded';
import { readEvent, readMeta, UnreadableEvent } from './upcast.ts';

const body = '{"consumer":"classifier","firstPos":7,"stream":"allocation-a"}';
const requeued = recordedRow({ type: 'ParkedRequeued', role: 'input', body });

/** Why the row is refused. */
function why(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof UnreadableEvent) return error.why;
    throw error;
  }
  return 'read';
}

test('reads a row that says what its version says', () => {
  expect(readEvent(requeued)).toEqual({
    type: 'ParkedRequeued',
    data: { consumer: 'classifier', stream: 'allocation-a', firstPos: 7 },
    row: requeued,
    eventId: requeued.eventId,
    at: requeued.occurredAt,
  });
});

describe('refuses', () => {
  test.each([
    { reason: 'a type of a newer release', change: { type: 'WorldEnded' }, as: 'unknown_type' },
    { reason: 'a type that only an object has', change: { type: 'constructor' }, as: 'unknown_type' },
    { reason: 'the prototype', change: { type: '__proto__' }, as: 'unknown_type' },
    { reason: 'another letter case', change: { type: 'parkedRequeued' }, as: 'unknown_type' },
    { reason: 'a newer version', change: { schemaVersion: 2 }, as: 'newer_version' },
    { reason: 'a version that never was', change: { schemaVersion: 0 }, as: 'body' },
    { reason: 'text that is no JSON', change: { body: '{' }, as: 'body' },
    { reason: 'no text', change: { body: '' }, as: 'body' },
    { reason: 'no object', change: { body: '[]' }, as: 'body' },
    { reason: 'a missing member', change: { body: '{"consumer":"c","stream":"s"}' }, as: 'body' },
    {
      reason: 'a member more: it may change what the event means',
      change: { body: body.replace('{', '{"also":1,') },
      as: 'body',
    },
    {
      reason: 'a member of another type',
      change: { body: '{"consumer":"c","firstPos":"7","stream":"s"}' },
      as: 'body',
    },
  ])('$reason', ({ change, as }) => {
    expect(why(() => readEvent({ ...requeued, ...change }))).toBe(as);
  });
  test('with the place, never with what was stored', () => {
    const damaged = { ...requeued, pos: 12, body: '{"hush":' };
    expect(() => readEvent(damaged)).toThrow(/^body: ParkedRequeued v1 at position 12$/);
  });
});

describe('meta', () => {
  test('names cause and version seen', () => {
    const meta = `{"causedBy":"${idOf('input')}","saw":3}`;
    expect(readMeta({ ...requeued, meta })).toEqual({ causedBy: idOf('input'), saw: 3 });
  });
  test('of an input of its own has neither', () => {
    expect(readMeta({ ...requeued, meta: '{"causedBy":null,"saw":null}' })).toEqual({
      causedBy: null,
      saw: null,
    });
  });
  test.each(['', '{', 'null', '7'])('that is damaged is refused: %j', (meta) => {
    expect(why(() => readMeta({ ...requeued, meta }))).toBe('body');
  });
});
