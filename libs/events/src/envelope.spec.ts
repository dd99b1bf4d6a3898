import { describe, expect, test } from 'vitest';
import { base32, eventIdOf, slotOf } from './envelope.ts';

describe('base32', () => {
  test.each([
    { text: '', encoded: '' },
    { text: 'f', encoded: 'my' },
    { text: 'fo', encoded: 'mzxq' },
    { text: 'foo', encoded: 'mzxw6' },
    { text: 'foob', encoded: 'mzxw6yq' },
    { text: 'fooba', encoded: 'mzxw6ytb' },
    { text: 'foobar', encoded: 'mzxw6ytboi' },
  ])('RFC 4648 vector "$text", in lower case and without padding', ({ text, encoded }) => {
    expect(base32(Buffer.from(text), 100)).toBe(encoded);
  });
  test('is cut to the length asked for', () => {
    expect(base32(Buffer.from('foobar'), 4)).toBe('mzxw');
    expect(base32(Buffer.from('foobar'), 0)).toBe('');
  });
  test('keeps every bit of the bytes 0 to 255', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    expect(base32(bytes, 410)).toHaveLength(410);
    expect(base32(bytes, 16)).toBe('aaaqeayeaudaocaj');
  });
});

describe('event id', () => {
  test('is the same whoever derives it', () => {
    expect(eventIdOf('command-1', 0)).toBe('xtpow6tkimfyipr72mglj7kdli');
    expect(eventIdOf('command-1', 1)).toBe('wpghqbdeplilyu7w726fiaqtyn');
  });
  test('is 26 characters, 130 bits', () => {
    expect(eventIdOf('command-1', 0)).toMatch(/^[a-z2-7]{26}$/);
  });
  test('differs by command and by place in the command', () => {
    const ids = [eventIdOf('a', 0), eventIdOf('a', 1), eventIdOf('a\n0', 0), eventIdOf('b', 0)];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('slot', () => {
  test.each([
    { stream: 'deployment', slot: 35824 },
    { stream: 'allocation-a', slot: 25810 },
    { stream: '', slot: 57972 },
  ])('of "$stream" is the same in every process and version', ({ stream, slot }) => {
    expect(slotOf(stream)).toBe(slot);
  });
  test('is a 16-bit number, spread over the partitions', () => {
    const slots = Array.from({ length: 1_000 }, (_, index) => slotOf(`allocation-${index}`));
    expect(slots.every((slot) => Number.isInteger(slot) && slot >= 0 && slot < 65_536)).toBe(true);
    const partitions = new Set(slots.map((slot) => slot % 16));
    expect(partitions.size).toBe(16);
  });
});
