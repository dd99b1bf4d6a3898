import { describe, expect, test } from 'vitest';
import { badMembersOf } from '#platform/bad-members';
import { OBSERVATION_BODY } from '#support/launch-bodies';
import { keyRing } from '../key-ring.ts';
import { createErrorOf, observationBody, observationBodyDigest, observationOf } from './observation-body.ts';

const NOW = '2026-01-05T00:10:00.000Z';
const schema = observationBody(NOW);

function read(change: object) {
  const body = JSON.parse(JSON.stringify({ ...OBSERVATION_BODY, ...change }));
  const parsed = schema.safeParse(body, { reportInput: true });
  if (parsed.success) return { body: parsed.data };
  return { bad: badMembersOf(parsed.error, schema).map(({ pointer, code }) => `${pointer} ${code}`) };
}

const parse = (change: object = {}) => schema.parse({ ...OBSERVATION_BODY, ...change });

test('what a poll does not say has its default', () => {
  expect(observationOf(parse(), null)).toEqual({
    instance: 'X1',
    lane: 'gcp',
    observedAt: NOW,
    provider: 'running',
    guest: null,
    alarm: 'none',
    logAgeS: null,
    createOperation: 'unknown',
    createError: null,
    deleteOperation: 'unknown',
    port: null,
  });
});

test('what it says stands as it is', () => {
  const said = {
    provider: 'terminated',
    guest: { phase: 'failed', workload_started: false },
    alarm: 'transport',
    log_age_s: 0,
    create_operation: 'failed',
    create_error: { code: 'c', message: 'm' },
    delete_operation: 'none',
    port: false,
  };
  expect(observationOf(parse(said), { kind: 'quota', code: null, failureDigest: null })).toEqual({
    instance: 'X1',
    lane: 'gcp',
    observedAt: NOW,
    provider: 'terminated',
    guest: { phase: 'failed', workloadStarted: false },
    alarm: 'transport',
    logAgeS: 0,
    createOperation: 'failed',
    createError: { kind: 'quota', code: null, failureDigest: null },
    deleteOperation: 'none',
    port: false,
  });
});

test.each([
  { sent: { log_age_s: null, guest: null, port: null, alarm: null, create_error: null } },
  { sent: { create_operation: null, delete_operation: null, message_id: null } },
])('null means absent', ({ sent }) => {
  expect(observationOf(parse(sent), null)).toEqual(observationOf(parse(), null));
});

test('a start that was not read is unknown', () => {
  for (const guest of [{ phase: 'boot' }, { phase: 'boot', workload_started: null }]) {
    expect(observationOf(parse({ guest }), null).guest).toEqual({ phase: 'boot', workloadStarted: null });
  }
});

describe('the error of a create', () => {
  test('counts beside a failed create only', () => {
    const create_error = { code: 'c', message: 'm' };
    expect(createErrorOf(parse({ create_operation: 'failed', create_error }))).toEqual(create_error);
    expect(createErrorOf(parse({ create_operation: 'done', create_error }))).toBeNull();
    expect(createErrorOf(parse({ create_error }))).toBeNull();
  });
  test('may be absent', () => {
    expect(createErrorOf(parse({ create_operation: 'failed' }))).toEqual({ code: null, message: null });
  });
});

describe('the time of a poll', () => {
  test.each([
    { sent: '2026-01-05T00:09:00Z', at: '2026-01-05T00:09:00.000Z' },
    { sent: '2026-01-05t00:09:00z', at: '2026-01-05T00:09:00.000Z' },
    { sent: '2026-01-05T00:09:00.1Z', at: '2026-01-05T00:09:00.100Z' },
    { sent: '2026-01-05T00:09:00.123999+00:00', at: '2026-01-05T00:09:00.123Z' },
    { sent: '2026-01-05T00:09:00-00:00', at: '2026-01-05T00:09:00.000Z' },
    { sent: '2024-02-29T00:00:00Z', at: '2024-02-29T00:00:00.000Z' },
    { sent: '2026-01-05T00:15:00Z', at: '2026-01-05T00:15:00.000Z' },
  ])('$sent is $at', ({ sent, at }) => {
    expect(read({ observed_at: sent }).body?.observed_at).toBe(at);
  });
  test.each([
    { observed_at: '2026-01-05T00:15:00.001Z', code: 'out_of_range' },
    { observed_at: '2026-01-05T02:00:00+02:00', code: 'wrong_format' },
    { observed_at: '2026-01-05T00:09:00', code: 'wrong_format' },
    { observed_at: '2026-01-05', code: 'wrong_format' },
    { observed_at: '2026-02-30T00:00:00Z', code: 'wrong_format' },
    { observed_at: '2026-01-05T24:00:00Z', code: 'wrong_format' },
    { observed_at: '2026-01-05T00:00:60Z', code: 'wrong_format' },
    { observed_at: '', code: 'wrong_format' },
    { observed_at: 1_767_571_740, code: 'wrong_type' },
    { observed_at: null, code: 'wrong_type' },
    { observed_at: undefined, code: 'required' },
  ])('$observed_at is refused', ({ observed_at, code }) => {
    expect(read({ observed_at })).toEqual({ bad: [`/observed_at ${code}`] });
  });
});

describe('refuses', () => {
  test.each([
    { change: { instance: '' }, bad: '/instance empty' },
    { change: { instance: 7 }, bad: '/instance wrong_type' },
    { change: { lane: undefined }, bad: '/lane required' },
    { change: { provider: 'gone' }, bad: '/provider not_allowed' },
    { change: { guest: { workload_started: true } }, bad: '/guest/phase required' },
    { change: { guest: { phase: 'sleep' } }, bad: '/guest/phase not_allowed' },
    {
      change: { guest: { phase: 'boot', workload_started: 'no' } },
      bad: '/guest/workload_started wrong_type',
    },
    { change: { alarm: true }, bad: '/alarm wrong_type' },
    { change: { log_age_s: -1 }, bad: '/log_age_s out_of_range' },
    { change: { log_age_s: '9' }, bad: '/log_age_s wrong_type' },
    { change: { create_operation: 'lost' }, bad: '/create_operation not_allowed' },
    { change: { create_error: 'quota' }, bad: '/create_error wrong_type' },
    { change: { delete_operation: 1 }, bad: '/delete_operation wrong_type' },
    { change: { port: 'open' }, bad: '/port wrong_type' },
    { change: { message_id: 'x'.repeat(129) }, bad: '/message_id too_long' },
  ])('$bad', ({ change, bad }) => {
    expect(read(change)).toEqual({ bad: [bad] });
  });
  test('all bad members at once', () => {
    const { bad } = read({ instance: 7, observed_at: 'x', provider: null, port: 1 });
    expect(bad?.toSorted()).toEqual([
      '/instance wrong_type',
      '/observed_at wrong_format',
      '/port wrong_type',
      '/provider wrong_type',
    ]);
  });
});

test('the digest of a body is of its known members, without the id', () => {
  const key = keyRing([{ id: 'k', bytes: new Uint8Array(32).fill(7) }]).newest;
  const of = (change: object) => observationBodyDigest(parse(change), key);
  expect(of({ message_id: 'm', colour: 'red', guest: null })).toBe(of({}));
  expect(of({ observed_at: '2026-01-05T00:10:00.000+00:00' })).toBe(of({}));
  expect(of({ provider: 'queued' })).not.toBe(of({}));
});
