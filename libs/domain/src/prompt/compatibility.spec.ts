import { describe, expect, test } from 'vitest';
import { ALLOCATION, CANDIDATE } from '#support/attempt-bodies';
import { INVARIANTS, isValidInvariant } from '../attempt/invariants.ts';
import { incompatibilities } from './compatibility.ts';

const texts = [
  'gpu_family',
  'gpu_product',
  'image',
  'image_digest',
  'sm',
  'backend',
  'model',
  'workload_tier',
  'execution_mode',
] as const;
const counts = ['gpu_count', 'boot_disk_count', 'boot_disk_size_bytes'] as const;

test('the invariants are 13, in the order of the specification', () => {
  expect(INVARIANTS).toEqual([
    'gpu_family',
    'gpu_product',
    'gpu_count',
    'image',
    'image_digest',
    'sm',
    'rt_cores_required',
    'backend',
    'model',
    'workload_tier',
    'execution_mode',
    'boot_disk_count',
    'boot_disk_size_bytes',
  ]);
});

test('the identical allocation on preemptible capacity is compatible', () => {
  expect(incompatibilities(ALLOCATION, CANDIDATE)).toEqual([]);
});

describe.each(INVARIANTS)('%s', (name) => {
  test('absent in the candidate', () => {
    expect(incompatibilities(ALLOCATION, { ...CANDIDATE, [name]: undefined })).toEqual([
      `candidate_incomplete:${name}`,
    ]);
  });
  test('absent in the request', () => {
    expect(incompatibilities({ ...ALLOCATION, [name]: undefined }, CANDIDATE)).toEqual([
      `request_incomplete:${name}`,
      `candidate_differs:${name}`,
    ]);
  });
  test('missing on both sides is not equal: nothing is proven', () => {
    const lacking = { [name]: undefined };
    expect(incompatibilities({ ...ALLOCATION, ...lacking }, { ...CANDIDATE, ...lacking })).toEqual([
      `request_incomplete:${name}`,
      `candidate_incomplete:${name}`,
    ]);
  });
});

describe.each(texts)('%s is text', (name) => {
  test.each([
    { reason: 'letter case counts', change: (text: string) => text.toUpperCase() },
    { reason: 'a blank counts', change: (text: string) => `${text} ` },
    { reason: 'another value', change: () => 'something else' },
  ])('differs: $reason', ({ change }) => {
    expect(incompatibilities(ALLOCATION, { ...CANDIDATE, [name]: change(ALLOCATION[name]) })).toEqual([
      `candidate_differs:${name}`,
    ]);
  });
  test('empty is not a value', () => {
    const empty = { [name]: '' };
    expect(incompatibilities({ ...ALLOCATION, ...empty }, { ...CANDIDATE, ...empty })).toEqual([
      `request_incomplete:${name}`,
      `candidate_incomplete:${name}`,
    ]);
  });
});

describe.each(counts)('%s is a whole number above 0', (name) => {
  test('one more differs', () => {
    expect(incompatibilities(ALLOCATION, { ...CANDIDATE, [name]: ALLOCATION[name] + 1 })).toEqual([
      `candidate_differs:${name}`,
    ]);
  });
  test.each([0, -0, -1, 1.5, Number.MAX_SAFE_INTEGER + 1])('%d is out of range on both sides', (value) => {
    const outside = { [name]: value };
    expect(incompatibilities({ ...ALLOCATION, ...outside }, { ...CANDIDATE, ...outside })).toEqual([
      `request_incomplete:${name}`,
      `candidate_incomplete:${name}`,
    ]);
  });
});

describe('rt_cores_required is a boolean', () => {
  test('false is present, and equal to false', () => {
    expect(isValidInvariant(false)).toBe(true);
    expect(incompatibilities(ALLOCATION, CANDIDATE)).toEqual([]);
    expect(ALLOCATION.rt_cores_required).toBe(false);
  });
  test('true differs from false', () => {
    expect(incompatibilities(ALLOCATION, { ...CANDIDATE, rt_cores_required: true })).toEqual([
      'candidate_differs:rt_cores_required',
    ]);
  });
});

describe('candidate', () => {
  test('absent', () => {
    expect(incompatibilities(ALLOCATION, undefined)).toEqual(['candidate_missing']);
  });
  test.each([
    { reason: 'letter case counts', pool: 'Preemptible' },
    { reason: 'a blank counts', pool: 'preemptible ' },
    { reason: 'empty', pool: '' },
    { reason: 'absent', pool: undefined },
    { reason: 'the pool that failed', pool: 'on-demand' },
  ])('pool must be exactly preemptible: $reason', ({ pool }) => {
    expect(incompatibilities(ALLOCATION, { ...CANDIDATE, pool })).toEqual(['candidate_pool']);
  });
  test('every reason is listed, with the members in the order of the invariants', () => {
    expect(
      incompatibilities(
        { ...ALLOCATION, image: '', gpu_count: 0 },
        { ...CANDIDATE, pool: '', boot_disk_count: 0, gpu_family: undefined, sm: 'sm_100', model: 'm-1b' },
      ),
    ).toEqual([
      'request_incomplete:gpu_count,image',
      'candidate_pool',
      'candidate_incomplete:gpu_family,boot_disk_count',
      'candidate_differs:gpu_count,image,sm,model',
    ]);
  });
});
