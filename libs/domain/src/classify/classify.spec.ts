import { expect, test } from 'vitest';
import { classify, FAILURE_CATEGORIES, QUALIFYING_CATEGORIES, qualifies } from './classify.ts';

const failed = (code: string | undefined, message?: string) => classify({ code, message });
const shortGpu = 'We currently do not have sufficient p5.48xlarge capacity.';

test('four categories count, and no other', () => {
  expect(FAILURE_CATEGORIES.filter(qualifies)).toEqual([...QUALIFYING_CATEGORIES]);
});

test('nothing sent is other and does not count', () => {
  expect(classify({})).toEqual({ category: 'other', qualifying: false, rule: 'none' });
  expect(failed('', '')).toEqual({ category: 'other', qualifying: false, rule: 'none' });
});

test.each([
  ['image-pull', 'image_pull', 'The hyphenated spelling is the same code.'],
  ['ErrImagePull', 'image_pull', 'The reason of the kubelet.'],
  ['Cancellation', 'cancelled', 'All spellings of a cancellation are one class.'],
  ['401', 'auth', 'The one number that decides alone.'],
  ['server.UnauthorizedOperation', 'rbac', 'The prefix is dropped.'],
  ['registration_timeout', 'timeout', 'A code that ends in timeout is one.'],
  ['botocore.exceptions.ExpiredToken', 'auth', 'The last name of a class is the code.'],
])('a never-count code decides whatever the text says: %s', (code, category, _reason) => {
  expect(failed(code, shortGpu)).toEqual({
    category,
    qualifying: false,
    rule: `never-count-code:${category}`,
  });
});

test('a never-count code inside a wrapper is read like the outer one', () => {
  expect(
    failed('', 'Reasons: AWS: ClientError: (ExpiredToken) it is expired; insufficient capacity'),
  ).toMatchObject({
    category: 'auth',
    rule: 'never-count-code:auth',
  });
  expect(failed('capacity_exhausted', '{"error":{"code":"unauthenticated"}}').category).toBe('auth');
});

test('never-count text decides beside a placement code', () => {
  expect(failed('capacity_exhausted', 'the create operation timed out')).toEqual({
    category: 'timeout',
    qualifying: false,
    rule: 'never-count-text:timeout',
  });
});

test.each([
  ['Failed to pull image "x": net/http: TLS handshake timeout', 'image_pull'],
  ['checkpoint write failed: connection reset by peer', 'checkpoint'],
  ['application error: CUDA out of memory', 'application'],
  ['NCCL error: connection refused', 'runtime'],
  ['unauthenticated: permission denied', 'auth'],
  ['forbidden: connection refused', 'rbac'],
  ['dial tcp: lookup x: no such host: operation timed out', 'network'],
  ['context canceled: deadline exceeded', 'cancelled'],
])('of several never-count causes the earlier step names the category: %s', (message, category) => {
  expect(failed('', message).category).toBe(category);
});

test.each([
  ['', 'Failed to pull image "x": rpc error: code = DeadlineExceeded desc = too slow', 'image_pull'],
  ['', 'checkpoint upload failed: ClientError: (AccessDenied) no', 'checkpoint'],
  ['BackOff', 'Back-off pulling image "x"', 'image_pull'],
  ['BackOff', 'Back-off restarting failed container', 'application'],
  ['BackOff', '', 'application'],
  ['AccessDenied', 'Failed to pull image "x"', 'rbac'],
  ['', 'Traceback: ClientError: (ExpiredToken) the token is expired', 'auth'],
])(
  'a code that tells only the manner leaves the name to the step that failed: %s %s',
  (code, message, category) => {
    expect(failed(code, message).category).toBe(category);
  },
);

test.each([
  ['limit reached: 7 instances in this spread placement group', false, 'The limit of the group.'],
  [
    'cannot be allocated: VM size Standard_ND96amsr_A100_v4, Proximity Placement Group.',
    true,
    'One constraint.',
  ],
])('a placement group refuses by its limit, not by being named: %s', (message, counts, _reason) => {
  expect(failed('capacity_exhausted', message).qualifying).toBe(counts);
});

test('a quota refused by Google with status 403 is no missing permission, in a line and in JSON', () => {
  const quota =
    'Insufficient regional quota to satisfy request: resource \\"NVIDIA_A100_GPUS\\": is short 8.0';
  const body = `{"error":{"code":403,"message":"${quota}","errors":[{"reason":"forbidden"}]}}`;
  expect(failed('403', body)).toMatchObject({ category: 'quota_exhausted', qualifying: true });
  expect(failed('403', '{"error":{"message":"quota read","errors":[{"reason":"forbidden"}]}}').category).toBe(
    'rbac',
  );
});

