import { describe, expect, test } from 'vitest';
import { announce, lineOf, readCheckpointLines } from './checkpoint-lines.ts';
import { genuinenessOf, signCheckpoint } from './signed-checkpoint.ts';
import {
  PublicKeysUnreadable,
  publicKeyFile,
  publicKeysOf,
  readPublicKeys,
  type SigningKey,
  signingKeys,
} from './signing-keys.ts';

const seed = (id: string, byte: number) => ({ id, bytes: new Uint8Array(32).fill(byte) });
const [k2, k1] = signingKeys([seed('k2', 2), seed('k1', 1)]) as readonly [SigningKey, SigningKey];
const [stranger] = signingKeys([seed('k1', 9)]) as readonly [SigningKey];

const AT = '2026-11-29T10:00:00.000Z';
const place = (pos: number, byte = 'a') => ({
  logId: 'log-1',
  pos,
  hash: byte.repeat(64),
  recordedAt: AT,
});
const sign = (pos: number, key = k1, byte = 'a') => signCheckpoint(place(pos, byte), key, AT);
const trusting = (...keys: readonly SigningKey[]) => publicKeysOf(keys);

describe('a signed checkpoint', () => {
  test('is genuine for who trusts its key, and the same each time', () => {
    expect(genuinenessOf(sign(7), trusting(k1))).toBe('genuine');
    expect(sign(7)).toEqual(sign(7));
  });

  test.each([
    ['position', { pos: 8 }],
    ['hash', { hash: 'b'.repeat(64) }],
    ['log', { log_id: 'log-2' }],
    ['time of the row', { recorded_at: '2026-11-29T10:00:00.001Z' }],
    ['time of signing', { signed_at: '2026-11-29T10:00:00.001Z' }],
    ['format', { format: 'spillway-checkpoint-2' }],
  ])('is forged with another %s', (_member, change) => {
    expect(genuinenessOf({ ...sign(7), ...change }, trusting(k1))).toBe('forged');
  });

  test('is forged when another key of the same id made it, and unknown under an id that nobody trusts', () => {
    expect(genuinenessOf(sign(7, stranger), trusting(k1))).toBe('forged');
    expect(genuinenessOf(sign(7, k2), trusting(k1))).toBe('unknown_key');
  });
});

describe('the file of public keys', () => {
  test('holds every key of the ring and nothing of the private ones', () => {
    const text = publicKeyFile([k2, k1]);
    const keys = readPublicKeys(text);
    expect([...keys.keys()]).toEqual(['k2', 'k1']);
    expect(genuinenessOf(sign(7), keys)).toBe('genuine');
    expect(genuinenessOf(sign(7, k2), keys)).toBe('genuine');
    expect(JSON.parse(text).keys.every((key: object) => !('d' in key))).toBe(true);
  });

  test.each([
    ['no JSON', '{'],
    ['no keys', '{"keys":[]}'],
    ['another kind of key', '{"keys":[{"kty":"RSA","kid":"k1","n":"x","e":"AQAB"}]}'],
    ['a key that is cut', '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k1","x":"AAAA"}]}'],
    ['an id twice', publicKeyFile([k1, stranger])],
  ])('is refused with %s', (_what, text) => {
    expect(() => readPublicKeys(text)).toThrow(PublicKeysUnreadable);
  });

  test('a seed of another length is no key', () => {
    expect(() => signingKeys([{ id: 'k1', bytes: new Uint8Array(33) }])).toThrow(RangeError);
  });
});

describe('a file of checkpoints', () => {
  const read = (text: string, keys = trusting(k1), logId: string | null = 'log-1') =>
    readCheckpointLines(text, keys, logId);

  test('gives the genuine ones in order', () => {
    const { genuine, doubts } = read(lineOf(sign(3)) + lineOf(sign(9)));
    expect(genuine.map(({ pos }) => pos)).toEqual([3, 9]);
    expect(doubts).toEqual([]);
  });

  test('tells of each line that proves nothing, and why', () => {
    const { genuine, doubts } = read(
      [
        lineOf(sign(3)),
        lineOf({ ...sign(4), hash: 'b'.repeat(64) }),
        lineOf(sign(5, k2)),
        'half a li\n',
        lineOf(signCheckpoint({ ...place(6), logId: 'log-2' }, k1, AT)),
        lineOf(sign(3, k1, 'c')),
      ].join(''),
    );
    expect(genuine.map(({ pos }) => pos)).toEqual([3]);
    expect(doubts).toEqual([
      { line: 2, pos: 4, why: 'forged' },
      { line: 3, pos: 5, why: 'unknown_key' },
      { line: 4, pos: null, why: 'malformed' },
      { line: 5, pos: 6, why: 'other_log' },
      { line: 6, pos: 3, why: 'contradiction' },
    ]);
  });

  test('without a log holds one log only', () => {
    const other = signCheckpoint({ ...place(6), logId: 'log-2' }, k1, AT);
    expect(read(lineOf(sign(3)) + lineOf(other), trusting(k1), null).doubts).toEqual([
      { line: 2, pos: 6, why: 'other_log' },
    ]);
  });

  test('a new key is trusted from the line on in which the old one announces it', () => {
    const before = lineOf(sign(3)) + lineOf(sign(5, k2));
    const text = `${before}${lineOf(announce(k2, k1, AT))}${lineOf(sign(7, k2))}`;
    const { genuine, doubts } = read(text);
    expect(genuine.map(({ pos, key_id }) => [pos, key_id])).toEqual([
      [3, 'k1'],
      [7, 'k2'],
    ]);
    expect(doubts).toEqual([{ line: 2, pos: 5, why: 'unknown_key' }]);
  });

  test('a stranger announces nothing, and no announcement gives a trusted id another key', () => {
    expect(read(lineOf(announce(k2, stranger, AT)) + lineOf(sign(7, k2)))).toEqual({
      genuine: [],
      doubts: [
        { line: 1, pos: null, why: 'forged' },
        { line: 2, pos: 7, why: 'unknown_key' },
      ],
    });
    const renamed = announce({ ...stranger, id: 'k2' }, k1, AT);
    expect(read(lineOf(renamed) + lineOf(sign(7, k2)), trusting(k1, k2))).toMatchObject({
      genuine: [{ pos: 7 }],
      doubts: [{ line: 1, why: 'contradiction' }],
    });
  });
});
