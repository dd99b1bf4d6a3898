import { describe, expect, test } from 'vitest';
import type { LaneCall, LaneFailureKind } from '#domain/provision/lane';
import { LANE_FAILURES } from '#events/plan';
import { kindOfSilence, kindOfStatus, STATUS_MAP, WORST_FIRST, worstOf } from './status-map.ts';

interface Case {
  readonly status: number;
  readonly create: LaneFailureKind;
  readonly read: LaneFailureKind;
}

describe('the common status map (providers 1)', () => {
  test.each<Case>([
    { status: 400, create: 'rejected', read: 'rejected' },
    { status: 401, create: 'auth', read: 'auth' },
    { status: 402, create: 'balance', read: 'balance' },
    { status: 403, create: 'auth', read: 'auth' },
    { status: 404, create: 'rejected', read: 'not_found' },
    { status: 408, create: 'outcome_unknown', read: 'unavailable' },
    { status: 409, create: 'rejected', read: 'rejected' },
    { status: 410, create: 'rejected', read: 'rejected' },
    { status: 412, create: 'rejected', read: 'rejected' },
    { status: 418, create: 'rejected', read: 'rejected' },
    { status: 422, create: 'rejected', read: 'rejected' },
    { status: 429, create: 'rate_limited', read: 'rate_limited' },
    { status: 499, create: 'rejected', read: 'rejected' },
    { status: 500, create: 'outcome_unknown', read: 'unavailable' },
    { status: 502, create: 'outcome_unknown', read: 'unavailable' },
    { status: 503, create: 'outcome_unknown', read: 'unavailable' },
    { status: 504, create: 'outcome_unknown', read: 'unavailable' },
    { status: 302, create: 'outcome_unknown', read: 'unavailable' },
    { status: 200, create: 'outcome_unknown', read: 'unavailable' },
  ])('$status of a create is $create, of any other call $read', ({ status, create, read }) => {
    expect(kindOfStatus('create', status, 'readable')).toBe(create);
    for (const call of READS) expect(kindOfStatus(call, status, 'readable'), call).toBe(read);
  });

  test.each([400, 402, 404, 409, 410, 422, 500, 503])(
    'somebody else’s page with status %i says nothing: neither absence nor a refusal',
    (status) => {
      expect(kindOfStatus('create', status, 'unreadable')).toBe('outcome_unknown');
      for (const call of READS) expect(kindOfStatus(call, status, 'unreadable'), call).toBe('unavailable');
    },
  );

  test.each([401, 403, 429])('%i means the same whoever says it', (status) => {
    expect(kindOfStatus('create', status, 'unreadable')).toBe(kindOfStatus('create', status, 'readable'));
    expect(kindOfStatus('list', status, 'unreadable')).toBe(kindOfStatus('list', status, 'readable'));
  });

  test('no status alone is ever a shortage or a used up quota', () => {
    for (let status = 100; status < 600; status += 1) {
      for (const readable of ['readable', 'unreadable'] as const) {
        expect(['capacity', 'quota']).not.toContain(kindOfStatus('create', status, readable));
      }
    }
  });

  test('each row gives its reason', () => {
    for (const row of STATUS_MAP) expect(row.reason).toMatch(/\.$/);
  });
});

describe('no answer', () => {
  test.each<{ readonly call: LaneCall; readonly sent: boolean; readonly kind: LaneFailureKind }>([
    { call: 'create', sent: true, kind: 'outcome_unknown' },
    { call: 'create', sent: false, kind: 'unavailable' },
    { call: 'dispatch', sent: true, kind: 'outcome_unknown' },
    { call: 'dispatch', sent: false, kind: 'unavailable' },
    { call: 'list', sent: true, kind: 'unavailable' },
    { call: 'get', sent: true, kind: 'unavailable' },
    { call: 'terminate', sent: true, kind: 'unavailable' },
    { call: 'probe', sent: true, kind: 'unavailable' },
  ])('of $call, sent: $sent, is $kind', ({ call, sent, kind }) => {
    expect(kindOfSilence(call, sent)).toBe(kind);
  });
});

describe('several errors in one answer (providers 1.2)', () => {
  test.each<{ readonly kinds: readonly LaneFailureKind[]; readonly worst: LaneFailureKind }>([
    { kinds: ['capacity', 'auth'], worst: 'auth' },
    { kinds: ['capacity', 'rejected', 'balance'], worst: 'rejected' },
    { kinds: ['quota', 'balance'], worst: 'balance' },
    { kinds: ['capacity', 'quota'], worst: 'quota' },
    { kinds: ['rate_limited', 'capacity'], worst: 'capacity' },
    { kinds: ['unavailable', 'rate_limited'], worst: 'rate_limited' },
    { kinds: ['auth', 'outcome_unknown'], worst: 'outcome_unknown' },
    { kinds: ['unavailable'], worst: 'unavailable' },
  ])('$kinds are $worst, in either order', ({ kinds, worst }) => {
    expect(worstOf(kinds.map((kind) => ({ kind })))).toEqual({ kind: worst });
    expect(worstOf([...kinds].reverse().map((kind) => ({ kind })))).toEqual({ kind: worst });
  });

  test('none of none', () => {
    expect(worstOf([])).toBeNull();
  });

  test('every member of the union has its place', () => {
    expect([...WORST_FIRST].sort()).toEqual([...LANE_FAILURES].sort());
  });
});

const READS: readonly LaneCall[] = ['list', 'get', 'terminate', 'probe', 'bootstrap', 'probe_lane'];
