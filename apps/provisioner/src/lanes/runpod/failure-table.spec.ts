import { describe, expect, test } from 'vitest';
import type { LaneCall, LaneFailureKind } from '#domain/provision/lane';
import { RUNPOD_FAILURES, runpodVerdict } from './failure-table.ts';

const HOST = 'api.runpod.io';
const problem = (status: number, detail: string) => ({ title: 'Error', status, detail });
const verdictOf = (status: number, detail: string, call: LaneCall = 'create') =>
  runpodVerdict(call, status, problem(status, detail), HOST);

interface Row {
  readonly status: number;
  readonly detail: string;
  readonly kind: LaneFailureKind;
  readonly code: string | null;
}

describe('answers to a create (providers 3)', () => {
  test.each<Row>([
    {
      status: 400,
      detail:
        'There are no longer any instances available with the requested specifications. Please refresh and try again.',
      kind: 'capacity',
      code: 'no_instances_available',
    },
    {
      status: 400,
      detail: 'No instances are available for this GPU type',
      kind: 'capacity',
      code: 'no_instances_available',
    },
    { status: 400, detail: 'no available GPUs in US-KS-2', kind: 'capacity', code: 'no_instances_available' },
    {
      status: 400,
      detail: 'This machine does not have the resources to deploy your pod. Please try a different machine',
      kind: 'capacity',
      code: 'not_enough_resources',
    },
    {
      status: 400,
      detail: 'There are not enough free GPUs on the host machine to start this pod.',
      kind: 'capacity',
      code: 'not_enough_resources',
    },
    {
      status: 400,
      detail: 'this GPU and data center combination could not be placed',
      kind: 'capacity',
      code: 'no_placement',
    },
    { status: 400, detail: 'unable to find a placement', kind: 'capacity', code: 'no_placement' },
    { status: 400, detail: 'exactly one of gpu or cpu must be set', kind: 'rejected', code: 'bad_request' },
    {
      status: 400,
      detail: 'the GPU type is not available to templates',
      kind: 'rejected',
      code: 'bad_request',
    },
    { status: 400, detail: '', kind: 'rejected', code: 'bad_request' },
    {
      status: 403,
      detail: 'your account cannot access the requested pool',
      kind: 'rejected',
      code: 'pool_not_allowed',
    },
    { status: 403, detail: 'access denied', kind: 'auth', code: null },
    { status: 401, detail: 'missing bearer token', kind: 'auth', code: null },
    { status: 402, detail: 'insufficient balance', kind: 'balance', code: null },
    { status: 404, detail: 'template not found', kind: 'rejected', code: null },
    { status: 409, detail: 'conflict', kind: 'rejected', code: null },
    { status: 410, detail: 'gone', kind: 'unavailable', code: 'gone' },
    { status: 422, detail: 'Request validation failed.', kind: 'rejected', code: null },
    { status: 429, detail: 'rate limit exceeded for the minute window', kind: 'rate_limited', code: null },
    { status: 500, detail: 'no longer any instances available', kind: 'outcome_unknown', code: null },
    { status: 502, detail: 'bad gateway', kind: 'outcome_unknown', code: null },
    { status: 503, detail: 'not enough resources', kind: 'outcome_unknown', code: null },
  ])('$status "$detail" is $kind', ({ status, detail, kind, code }) => {
    expect(verdictOf(status, detail)).toEqual({ kind, code, codeIsKnown: code !== null });
  });

  test('a shortage is one of creates only', () => {
    for (const call of ['list', 'get', 'terminate'] as const) {
      expect(verdictOf(400, 'no longer any instances available', call).kind).toBe('rejected');
    }
  });

  test('a 400 without the provider’s own problem is nobody’s stockout', () => {
    expect(runpodVerdict('create', 400, undefined, HOST).kind).toBe('outcome_unknown');
    expect(runpodVerdict('create', 400, { message: 'no instances available' }, HOST).kind).toBe(
      'outcome_unknown',
    );
  });

  test.each([404, 410])(
    '%i of the host that is switched off is our configuration, not an absence',
    (status) => {
      for (const call of ['create', 'get', 'list', 'terminate'] as const) {
        expect(runpodVerdict(call, status, problem(status, 'not found'), 'rest.runpod.io').kind).toBe(
          'unavailable',
        );
      }
    },
  );
});

describe('other calls', () => {
  test.each<{ readonly status: number; readonly kind: LaneFailureKind }>([
    { status: 404, kind: 'not_found' },
    { status: 400, kind: 'rejected' },
    { status: 401, kind: 'auth' },
    { status: 403, kind: 'auth' },
    { status: 429, kind: 'rate_limited' },
    { status: 500, kind: 'unavailable' },
    { status: 503, kind: 'unavailable' },
  ])('$status is $kind', ({ status, kind }) => {
    expect(verdictOf(status, 'something', 'get').kind).toBe(kind);
  });

  test('a gateway’s 404 is no absence', () => {
    expect(runpodVerdict('get', 404, undefined, HOST).kind).toBe('unavailable');
  });
});

test('each row gives its reason and a code of its own', () => {
  expect(new Set(RUNPOD_FAILURES.map(({ code }) => code)).size).toBe(RUNPOD_FAILURES.length);
  for (const { reason } of RUNPOD_FAILURES) expect(reason).toMatch(/\.$/);
});
