import { describe, expect, test } from 'vitest';
import { ALLOCATION, ATTEMPT_BODY, CANDIDATE } from '#support/attempt-bodies';
import { digest } from '../digest.ts';
import { keyRing } from '../key-ring.ts';
import { allocationRef, assessAttempt, attemptBodyDigest } from './assess.ts';
import { AttemptBody } from './attempt-body.ts';

const material = (id: string, fill: number) => ({ id, bytes: new Uint8Array(32).fill(fill) });
const key = keyRing([material('key-1', 1)]).newest;

const parse = (change: object = {}, whole: object = ATTEMPT_BODY) =>
  AttemptBody.parse(JSON.parse(JSON.stringify({ ...whole, ...change })));
const assess = (change: object = {}) => assessAttempt(parse(change), key);
const evidenceOf = (change: object) =>
  assess({ evidence: { ...ATTEMPT_BODY.evidence, ...change } }).evidenceDigest;
const requestOf = (change: object) => assess({ request: { ...ALLOCATION, ...change } }).requestDigest;

/** The same content with its members in the opposite order, at every level. */
function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  );
}

describe('digests', () => {
  const assessed = assess();
  const invariants = { ...ALLOCATION };

  test('ref: the trimmed name, under the refs sub-key', () => {
    expect(assessed.ref).toBe(digest(key.refs, 'allocation-ref', 'team-a/finetune-7'));
    expect(assess({ logical_allocation: '  team-a/finetune-7\n' }).ref).toBe(assessed.ref);
    expect(allocationRef('team-a/finetune-7', key)).toBe(assessed.ref);
  });
  test('request: the 13 invariants and nothing else', () => {
    expect(assessed.requestDigest).toBe(digest(key.digests, 'request', invariants));
    expect(requestOf({ pool: 'preemptible', zone: 'b' })).toBe(assessed.requestDigest);
  });
  test('request: absent and null ones are null, an empty one is not', () => {
    const without = digest(key.digests, 'request', { ...invariants, model: null });
    expect(requestOf({ model: undefined })).toBe(without);
    expect(requestOf({ model: null })).toBe(without);
    expect(requestOf({ model: '' })).not.toBe(without);
  });
  test.each(Object.keys(ALLOCATION))('request: %s is part of it', (name) => {
    expect(requestOf({ [name]: null })).not.toBe(assessed.requestDigest);
  });
  test('evidence: source as read, both flags, digest of the fingerprint', () => {
    expect(assessed.evidenceDigest).toBe(
      digest(key.digests, 'evidence', {
        source: 'scheduler',
        on_demand_impossible: false,
        preemptible_available: true,
        fingerprint: digest(key.digests, 'fingerprint', 'f1'),
      }),
    );
  });
  test('action: what is proposed, for which evidence', () => {
    expect(assessed.actionDigest).toBe(
      digest(key.digests, 'action', {
        action: 'switch_gpu_capacity_pool',
        logical_allocation_ref: assessed.ref,
        from: 'on-demand',
        to: 'preemptible',
        invariants,
        evidence_digest: assessed.evidenceDigest,
      }),
    );
  });
  test('key order and spacing never matter', () => {
    const turned = parse({}, AttemptBody.parse(reversed(ATTEMPT_BODY)));
    expect(assessAttempt(turned, key)).toEqual(assessed);
    expect(attemptBodyDigest(turned, key)).toBe(attemptBodyDigest(parse(), key));
  });
  test('another key of the ring gives other digests: a look-up has to try every key', () => {
    const ring = keyRing([material('key-2', 2), material('key-1', 1)]);
    const refs = ring.newestFirst.map((one) => allocationRef('team-a/finetune-7', one));
    expect(refs[0]).not.toBe(assessed.ref);
    expect(refs[1]).toBe(assessed.ref);
    expect(assessAttempt(parse(), ring.byId('key-1'))).toEqual(assessed);
    expect(assessAttempt(parse(), ring.newest).evidenceDigest).not.toBe(assessed.evidenceDigest);
  });
});

describe('evidence is the same', () => {
  test.each([
    { reason: 'another failure kind', change: { failure: { code: 'QuotaFailure', message: 'other text' } } },
    { reason: 'no failure', change: { failure: null } },
    { reason: 'no candidate', change: { preemptible_candidate: null } },
    { reason: 'another candidate', change: { preemptible_candidate: { ...CANDIDATE, gpu_count: 8 } } },
    { reason: 'unknown evidence members', change: { evidence: { ...ATTEMPT_BODY.evidence, hosts: 0 } } },
  ])('$reason', ({ change }) => {
    expect(assess(change).evidenceDigest).toBe(assess().evidenceDigest);
  });
  test.each([
    { reason: 'null', evidence: null },
    { reason: 'no member', evidence: {} },
    { reason: 'only nulls', evidence: { source: null, on_demand_impossible: null, fingerprint: null } },
    { reason: 'defaults spelled out', evidence: { source: 'unknown', preemptible_available: false } },
    { reason: 'a source we do not know', evidence: { source: 'Scheduler' } },
    { reason: 'an empty fingerprint', evidence: { fingerprint: '' } },
  ])('attempts without evidence are all one: $reason', ({ evidence }) => {
    expect(assess({ evidence }).evidenceDigest).toBe(assess({ evidence: undefined }).evidenceDigest);
  });
});

