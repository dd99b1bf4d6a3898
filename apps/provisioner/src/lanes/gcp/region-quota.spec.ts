import { expect, test } from 'vitest';
import { regionOf, shortMetric } from './region-quota.ts';

const REGION = {
  quotas: [
    { metric: 'NVIDIA_H100_GPUS', limit: 16, usage: 8 },
    { metric: 'PREEMPTIBLE_NVIDIA_H100_GPUS', limit: 8, usage: 1 },
  ],
};
const request = (pool: string | null, family: string | null, count: number | null) => ({
  pool,
  zone: 'us-central1-a',
  machine: 'a3-highgpu-8g',
  gpu: { family, product: null, count },
  maxRunS: null,
  workload: null,
});

test.each([
  { pool: 'on-demand', family: 'H100', count: 8, short: null, reason: 'exactly what is left' },
  { pool: 'on-demand', family: 'H100', count: 9, short: 'NVIDIA_H100_GPUS', reason: 'one more than is left' },
  { pool: null, family: 'h100', count: 9, short: 'NVIDIA_H100_GPUS', reason: 'no pool is on-demand' },
  {
    pool: 'preemptible',
    family: 'H100',
    count: 8,
    short: 'PREEMPTIBLE_NVIDIA_H100_GPUS',
    reason: 'its own quota',
  },
  {
    pool: 'flex-start',
    family: 'H100',
    count: 8,
    short: 'PREEMPTIBLE_NVIDIA_H100_GPUS',
    reason: 'the same for those that wait',
  },
  { pool: 'on-demand', family: 'B200', count: 8, short: null, reason: 'no such metric is no opinion' },
  { pool: 'on-demand', family: null, count: 99, short: null, reason: 'nothing is known to be asked for' },
  { pool: 'on-demand', family: 'H100', count: null, short: null, reason: 'one, where no number is given' },
])('$reason', ({ pool, family, count, short }) => {
  expect(shortMetric(REGION, request(pool, family, count))).toBe(short);
});

test('what cannot be read is no opinion', () => {
  expect(shortMetric(undefined, request('on-demand', 'H100', 99))).toBeNull();
  expect(shortMetric({ quotas: 'many' }, request('on-demand', 'H100', 99))).toBeNull();
});

test('the region of a zone', () => {
  expect(regionOf('europe-west4-a')).toBe('europe-west4');
});
