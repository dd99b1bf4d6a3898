import { describe, expect, test } from 'vitest';
import type { LaneFailureKind } from '#domain/provision/lane';
import { GCP_FAILURES, gcpVerdict, operationVerdict } from './failure-table.ts';

const body = (code: number, reasons: readonly string[], details: readonly string[] = []) => ({
  error: {
    code,
    message: 'the zone does not have enough resources available',
    errors: reasons.map((reason) => ({ reason, message: 'm', domain: 'global' })),
    ...(details.length === 0 ? {} : { details: details.map((reason) => ({ '@type': 'ErrorInfo', reason })) }),
  },
});
const errors = (...codes: readonly string[]) =>
  codes.map((code) => ({ code, message: 'm', errorDetails: [] }));

/** Each code of the table, as a create and as a read meets it. */
const ROWS = GCP_FAILURES.flatMap(({ codes, kind }) => codes.map((code) => ({ code, kind })));

describe('each code of the table (providers 2)', () => {
  test.each(ROWS.filter(({ kind }) => kind !== 'summary'))('$code is $kind', ({ code, kind }) => {
    const create = kind === 'unsettled' ? 'outcome_unknown' : kind === 'not_found' ? 'rejected' : kind;
    const read = kind === 'unsettled' ? 'unavailable' : kind;
    expect(gcpVerdict('create', 403, body(403, [code]))).toEqual({ kind: create, code, codeIsKnown: true });
    expect(gcpVerdict('get', 403, body(403, [code]))).toEqual({ kind: read, code, codeIsKnown: true });
    expect(operationVerdict('create', errors(code), null)).toEqual({ kind: create, code, codeIsKnown: true });
  });

  test('the table has each code once, and each row its reason', () => {
    const codes = ROWS.map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
    for (const { reason } of GCP_FAILURES) expect(reason).toMatch(/\.$/);
  });
});

describe('HTTP answers', () => {
  test.each<{ readonly status: number; readonly create: LaneFailureKind; readonly read: LaneFailureKind }>([
    { status: 400, create: 'rejected', read: 'rejected' },
    { status: 401, create: 'auth', read: 'auth' },
    { status: 403, create: 'auth', read: 'auth' },
    { status: 404, create: 'rejected', read: 'not_found' },
    { status: 409, create: 'rejected', read: 'rejected' },
    { status: 429, create: 'rate_limited', read: 'rate_limited' },
    { status: 500, create: 'outcome_unknown', read: 'unavailable' },
    { status: 503, create: 'outcome_unknown', read: 'unavailable' },
  ])('$status without a known code, whatever its text says', ({ status, create, read }) => {
    expect(gcpVerdict('create', status, body(status, ['somethingNew'])).kind).toBe(create);
    expect(gcpVerdict('get', status, body(status, ['somethingNew'])).kind).toBe(read);
  });

  test('a 403 is a quota only by its reason', () => {
    expect(gcpVerdict('create', 403, body(403, ['forbidden'])).kind).toBe('auth');
    expect(gcpVerdict('create', 403, body(403, [])).kind).toBe('auth');
    expect(gcpVerdict('create', 403, body(403, ['quotaExceeded'])).kind).toBe('quota');
    expect(gcpVerdict('create', 403, body(403, ['rateLimitExceeded'])).kind).toBe('rate_limited');
  });

  test('a 503 with a capacity code is capacity, with a capacity text it is not', () => {
    expect(gcpVerdict('create', 503, body(503, ['ZONE_RESOURCE_POOL_EXHAUSTED'])).kind).toBe('capacity');
    expect(gcpVerdict('create', 503, body(503, ['backendError'])).kind).toBe('outcome_unknown');
  });

  test('the detail code comes before the reason', () => {
    expect(gcpVerdict('create', 400, body(400, ['invalid'], ['resource_availability']))).toMatchObject({
      kind: 'capacity',
      code: 'resource_availability',
    });
  });

  test('several reasons: the gravest', () => {
    expect(gcpVerdict('create', 403, body(403, ['quotaExceeded', 'forbidden'])).kind).toBe('auth');
  });

  test('what is not Compute’s own form is unreadable', () => {
    expect(gcpVerdict('get', 404, undefined).kind).toBe('unavailable');
    expect(gcpVerdict('create', 400, { message: 'stockout' }).kind).toBe('outcome_unknown');
  });
});

describe('errors of an operation', () => {
  test('a summary is read together with its second code', () => {
    expect(
      operationVerdict('create', errors('VM_MIN_COUNT_NOT_REACHED', 'ZONE_RESOURCE_POOL_EXHAUSTED'), 400)
        .kind,
    ).toBe('capacity');
    expect(operationVerdict('create', errors('VM_MIN_COUNT_NOT_REACHED', 'QUOTA_EXCEEDED'), 400).kind).toBe(
      'quota',
    );
    expect(
      operationVerdict('create', errors('VM_MIN_COUNT_NOT_REACHED', 'IP_SPACE_EXHAUSTED'), 400).kind,
    ).toBe('rejected');
  });

  test('a summary alone is not positive evidence of anything', () => {
    expect(operationVerdict('create', errors('VM_MIN_COUNT_NOT_REACHED'), 400)).toMatchObject({
      kind: 'rejected',
      codeIsKnown: false,
    });
  });

  test('several codes: auth, rejected, quota, capacity, in this order', () => {
    expect(
      operationVerdict('create', errors('ZONE_RESOURCE_POOL_EXHAUSTED', 'QUOTA_EXCEEDED'), 503).kind,
    ).toBe('quota');
    expect(operationVerdict('create', errors('QUOTA_EXCEEDED', 'IP_SPACE_EXHAUSTED'), 503).kind).toBe(
      'rejected',
    );
  });

  test('the reason of an ErrorInfo counts', () => {
    const one = {
      code: 'SOMETHING',
      message: 'm',
      errorDetails: [{ errorInfo: { reason: 'resource_availability' } }],
    };
    expect(operationVerdict('create', [one], 503).kind).toBe('capacity');
  });

  test('an unknown code is a refusal, or stays open where the status says 5xx', () => {
    expect(operationVerdict('create', errors('NEW_CODE'), 400).kind).toBe('rejected');
    expect(operationVerdict('create', errors('NEW_CODE'), null).kind).toBe('rejected');
    expect(operationVerdict('create', errors('NEW_CODE'), 503).kind).toBe('outcome_unknown');
  });
});
