import { describe, expect, test } from 'vitest';
import { answerSubject } from './answers.ts';
import { topologyOf } from './topology.ts';

const at = topologyOf({ deployment: 'main', partitions: 4 });

describe('the subject of an answer', () => {
  test('is the first 26 characters of the base32 of SHA-256 of the message id (fallback 1.5)', () => {
    expect(answerSubject(at, 'local', { messageId: 'run-7#3', sequence: 4 })).toBe(
      'spillway.out.local.2zo5g4ahvyltl7nze4zppzcoqd',
    );
  });
  test('without an id it is that of seq-<sequence>, which the publisher has from its acknowledgement', () => {
    expect(answerSubject(at, 'local', { messageId: null, sequence: 17 })).toBe(
      'spillway.out.local.o5i5osinlbaud4jplsknhhsza3',
    );
  });
  test('holds no text of a caller, whatever the id or the bus user are called', () => {
    const subject = answerSubject(at, 'a.b > *', { messageId: 'x.> y', sequence: 1 });
    expect(subject).toMatch(/^spillway\.out\.[a-z2-7]{26}\.[a-z2-7]{26}$/);
  });
});
