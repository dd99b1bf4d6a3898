import { expect, test } from 'vitest';
import { logChecks, logServes } from './log-checks.ts';

test.each([
  { ageMs: 0, takesAppends: true, failing: [], reason: 'read a moment ago, and it takes appends' },
  { ageMs: 2_000, takesAppends: true, failing: [], reason: 'read just in time' },
  { ageMs: 2_001, takesAppends: true, failing: ['log'], reason: 'not read for too long' },
  { ageMs: Number.POSITIVE_INFINITY, takesAppends: true, failing: ['log'], reason: 'never read' },
  { ageMs: 0, takesAppends: false, failing: ['append'], reason: 'a read-only server is read all the same' },
  { ageMs: 9_000, takesAppends: false, failing: ['log', 'append'], reason: 'neither' },
])('an app is ready when its log serves: $reason', ({ ageMs, takesAppends, failing }) => {
  const log = { lastReadAgeMs: () => ageMs, takesAppends: () => takesAppends };
  const failed = logChecks(log).filter((check) => !check.passes());
  expect(failed.map(({ name }) => name)).toEqual(failing);
  expect(logServes(log)).toBe(failing.length === 0);
});
