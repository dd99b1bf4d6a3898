import { expect, test } from 'vitest';
import { keyRing } from './key-ring.ts';
import { messageCommandId, messageIdDigest, shownMessageId } from './message-ids.ts';

const key = keyRing([{ id: 'k1', bytes: new Uint8Array(32).fill(1) }]).newest;
const otherKey = keyRing([{ id: 'k2', bytes: new Uint8Array(32).fill(2) }]).newest;
const caller = { kind: 'caller', id: 'm-1' } as const;
const queue = { kind: 'queue', incarnation: '17', sequence: 4 } as const;
const random = { kind: 'random', id: 'r'.repeat(26) } as const;

test('the same id is the same command, whoever sends it', () => {
  expect(messageCommandId('launch', caller, key)).toBe(messageCommandId('launch', { ...caller }, key));
});

test('a launch and an observation of one id are two commands', () => {
  expect(messageCommandId('launch', caller, key)).not.toBe(messageCommandId('observation', caller, key));
});

test('nobody without the key can name the command of an id, nor read the id in it', () => {
  expect(messageCommandId('launch', caller, key)).not.toBe(messageCommandId('launch', caller, otherKey));
  expect(messageCommandId('launch', caller, key)).not.toContain(caller.id);
});

test('a place in the queue is told from every id, and from the same place of another queue', () => {
  const other = { ...queue, incarnation: '18' };
  const digests = [caller, queue, other, { kind: 'caller', id: 'seq-4' } as const].map((name) =>
    messageIdDigest(name, key),
  );
  expect(new Set(digests).size).toBe(digests.length);
});

test.each([
  { name: caller, shown: 'm-1' },
  { name: queue, shown: 'seq-4' },
  { name: random, shown: random.id },
])('an answer shows $shown', ({ name, shown }) => {
  expect(shownMessageId(name)).toBe(shown);
});
