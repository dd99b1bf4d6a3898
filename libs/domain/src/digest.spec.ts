import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { digest } from './digest.ts';

const key = new Uint8Array(32).fill(7);

test('HMAC-SHA-256 over the canonical text of kind and value, in lower-case hex', () => {
  const text = '{"kind":"request","value":{"a":1,"b":null}}';
  expect(digest(key, 'request', { b: null, a: 1 })).toBe(
    createHmac('sha256', key).update(text).digest('hex'),
  );
});
test('the same content under another label is another digest', () => {
  expect(digest(key, 'caller', 'x')).not.toBe(digest(key, 'attempt-id', 'x'));
});
test('the same content under another key is another digest', () => {
  expect(digest(key, 'caller', 'x')).not.toBe(digest(new Uint8Array(32).fill(8), 'caller', 'x'));
});
test('4 and 4.0 are one number, 0 and -0 too', () => {
  expect(digest(key, 'request', JSON.parse('[4.0,-0]'))).toBe(digest(key, 'request', [4, 0]));
});
test('key order and spacing never matter', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).reverse());
      const spaced: unknown = JSON.parse(JSON.stringify(reversed, null, 4));
      expect(digest(key, 'request', spaced)).toBe(digest(key, 'request', value));
    }),
  );
});
