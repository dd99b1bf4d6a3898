import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '#events/canonical-json';
import { readEvent } from '#events/upcast';
import { digestOf } from '#support/builders';
import { recordedRow } from '#support/recorded';
import { sealedTextsOf, storyLine } from './timeline.ts';

const GOLDEN = join(import.meta.dirname, '..', '..', '..', '..', 'test', 'golden');

/** The stored sample of an event, with members of its body changed. */
function sample(type: string, change: object = {}) {
  const golden = JSON.parse(readFileSync(join(GOLDEN, `${type}.v1.json`), 'utf8'));
  const body = canonicalJson({ ...JSON.parse(golden.body), ...change });
  return readEvent(recordedRow({ ...golden, body }));
}

const said = (type: string, change: object = {}) => {
  const { who, what } = storyLine(sample(type, change));
  return `${who} ${what}`;
};

describe('every event of a failover is one legible sentence', () => {
  test.each([
    ['AlertRaised', 'spillway raised the alert kept_pod_billing about P1'],
    [
      'AllocationBlocked',
      'spillway blocked the allocation: no_compute_available; the capacity-retry pass may try again',
    ],
    ['AllocationDone', 'spillway took the allocation as done: the workload on X1 ended well'],
    [
      'BootDeathRecorded',
      'classifier counted the death of X1 before its workload began: 1 in a row on rung flex_a on 2026-11-29',
    ],
    ['BootStreakReset', 'classifier ended the row of boot deaths on rung flex_a: the workload of X1 ran'],
    ['BootstrapBegun', 'provisioner began to prepare P1'],
    ['CancelConfirmed', 'provisioner saw that X1 is cancelled and gone'],
    [
      'CancelDecided',
      'spillway decided to cancel X1 and then to stop: gcp_queue_timeout_failover_runpod may not be made',
    ],
    ['CancelSending', 'provisioner announced the cancel of X1 on lane gcp'],
    [
      'CancelUnconfirmed',
      'provisioner could not confirm the cancel of X1 on lane gcp (unavailable): it is owed',
    ],
    [
      'CreateEnded',
      'provisioner heard the end of the create of intent 63gfel3g…: outcome_unknown; nothing is sent again before 2026-11-29 10:06:12 UTC',
    ],
    [
      'CreateSending',
      'provisioner announced create 1 of intent 63gfel3g…, sent by 2026-11-29 10:05:30 UTC or never',
    ],
    [
      'DeliveredPoolDiffers',
      'provisioner got X1 in pool on-demand where preemptible was agreed to: nothing is started, a person decides',
    ],
    [
      'DeliveredPoolAccepted',
      'operator took X1 on lane gcp in pool on-demand as it was delivered (local): it is the instance now',
    ],
    [
      'DeliveredPoolReleased',
      'operator did not take X1 on lane gcp as it was delivered (local): it is theirs to end',
    ],
    ['InstanceGone', 'provisioner saw that P1 on lane runpod is gone: it bills nothing any more'],
    ['DispatchSending', 'provisioner announced start 1 of the workload on P1: from now on it may have run'],
    [
      'FailoverAccepted',
      'consent recorded the yes of caller 89d4aa25… to question hl2ejgjl…: the move may be made until 2026-11-30 10:05:00 UTC',
    ],
    ['FailoverCompleted', 'provisioner completed the move: P1 on lane runpod does the work now'],
    [
      'FailoverDecided',
      'spillway decided the move to the terminal lane: gcp_queue_vanish_failover_runpod; the owner agreed beforehand',
    ],
    [
      'FailoverDeclined',
      'consent recorded the no of caller 89d4aa25… to question hl2ejgjl…: the move is not made',
    ],
    [
      'FailoverPrompted',
      'spillway asked whether it may move to the terminal lane: gcp_queue_vanish_failover_runpod (question 6a5e6fmw…, open until 2026-11-30 10:05:00 UTC); pool question lmiqqy5e… is withdrawn',
    ],
    ['FailoverVoided', 'spillway called the move off: the instance has begun to run and stays (X1)'],
    ['ForeignInstanceSeen', 'provisioner saw P9 on lane runpod, which is not ours: it is never touched'],
    ['InstanceAdopted', 'provisioner took over P1, which carries intent 63gfel3g… and was not known'],
    ['InstanceCreated', 'provisioner created P1 for intent 63gfel3g…'],
    ['InstancePlaced', 'provisioner placed it: instance X1 on lane gcp, rung flex_a, pool flex-start'],
    ['IntentClosed', 'provisioner closed intent 63gfel3g…: missed'],
    [
      'IntentRecorded',
      'provisioner opened intent 63gfel3g…: sw-prod-1970a500fb13bf3c-63gfel3g72tlscagehcsmdogfm for rung flex_a in zone us-central1-a on lane runpod, in place of 7yg6ge4a…',
    ],
    [
      'LateInstanceSeen',
      'provisioner learnt late of P1, made for intent 63gfel3g…: its worker had lost the lease',
    ],
    ['LaunchAccepted', 'ingest took the launch 5wxo7hj2…'],
    [
      'LaunchRequested',
      'caller 89d4aa25… asked for a launch: rungs flex_a, od_a; terminal lane runpod; consent to failover: ask',
    ],
    ['LeaseTaken', 'provisioner took over open intent 63gfel3g… with fence 4'],
    [
      'LogRewound',
      'provisioner found P7 on lane runpod with an intent of ours that the log does not know: the log was restored, and nothing is created',
    ],
    [
      'ObservationJudged',
      'classifier judged what was seen of X1: waiting, gcp_queue_vanish_failover_runpod; in phase not_found since 2026-11-29 10:05:00 UTC',
    ],
    [
      'ObservationReported',
      'caller 89d4aa25… saw instance X1: terminated at 2026-11-29 10:05:00 UTC, guest in phase failed, workload not known to have begun, alarm transport',
    ],
    [
      'PoolMoveNotProvisioned',
      'provisioner provisions nothing for question lmiqqy5e…: the launch was for another request',
    ],
    [
      'PoolMoveStarted',
      'provisioner began the move to preemptible capacity that question lmiqqy5e… allowed: rung od_a:preemptible',
    ],
    [
      'QueueLossRecorded',
      'classifier recorded that rung flex_a lost X1 in its queue: not booked again on 2026-11-29',
    ],
    [
      'ReapAnnounced',
      'provisioner announced that residue P0 on lane runpod will be ended: number 2 of its chain',
    ],
    ['ReapFailed', 'provisioner could not end residue P0 (outcome_unknown)'],
    ['ResidueReaped', 'provisioner saw that residue P0 is gone'],
    ['RewindReleased', 'operator dealt with P7 (caller ec5fca61…): creates may go on'],
    [
      'RewoundAdopted',
      'operator took over P7 on lane runpod, which carries forgotten intent giovunk2… (caller ec5fca61…): it does the work now; the cancel of X1 is owed',
    ],
    ['RungCounted', 'provisioner counted create 2 of 2026-11-29 before sending it, on rung od_a'],
    [
      'RungMissed',
      'spillway missed rung flex_a: flex_a in zone us-central1-a, capacity (ZONE_RESOURCE_POOL_EXHAUSTED); flex_a, quota',
    ],
    ['RungSkipped', 'provisioner passed over rung flex_a: it lost an instance in its queue today'],
    ['WalkStarted', 'spillway began to walk the ladder: the capacity-retry pass tries again; rungs od_a'],
    [
      'WedgeAlarmRecorded',
      'classifier counted alarm 2 in a row since 2026-11-29 10:04:00 UTC: X1 cannot be reached',
    ],
    ['WorkloadDispatched', 'provisioner saw the workload run on P1'],
    [
      'ZoneMissed',
      'provisioner was refused: flex_a in zone us-central1-a, capacity (ZONE_RESOURCE_POOL_EXHAUSTED)',
    ],
  ])('%s', (type, sentence) => {
    expect(said(type)).toBe(sentence);
  });
});

