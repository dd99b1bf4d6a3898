import { expect, test } from 'vitest';
import { createdAtOf } from './created-at.ts';

test.each<readonly [string | null, string | null, string]>([
  ['2026-01-05T00:00:00Z', '2026-01-05T00:00:00.000Z', 'Kubernetes writes whole seconds'],
  ['2026-01-05T00:00:00.123456789Z', '2026-01-05T00:00:00.123Z', 'Go programs write nanoseconds'],
  ['2026-01-05T01:00:00.000-07:00', '2026-01-05T08:00:00.000Z', 'Compute writes its own zone'],
  ['+012026-01-05T00:00:00.000Z', null, 'the log has no such year'],
  ['yesterday', null, 'no time at all'],
  ['', null, 'nothing'],
  [null, null, 'absent'],
])('%s is read as %s: %s', (text, instant, _why) => {
  expect(createdAtOf(text)).toBe(instant);
});