describe('evidence is new', () => {
  test.each([
    { reason: 'another source', change: { source: 'terraform' } },
    { reason: 'another half proven', change: { on_demand_impossible: true } },
    { reason: 'a half no longer claimed', change: { preemptible_available: false } },
    { reason: 'another fingerprint', change: { fingerprint: 'f2' } },
    { reason: 'no fingerprint any more', change: { fingerprint: null } },
  ])('$reason', ({ change }) => {
    expect(evidenceOf(change)).not.toBe(evidenceOf({}));
  });
});

describe('proof', () => {
  const preflight = { source: 'provider-preflight', on_demand_impossible: true, preemptible_available: true };

  test('both halves of a preflight with a compatible candidate; no failure is needed', () => {
    expect(assess({ evidence: preflight, failure: null })).toMatchObject({
      proof: true,
      compatible: true,
      blockers: [],
      failure: null,
      failureDigest: null,
    });
  });
  test.each([
    {
      reason: 'on-demand may still succeed',
      evidence: { ...preflight, on_demand_impossible: false },
      blockers: ['preflight_unproven:on_demand_impossible'],
    },
    {
      reason: 'nothing is said of preemptible',
      evidence: { ...preflight, preemptible_available: null },
      blockers: ['preflight_unproven:preemptible_available'],
    },
    {
      reason: 'neither half',
      evidence: { source: 'provider-preflight' },
      blockers: ['preflight_unproven:on_demand_impossible,preemptible_available'],
    },
    {
      reason: 'another source proves nothing',
      evidence: { ...preflight, source: 'scheduler' },
      blockers: [],
    },
    {
      reason: 'letter case of the source matters',
      evidence: { ...preflight, source: 'Provider-Preflight' },
      blockers: [],
    },
  ])('none: $reason', ({ evidence, blockers }) => {
    expect(assess({ evidence })).toMatchObject({ proof: false, compatible: true, blockers });
  });
  test('none without a candidate', () => {
    expect(assess({ evidence: preflight, preemptible_candidate: null })).toMatchObject({
      proof: false,
      compatible: false,
      blockers: ['candidate_missing'],
    });
  });
});

describe('pool of the request', () => {
  test.each([
    { pool: undefined, is: 'on-demand' },
    { pool: null, is: 'on-demand' },
    { pool: '', is: 'on-demand' },
    { pool: 'on-demand', is: 'on-demand' },
    { pool: 'On-Demand', is: 'other' },
    { pool: ' on-demand', is: 'other' },
    { pool: 'preemptible', is: 'other' },
  ])('$pool is $is', ({ pool, is }) => {
    expect(assess({ request: { ...ALLOCATION, pool } }).pool).toBe(is);
  });
});

describe('sealed failure', () => {
  test('is what was reported, with the evidence, so that today’s rules can be asked again', () => {
    const { failure, failureDigest } = assess();
    expect(failure).toEqual({ ...ATTEMPT_BODY.failure, evidence: ATTEMPT_BODY.evidence });
    expect(failureDigest).toBe(digest(key.digests, 'failure', failure));
  });
  test('of a failure without members has nulls, not holes', () => {
    expect(assess({ failure: {}, evidence: null }).failure).toEqual({
      code: null,
      message: null,
      evidence: {
        source: null,
        on_demand_impossible: false,
        preemptible_available: false,
        fingerprint: null,
      },
    });
  });
});

describe('digest of the body', () => {
  const bodyDigest = (change: object) => attemptBodyDigest(parse(change), key);

  test.each([
    { reason: 'the id itself', change: { attempt_id: 'run-7#3' } },
    { reason: 'unknown members', change: { trace: 'x', evidence: { ...ATTEMPT_BODY.evidence, x: 1 } } },
    { reason: 'null for absent', change: { success: undefined, attempt_id: null } },
    { reason: 'blanks around the name', change: { logical_allocation: ' team-a/finetune-7 ' } },
  ])('is the same: $reason', ({ change }) => {
    expect(bodyDigest(change)).toBe(bodyDigest({}));
  });
  test.each([
    { reason: 'another name', change: { logical_allocation: 'team-a/finetune-8' } },
    { reason: 'another pool', change: { request: { ...ALLOCATION, pool: 'preemptible' } } },
    { reason: 'another message', change: { failure: { ...ATTEMPT_BODY.failure, message: 'other' } } },
    { reason: 'no failure is not an empty one', change: { failure: null } },
    { reason: 'another candidate', change: { preemptible_candidate: { ...CANDIDATE, gpu_count: 8 } } },
    { reason: 'success', change: { success: true } },
  ])('is another: $reason', ({ change }) => {
    expect(bodyDigest(change)).not.toBe(bodyDigest({}));
  });
});