describe('what a sentence says otherwise', () => {
  const first = { rung: 'flex_a', zone: null };
  test.each<[string, string, object, string]>([
    [
      'a consent given by an answer',
      'FailoverDecided',
      { consent: 'a'.repeat(26) },
      'question aaaaaaaa… was accepted',
    ],
    ['no question was withdrawn', 'FailoverPrompted', { withdrew: null }, '2026-11-30 10:05:00 UTC)'],
    [
      'a block that stays',
      'AllocationBlocked',
      { reason: 'setup_failure', verdict: blocked(false) },
      'blocked the allocation: setup_failure',
    ],
    [
      'a reachable machine',
      'FailoverVoided',
      { why: 'reachable' },
      'the instance is reachable again and stays (X1)',
    ],
    [
      'a move that an operator ended',
      'FailoverVoided',
      { why: 'adopted' },
      'an operator took over a machine that a restored log had forgotten (X1)',
    ],
    ['nothing is left behind', 'RewoundAdopted', { leaves: null }, ': it does the work now'],
    ['a done workload', 'FailoverVoided', { why: 'done' }, 'the workload ended well meanwhile (X1)'],
    [
      'an intent of a whole rung',
      'IntentRecorded',
      { entry: { kind: 'rung', ...first }, replaces: null },
      'for rung flex_a on lane runpod',
    ],
    [
      'an intent of the terminal entry',
      'IntentRecorded',
      { entry: { kind: 'terminal' }, replaces: null },
      'for the terminal entry on lane runpod',
    ],
    ['a silent machine', 'WedgeAlarmRecorded', { arm: 'reachable' }, 'X1 is silent long after its time'],
    [
      'nothing left to walk',
      'WalkStarted',
      { walk: 'create_failed', rungs: [] },
      'a create failed in the end; no rung is left',
    ],
    [
      'a plan without a terminal lane',
      'LaunchRequested',
      { plan: withoutTerminal() },
      'rungs flex_a, od_a; no terminal lane; consent to failover: ask',
    ],
    ['a machine in an unknown pool', 'InstancePlaced', { pool: null }, 'rung flex_a, pool unknown'],
    [
      'a create that ended with a code',
      'CreateEnded',
      { answer: 'quota', code: 'QUOTA_EXCEEDED', notBefore: null },
      'quota (QUOTA_EXCEEDED)',
    ],
    [
      'a cancel that failed for no known reason',
      'CancelUnconfirmed',
      { kind: null },
      'on lane gcp: it is owed',
    ],
  ])('%s', (_reason, type, change, end) => {
    expect(said(type, change).endsWith(end)).toBe(true);
  });
});

