import { expect, test } from 'vitest';
import { presentFailure } from './history.ts';

const pull = 'warning failed 9m kubelet failed to pull image "x": manifest unknown';
const waiting =
  'warning failedscheduling 12m default-scheduler 0/3 nodes are available: 3 insufficient nvidia.com/gpu.';

test('a scheduling failure from before the pod was bound is history', () => {
  const bound = 'normal scheduled 10m default-scheduler successfully assigned ns-a/x to node-4';
  expect(presentFailure(`events: ${bound} ${pull} ${waiting}`)).not.toContain('insufficient');
});

test('a pull failure of an earlier try is history when the pod waits again', () => {
  const again = waiting.replace('12m', '30s');
  expect(presentFailure(`events: ${pull} ${again}`)).not.toContain('manifest');
  expect(presentFailure(`events: ${pull} ${again}`)).toContain('insufficient nvidia.com/gpu');
});

test.each([
  'no capacity. regions with capacity available: us-west-1',
  'no capacity. please try again later.',
  'no capacity. last error: quota exceeded.',
  'no capacity. connection refused 12 minutes ago.',
  'no capacity. compute.instance.gpu.h200 still has headroom 8 of 16.',
  'no capacity. (last state: pending)',
])('keeps only the failure of: %s', (text) => {
  expect(presentFailure(text)).toBe('no capacity.');
});

test('keeps everything when nothing else was said', () => {
  expect(presentFailure('last error: no capacity.')).toBe('last error: no capacity.');
});
