import { expect, test } from 'vitest';
import { maskNames } from './names.ts';

test.each([
  ['pod train-checkpoint-eval-0', 'A hyphenated name.'],
  ['see https://x.test/timeout', 'An address.'],
  ['on /mnt/checkpoint/a', 'A path.'],
  ['image a.test/cuda:12', 'An image.'],
  ['label app=forbidden', 'A label.'],
  ['host dns.example', 'A host.'],
  ['node "cancelled" is', 'A quoted name after its noun.'],
  ['pods in namespace dns are', 'A bare name after its place.'],
])('masks the name in: %s', (text, _reason) => {
  const masked = maskNames(text);
  expect(masked).toHaveLength(text.length);
  expect(masked).not.toMatch(/checkpoint|timeout|cuda|forbidden|dns|cancelled/);
});

test.each([
  'timed-out.',
  'create in zone timed out',
  'back-off restarting',
  'tls/ssl error',
  'error=forbidden',
  'openai.ratelimiterror: x',
  "didn't match",
])('keeps the words of: %s', (text) => {
  expect(maskNames(text)).toBe(text);
});
