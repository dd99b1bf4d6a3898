import { describe, expect, test } from 'vitest';
import { LANE_FAILURES } from '#events/plan';
import { readCreateError } from './create-error.ts';

const of = (code: string | null, message: string | null = null) => readCreateError({ code, message });

test.each(LANE_FAILURES)('a code that is a member of the union is that member: %s', (member) => {
  expect(of(member, 'You lack the permission compute.instances.create').kind).toBe(member);
});

test.each([
  { code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message: null, kind: 'capacity' },
  { code: 'QUOTA_EXCEEDED', message: "Quota 'NVIDIA_H100_GPUS' exceeded", kind: 'quota' },
  { code: null, message: 'no compatible GPU product in this zone: affinity mismatch', kind: 'capacity' },
  { code: 'PERMISSION_DENIED', message: null, kind: 'auth' },
  { code: 'UNAUTHENTICATED', message: null, kind: 'auth' },
  { code: 'DEADLINE_EXCEEDED', message: null, kind: 'unavailable' },
  { code: null, message: 'connection refused', kind: 'unavailable' },
  { code: 'INVALID_ARGUMENT', message: 'the disk type is not supported', kind: 'rejected' },
  { code: null, message: null, kind: 'rejected' },
])('any other is read like a placement failure: $code $message is $kind', ({ code, message, kind }) => {
  expect(of(code, message).kind).toBe(kind);
});

describe('the code stands in clear', () => {
  test.each([
    { code: 'ZONE_RESOURCE_POOL_EXHAUSTED', clear: 'ZONE_RESOURCE_POOL_EXHAUSTED' },
    { code: 'zone-resource-pool-exhausted', clear: 'ZONE_RESOURCE_POOL_EXHAUSTED' },
  ])('in the spelling of the table: $code', ({ code, clear }) => {
    expect(of(code).code).toBe(clear);
  });
  test.each(['team-a/secret-7', '', 'unavailable', null])('and not if it is no row of it: %s', (code) => {
    expect(of(code).code).toBeNull();
  });
});
