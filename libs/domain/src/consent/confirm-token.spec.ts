import { describe, expect, test } from 'vitest';
import { digestOf, idOf } from '#support/builders';
import { keyRing } from '../key-ring.ts';
import { confirmToken, isConfirmToken, type TokenSubject } from './confirm-token.ts';

const key = keyRing([{ id: 'key-1', bytes: new Uint8Array(32).fill(1) }]).newest;
const otherKey = keyRing([{ id: 'key-2', bytes: new Uint8Array(32).fill(2) }]).newest;
const subject: TokenSubject = {
  deployment: 'test',
  ref: digestOf('ref'),
  actionDigest: digestOf('action'),
  questionId: idOf('question'),
};

test('43 characters of base64url without padding', () => {
  expect(confirmToken(key, subject)).toMatch(/^[A-Za-z0-9_-]{43}$/);
});
test('derived: the same question has the same token in every process', () => {
  expect(confirmToken(key, { ...subject })).toBe('p5gHQnDB0bISq3k2d0kS1KuzyF6EHGT_q50atPSbgFU');
});
test('opens its own question', () => {
  expect(isConfirmToken(confirmToken(key, subject), key, subject)).toBe(true);
});
test('what else the caller knows of the question is no part of it', () => {
  const more = { ...subject, expiresAt: 'later' };
  expect(confirmToken(key, more)).toBe(confirmToken(key, subject));
});

describe('is bound to', () => {
  test.each([
    { what: 'the deployment', change: { deployment: 'other' } },
    { what: 'the allocation', change: { ref: digestOf('other') } },
    { what: 'the proposed action', change: { actionDigest: digestOf('other') } },
    { what: 'the question: an older one and a renewal have another', change: { questionId: idOf('other') } },
  ])('$what', ({ change }) => {
    expect(isConfirmToken(confirmToken(key, subject), key, { ...subject, ...change })).toBe(false);
  });
  test('the ring key of the stream', () => {
    expect(isConfirmToken(confirmToken(key, subject), otherKey, subject)).toBe(false);
  });
});

describe('refuses', () => {
  const token = confirmToken(key, subject);
  test.each([
    { reason: 'empty', candidate: '' },
    { reason: 'blank', candidate: '   ' },
    { reason: 'cut', candidate: token.slice(0, -1) },
    { reason: 'longer', candidate: `${token}A` },
    { reason: 'a blank around it', candidate: ` ${token}` },
    { reason: 'padding', candidate: `${token}=` },
    { reason: 'another letter case', candidate: token.toLowerCase() },
    { reason: 'text of the same length', candidate: 'A'.repeat(43) },
    { reason: 'no ASCII', candidate: '\u{1f511}'.repeat(43) },
    { reason: 'half of a surrogate pair', candidate: '\ud83d' },
  ])('$reason', ({ candidate }) => {
    expect(isConfirmToken(candidate, key, subject)).toBe(false);
  });
});
