import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashOf, type Unhashed } from './chain.ts';

const EVENT: Unhashed = {
  pos: 12,
  stream: 'allocation-a',
  streamVersion: 3,
  decisionVersion: 2,
  eventId: 'event',
  commandId: 'command',
  commandIndex: 1,
  commandDigest: 'digest',
  type: 'Seen',
  schemaVersion: 1,
  role: 'decision',
  slot: 77,
  occurredAt: '2026-11-29T10:00:00.120Z',
  recordedAt: '2026-11-29T10:00:00.121Z',
  body: '{"a":"\u00e9\u{1f600}"}',
  meta: '{}',
  format: 1,
  prevHash: '0'.repeat(64),
};

describe('the hash of a row', () => {
  test('is this one: rows that were written keep their meaning', () => {
    expect(hashOf('log', EVENT)).toBe('4fd43b33b779d3756e931da9d5b01447016bebfb61f03c89d0a698f8b0c27c06');
  });

  test.each(Object.keys(EVENT))('changes with %s', (name) => {
    const value = EVENT[name as keyof Unhashed];
    const changed = { ...EVENT, [name]: typeof value === 'number' ? value + 1 : `${value}x` };
    expect(hashOf('log', changed)).not.toBe(hashOf('log', EVENT));
  });

  test('changes with the log', () => {
    expect(hashOf('log2', EVENT)).not.toBe(hashOf('log', EVENT));
  });

  test('pitfall 12: moving characters from one field to the next changes it', () => {
    const pairs = [
      ['stream', 'eventId'],
      ['eventId', 'commandId'],
      ['commandDigest', 'type'],
      ['recordedAt', 'body'],
      ['body', 'meta'],
      ['meta', 'prevHash'],
    ] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...pairs),
        fc.string({ minLength: 1 }),
        fc.string(),
        ([left, right], moved, rest) => {
          const before = { ...EVENT, [left]: `${EVENT[left]}${moved}`, [right]: rest };
          const after = { ...EVENT, [left]: EVENT[left], [right]: `${moved}${rest}` };
          expect(hashOf('log', before)).not.toBe(hashOf('log', after));
        },
      ),
    );
  });

  test('does not depend on what was hashed before', () => {
    const large = { ...EVENT, body: 'x'.repeat(300_000) };
    const before = hashOf('log', EVENT);
    const hashOfLarge = hashOf('log', large);
    expect(hashOf('log', EVENT)).toBe(before);
    expect(hashOf('log', large)).toBe(hashOfLarge);
  });
});
