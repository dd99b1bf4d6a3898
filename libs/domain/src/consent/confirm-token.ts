import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '#events/canonical-json';
import type { RingKey } from '../key-ring.ts';

/** What a token is bound to: one question of one allocation of one deployment. */
export interface TokenSubject {
  readonly deployment: string;
  readonly ref: string;
  readonly actionDigest: string;
  readonly questionId: string;
}

/**
 * The token of a question: derived, never stored, 43 characters of base64url (fallback 6). `key` is the ring
 * key of the stream.
 */
export function confirmToken(key: RingKey, subject: TokenSubject): string {
  // Named one by one: a member more in what the caller passes would be another token.
  const { deployment, ref, actionDigest, questionId } = subject;
  const value = { deployment, ref, actionDigest, questionId };
  return createHmac('sha256', key.tokens)
    .update(canonicalJson({ kind: 'confirm-token', value }))
    .digest('base64url');
}

/** Derives the token again and compares in constant time. */
export function isConfirmToken(candidate: string, key: RingKey, subject: TokenSubject): boolean {
  const expected = Buffer.from(confirmToken(key, subject));
  const given = Buffer.from(candidate);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
