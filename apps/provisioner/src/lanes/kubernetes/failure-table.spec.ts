import { describe, expect, test } from 'vitest';
import type { LaneFailureKind } from '#domain/provision/lane';
import { KUBERNETES_FAILURES, kubernetesVerdict, pauseOf, placementVerdict } from './failure-table.ts';

const status = (code: number, message: string, reason = '') => ({
  kind: 'Status',
  status: 'Failure',
  code,
  message,
  reason,
});

const EXCEEDED_GPU =
  'pods "x" is forbidden: exceeded quota: team-a, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8';
const EXCEEDED_CPU =
  'pods "x" is forbidden: exceeded quota: team-a, requested: requests.cpu=8, used: requests.cpu=8, limited: requests.cpu=8';

describe('refusals of the API server (providers 5)', () => {
  test.each<{
    readonly code: number;
    readonly message: string;
    readonly create: LaneFailureKind;
    readonly read: LaneFailureKind;
  }>([
    { code: 403, message: EXCEEDED_GPU, create: 'quota', read: 'quota' },
    { code: 403, message: EXCEEDED_CPU, create: 'rejected', read: 'rejected' },
    {
      code: 403,
      message: 'pods is forbidden: User "x" cannot create resource "pods"',
      create: 'auth',
      read: 'auth',
    },
    { code: 401, message: 'Unauthorized', create: 'auth', read: 'auth' },
    { code: 400, message: 'the body is no pod', create: 'rejected', read: 'rejected' },
    { code: 422, message: 'Pod "x" is invalid', create: 'rejected', read: 'rejected' },
    { code: 404, message: 'namespaces "x" not found', create: 'rejected', read: 'not_found' },
    {
      code: 410,
      message: 'the provided continue parameter is too old',
      create: 'unavailable',
      read: 'unavailable',
    },
    { code: 429, message: 'too many requests', create: 'rate_limited', read: 'rate_limited' },
    { code: 500, message: EXCEEDED_GPU, create: 'outcome_unknown', read: 'unavailable' },
    { code: 503, message: 'service unavailable', create: 'outcome_unknown', read: 'unavailable' },
    { code: 504, message: 'timeout', create: 'outcome_unknown', read: 'unavailable' },
  ])('$code "$message" is $create of a create', ({ code, message, create, read }) => {
    expect(kubernetesVerdict('create', code, status(code, message)).kind).toBe(create);
    expect(kubernetesVerdict('get', code, status(code, message)).kind).toBe(read);
  });

  test('only the API server’s own Status counts', () => {
    expect(kubernetesVerdict('get', 404, undefined).kind).toBe('unavailable');
    expect(kubernetesVerdict('get', 404, { message: 'pods "x" not found' }).kind).toBe('unavailable');
    expect(kubernetesVerdict('create', 403, { message: EXCEEDED_GPU }).kind).toBe('auth');
  });

  test('a pause in the body is told', () => {
    expect(pauseOf({ ...status(429, 'slow down'), details: { retryAfterSeconds: 3 } })).toBe(3);
    expect(pauseOf(status(429, 'slow down'))).toBeNull();
  });

  test('each row gives its reason', () => {
    for (const { reason } of KUBERNETES_FAILURES) expect(reason).toMatch(/\.$/);
  });
});

describe('why a pod waits (providers 5)', () => {
  test.each<{
    readonly message: string;
    readonly kind: 'capacity' | 'rejected' | null;
    readonly reason: string;
  }>([
    {
      message: '0/4 nodes are available: 4 Insufficient nvidia.com/gpu.',
      kind: 'capacity',
      reason: 'the GPUs are short',
    },
    {
      message:
        '0/4 nodes are available: 1 Insufficient nvidia.com/gpu, 3 node(s) had untolerated taint {a: b}.',
      kind: 'capacity',
      reason: 'the GPUs are short, beside a taint',
    },
    {
      message: '0/4 nodes are available: 4 node(s) had untolerated taint {a: b}.',
      kind: 'rejected',
      reason: 'only taints',
    },
    {
      message: "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector.",
      kind: 'rejected',
      reason: 'only selectors',
    },
    { message: '0/4 nodes are available: 4 Insufficient cpu.', kind: 'rejected', reason: 'only CPU' },
    { message: '0/4 nodes are available: 4 Insufficient memory.', kind: 'rejected', reason: 'only memory' },
    {
      message:
        '0/4 nodes are available: 4 Insufficient cpu. preemption: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.',
      kind: 'rejected',
      reason: 'the help text speaks of GPUs, the cause does not',
    },
    { message: 'pod has unbound immediate PersistentVolumeClaims', kind: null, reason: 'another form' },
  ])('$reason: $kind', ({ message, kind }) => {
    expect(placementVerdict(message)?.kind ?? null).toBe(kind);
  });
});