test('a verdict gives its rule, its facts and the rules that did not fire', () => {
  const codes = storyLine(sample('ObservationJudged')).because.map(({ code }) => code);
  expect(codes[0]).toBe('rule:4.3 queue_vanish seen');
  expect(codes[1]).toMatch(/^facts:arm=seen, .*seenQueued=true$/);
  expect(codes[2]).toMatch(/^not_fired:done:not_done, .*deleted_externally:no_delete_operation$/);
});

test('a verdict without facts says its rule only; lists and empty facts can be read', () => {
  const verdict = { ...blocked(true), evidence: { misses: ['flex_a:capacity', 'od_a:quota'], code: null } };
  expect(storyLine(sample('AllocationBlocked', { verdict })).because.map(({ code }) => code)).toEqual([
    'rule:4.8 never',
    'facts:code=null, misses=[flex_a:capacity od_a:quota]',
  ]);
  const bare = { ...blocked(true), evidence: {} };
  expect(storyLine(sample('AllocationBlocked', { verdict: bare })).because).toHaveLength(1);
});

test('sealed texts of a failover are named by their digests', () => {
  const failure = digestOf('golden failure');
  expect(sealedTextsOf(sample('ZoneMissed'))).toEqual([{ kind: 'failure', digest: failure }]);
  expect(sealedTextsOf(sample('RungMissed'))).toEqual([{ kind: 'failure', digest: failure }]);
  expect(sealedTextsOf(sample('CreateEnded'))).toEqual([{ kind: 'failure', digest: failure }]);
  expect(sealedTextsOf(sample('ObservationReported'))).toEqual([{ kind: 'failure', digest: failure }]);
  expect(sealedTextsOf(sample('LaunchRequested'))).toEqual([
    { kind: 'invariants', digest: digestOf('golden request') },
    { kind: 'launch', digest: digestOf('golden workload') },
  ]);
  expect(sealedTextsOf(sample('LaunchRequested', { requestDigest: null, workloadDigest: null }))).toEqual([]);
});

function blocked(redrivable: boolean) {
  const { data } = sample('AllocationBlocked');
  if (!('verdict' in data)) throw new Error('a block has a verdict');
  return { ...data.verdict, redrivable };
}

function withoutTerminal() {
  const { data } = sample('LaunchRequested');
  if (!('plan' in data)) throw new Error('a launch has a plan');
  return { ...data.plan, terminal: null };
}

describe('a long id of a machine', () => {
  const GCP = 'us-central1-a/sw-prod-1970a500fb13bf3c-63gfel3g72tlscagehcsmdogfm/1666023422018491895';
  const POD = `training/sw-prod/${'0123456789abcdef'.repeat(2)}`;

  test.each([
    ['is told by its last part', GCP, '…/1666023422018491895'],
    ['whose last part is long too is told by its ends', POD, 'training…0123456789abcdef'],
    ['without parts is told by its ends', 'x'.repeat(30), `${'x'.repeat(8)}…${'x'.repeat(16)}`],
  ])('%s, and is whole beside it', (_what, instance, told) => {
    const line = storyLine(sample('BootstrapBegun', { instance }));
    expect(line.what).toBe(`began to prepare ${told}`);
    expect(line.machines).toEqual([instance]);
  });

  test('that is short stays, and is not repeated', () => {
    const instance = 'x'.repeat(24);
    expect(storyLine(sample('BootstrapBegun', { instance }))).toMatchObject({
      what: `began to prepare ${instance}`,
      machines: [],
    });
  });
});

describe('what a decision left behind', () => {
  const leftBy = (type: string, change: object = {}) => storyLine(sample(type, change)).after;
  const body = (type: string) => sample(type).data;

  test('is the record, where attempts were reported', () => {
    expect(leftBy('ConsentAccepted')).toMatchObject({
      of: 'record',
      status: 'consented',
      pool: 'preemptible',
    });
  });

  test('is the placement, where it is about a move', () => {
    expect(leftBy('FailoverPrompted')).toMatchObject({ of: 'placement', outcome: 'awaiting_consent' });
  });

  test.each(['FailoverAccepted', 'FailoverDeclined', 'LeaseTaken', 'AttemptReported'])(
    'is nothing after %s: what follows says it',
    (type) => {
      expect(leftBy(type)).toBeNull();
    },
  );

  test('is no record of attempts where none was ever reported', () => {
    const erased = body('AllocationErased');
    const scalars = 'after' in erased ? erased.after : null;
    expect(
      leftBy('AllocationErased', { after: { ...scalars, requestDigest: null, openQuestion: null } }),
    ).toBeNull();
  });
});
