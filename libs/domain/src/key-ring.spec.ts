import { hkdfSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { keyRing } from './key-ring.ts';

const material = (id: string, fill: number, length = 32) => ({
  id,
  bytes: new Uint8Array(length).fill(fill),
});

describe('key ring', () => {
  test('keeps the configured order: the first is the newest', () => {
    const ring = keyRing([material('new', 2), material('old', 1)]);
    expect(ring.newest.id).toBe('new');
    expect(ring.newestFirst.map(({ id }) => id)).toEqual(['new', 'old']);
    expect(ring.byId('old')).toBe(ring.newestFirst[1]);
  });
  test('a key has the same sub-keys wherever it stands in the ring', () => {
    const alone = keyRing([material('old', 1)]).newest;
    expect(keyRing([material('new', 2), material('old', 1)]).byId('old')).toEqual(alone);
  });
  test('one sub-key a purpose, derived with HKDF', () => {
    const { refs, digests, tokens } = keyRing([material('k', 1)]).newest;
    const hex = [refs, digests, tokens].map((key) => Buffer.from(key).toString('hex'));
    expect(new Set(hex).size).toBe(3);
    const expected = hkdfSync('sha256', new Uint8Array(32).fill(1), '', 'spillway/v1/refs', 32);
    expect(hex[0]).toBe(Buffer.from(expected).toString('hex'));
  });
});

describe('refuses', () => {
  test.each([
    { reason: 'no key at all', keys: [], says: /empty/ },
    { reason: 'a key of 31 bytes', keys: [material('short', 1, 31)], says: /"short" is shorter than 32/ },
    {
      reason: 'a short key behind a good one',
      keys: [material('k', 1), material('short', 1, 31)],
      says: /short/,
    },
    { reason: 'an id twice', keys: [material('k', 1), material('k', 2)], says: /same id/ },
  ])('$reason', ({ keys, says }) => {
    expect(() => keyRing(keys)).toThrow(says);
  });
  test('a key that the ring lacks', () => {
    expect(() => keyRing([material('k', 1)]).byId('gone')).toThrow(/"gone"/);
  });
  test('without showing the key', () => {
    expect(() => keyRing([{ id: 'k', bytes: Buffer.from('hush') }])).not.toThrow(/hush|68757368/);
  });
});
