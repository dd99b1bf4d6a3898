import { webcrypto } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KEY_BYTES, NONCE_BYTES, openBytes, sealBytes, sealContext, wrapContext } from './sealing.ts';

const key = new Uint8Array(KEY_BYTES).fill(3);
const nonce = new Uint8Array(NONCE_BYTES).fill(5);
const context = sealContext('allocation-a', 'name', 'd1');
const plain = Buffer.from('team-a/finetune-7');

describe('sealed text', () => {
  test('opens to the bytes that were sealed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const opened = openBytes(key, nonce, context, sealBytes(key, nonce, context, bytes));
        expect(opened === null ? null : [...opened]).toEqual([...bytes]);
      }),
    );
  });
  test('shows nothing of the text', () => {
    expect(Buffer.from(sealBytes(key, nonce, context, plain)).includes(plain)).toBe(false);
  });
  test('is AES-256-GCM with the tag at the end, as others compute it', async () => {
    const { subtle } = webcrypto;
    const imported = await subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt']);
    const params = { name: 'AES-GCM', iv: nonce, additionalData: Buffer.from(context), tagLength: 128 };
    const expected = await subtle.encrypt(params, imported, plain);
    expect(Buffer.from(sealBytes(key, nonce, context, plain))).toEqual(Buffer.from(expected));
  });
});

describe('does not open', () => {
  const sealed = sealBytes(key, nonce, context, plain);

  test.each([
    { reason: 'under another key', key: new Uint8Array(KEY_BYTES).fill(4), nonce, context },
    { reason: 'with another nonce', key, nonce: new Uint8Array(NONCE_BYTES).fill(6), context },
    { reason: 'moved to another stream', key, nonce, context: sealContext('allocation-b', 'name', 'd1') },
    { reason: 'read as another kind', key, nonce, context: sealContext('allocation-a', 'failure', 'd1') },
    { reason: 'read as a record key', key, nonce, context: wrapContext('allocation-a', 'd1') },
  ])('$reason', (asked) => {
    expect(openBytes(asked.key, asked.nonce, asked.context, sealed)).toBeNull();
  });
  test('when any bit is turned', () => {
    for (let index = 0; index < sealed.length; index += 1) {
      const damaged = Uint8Array.from(sealed, (byte, at) => (at === index ? byte ^ 1 : byte));
      expect(openBytes(key, nonce, context, damaged)).toBeNull();
    }
  });
  test.each([0, 1, 15, 16, sealed.length - 1])('when it is cut to %d bytes', (length) => {
    expect(openBytes(key, nonce, context, sealed.subarray(0, length))).toBeNull();
  });
});