test.each([
  ['compute.instance.gpu.h200: quota exceeded, limit 8', true, 'A GPU quota as a whole name.'],
  ['quota exceeded', false, 'No quota is named, and it never falls through to the patterns.'],
  ['', false, 'No message names no quota.'],
  ['compute.instance.gpu.', false, 'The bare prefix is no quota.'],
  ['mycompute.instance.gpu.h200 and compute.instance.gpus.h200', false, 'Look-alikes.'],
  ['compute.instance.count: quota exceeded', false, 'A count of machines.'],
])('QuotaFailure counts only with a GPU quota: %s', (message, counts, _reason) => {
  expect(failed('QuotaFailure', message)).toEqual({
    category: counts ? 'quota_exhausted' : 'other',
    qualifying: counts,
    rule: 'quota-failure',
  });
});

test('NotEnoughResources counts with any text that no earlier rule caught', () => {
  expect(failed('NotEnoughResources', 'network-ssd storage is exhausted')).toMatchObject({
    rule: 'not-enough-resources',
  });
  expect(failed('NotEnoughResources', 'permission denied while reading hosts').category).toBe('rbac');
});

const scheduled = 'VM schedule timeout, most likely due to insufficient hardware resources';

test('the scheduler phrase is a shortage under a placing code and a timeout elsewhere', () => {
  for (const code of ['NotEnoughResources', 'RESOURCE_EXHAUSTED', 'capacity_exhausted']) {
    expect(failed(code, scheduled).category).toBe('capacity_exhausted');
    expect(failed(code, `${scheduled}; later the operation timed out`).category).toBe('timeout');
  }
  expect(failed('InternalError', scheduled).category).toBe('timeout');
});

test.each([
  ['already exists', 'contradiction:name-conflict'],
  ["You've reached the limit of instances in this spread placement group.", 'contradiction:placement-group'],
  ['too many requests', 'contradiction:rate-limit'],
  ['Disk quota exceeded: /scratch', 'contradiction:full-file-system'],
  ['not enough IP addresses in subnet', 'contradiction:other-resource'],
  ['0/6 nodes are available: 6 Insufficient cpu.', 'kubernetes-scheduler'],
  ['Job was interrupted: spot instance reclaimed', 'contradiction:reclaimed'],
])('a placement code whose text states another cause does not count: %s', (message, rule) => {
  expect(failed('capacity_exhausted', message)).toEqual({ category: 'other', qualifying: false, rule });
});

test('a GPU shortage counts beside any other reason', () => {
  const mixed = `VolumeLimitExceeded: volume limit exceeded; InsufficientInstanceCapacity: ${shortGpu}`;
  expect(failed('', mixed)).toEqual({
    category: 'capacity_exhausted',
    qualifying: true,
    rule: 'aws:InsufficientInstanceCapacity',
  });
});

test.each([
  ['quota_exhausted', 'quota_exhausted'],
  ['Capacity-Exhausted', 'capacity_exhausted'],
  ['insufficient_gpu', 'unschedulable_gpu'],
  ['affinity mismatch', 'no_compatible_product'],
])('a placement code counts without any text: %s', (code, category) => {
  expect(failed(code)).toMatchObject({ category, qualifying: true });
});

test.each([
  ['ZONE_RESOURCE_POOL_EXHAUSTED', '', 'capacity_exhausted', 'gcp:ZONE_RESOURCE_POOL_EXHAUSTED'],
  ['quota-exceeded', "Quota 'NVIDIA_L4_GPUS' exceeded.", 'quota_exhausted', 'gcp:QUOTA_EXCEEDED'],
  ['QOSGrpGRESMinutes', '', 'quota_exhausted', 'slurm:QOSGrpGRES*'],
  ['TooManyRequests', 'insufficient H100 capacity', 'other', 'nebius:TooManyRequests'],
])('a provider code is a row of the table: %s', (code, message, category, rule) => {
  expect(failed(code, message)).toMatchObject({ category, rule });
});

test.each([
  ['no capacity for pod train-checkpoint-eval-0', true, 'The name of a pod.'],
  ['no H100 capacity in region dns-east-1', true, 'The name of a region.'],
  ['no capacity, see https://example.com/forbidden', true, 'A link.'],
  ['no capacity on image registry.example.com/cuda:12', true, 'The name of an image.'],
  ['no capacity, timeout=600s', true, 'A setting.'],
  ['no capacity: DNS lookup failed', false, 'The word of the sentence.'],
])('a trigger inside a name is part of the name: %s', (message, counts, _reason) => {
  expect(failed('capacity_exhausted', message).qualifying).toBe(counts);
});

test('history and hints do not count', () => {
  expect(failed('', 'Launch failed: bad SSH key. Regions with capacity available: us-west-1').category).toBe(
    'other',
  );
  expect(failed('', 'No capacity for 8x H100. Last error: connection refused.').category).toBe(
    'capacity_exhausted',
  );
});

test('a bare HTTP number decides nothing', () => {
  for (const code of ['400', '429', '500', '503']) expect(failed(code).category).toBe('other');
});

test('the rule never repeats caller text', () => {
  const rule = failed('my-secret-code', 'no capacity for secret-project-7').rule;
  expect(rule).toBe('text:no-capacity');
});
