import { expect, test } from 'vitest';
import { deleteKey, insertKey } from './operation.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('the key of an insert is a UUID of its intent alone', () => {
  const key = insertKey('aaaaaaaaaaaaaaaaaaaaaaaaaa');
  expect(key).toMatch(UUID);
  expect(insertKey('aaaaaaaaaaaaaaaaaaaaaaaaaa')).toBe(key);
  expect(insertKey('aaaaaaaaaaaaaaaaaaaaaaaaab')).not.toBe(key);
});

test('each delete of an instance has a key of its own, and none is an insert’s', () => {
  const keys = [0, 1, 2, 3].map((nth) => deleteKey('us-central1-a/x/1', nth));
  expect(new Set([...keys, insertKey('us-central1-a/x/1')]).size).toBe(5);
  for (const key of keys) expect(key).toMatch(UUID);
});
