import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RecordedEvent } from '#events/envelope';
import type { Body } from '#support/calls';
import { capacityFailure, preflightProof } from '#support/failing-attempts';
import { oracleFaults } from '#support/oracle';
import { faultsOf, withApps } from '#support/running-apps';
import { seeded } from '#support/seeded';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({
  nats: 'shared',
  env: { SPILLWAY_PROMPT_THRESHOLD: '2', SPILLWAY_PROMPT_BUDGET: '4' },
});

/** One thing that a caller does, of all that may follow on one another. */
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('failure'), evidence: fc.constantFrom('a', 'b', 'c') }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('proof'), evidence: fc.constantFrom('a', 'b') }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...['auth', 'success', 'changed', 'elsewhere', 'no candidate'].map((kind) => ({ kind, evidence: 'a' })),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom({ kind: 'accept', evidence: '' }, { kind: 'decline', evidence: '' }),
  },
);
type Step = { readonly kind: string; readonly evidence: string };

function bodyOf(name: string, { kind, evidence: fingerprint }: Step): Body {
  const body = capacityFailure(name, { fingerprint });
  switch (kind) {
    case 'proof':
      return preflightProof(name, { fingerprint });
    case 'auth':
      return { ...body, failure: { code: 'Unauthenticated', message: 'credentials are expired' } };
    case 'success':
      return { ...body, success: true };
    case 'changed':
      return { ...body, request: { gpu_count: 1 } };
    case 'elsewhere':
      return { ...body, request: { ...Object(body.request), pool: 'reserved' } };
    case 'no candidate':
      return { ...body, preemptible_candidate: null };
    default:
      return body;
  }
}

/** Plays a story; of a step marked `twice` the call is sent twice at once. */
async function play(name: string, story: readonly { readonly step: Step; readonly twice: boolean }[]) {
  let token: unknown = 'none';
  for (const { step: next, twice } of story) {
    const send = () => {
      if (next.kind !== 'accept' && next.kind !== 'decline') return system.calls.attempt(bodyOf(name, next));
      const accept = next.kind === 'accept';
      return system.calls.consent({ logical_allocation: name, accept, confirm_token: token });
    };
    const replies = await Promise.all(twice ? [send(), send()] : [send()]);
    for (const { json } of replies) token = at(json, 'confirm_token') ?? token;
  }
}

const { seed, numRuns } = seeded(24);
const stories = fc.sample(
  fc.array(fc.record({ step, twice: fc.boolean() }), { minLength: 4, maxLength: 14, size: 'max' }),
  { seed, numRuns },
);

test('what was decided of random stories, many at once, is what the rules give', async () => {
  await Promise.all(stories.map((story, place) => play(`team/story-${place}`, story)));
  const kinds = new Set((await system.log.readAfter(0, 10_000)).map(({ type }) => type));
  expect([...kinds].sort()).toEqual(
    expect.arrayContaining([
      'AllocationSucceeded',
      'AttemptIgnored',
      'AttemptTracked',
      'ConsentAccepted',
      'ConsentDeclined',
      'FallbackPrompted',
    ]),
  );
  expect(await faultsOf(system)).toEqual([]);
});

test('other rules would have decided otherwise, and the oracle says where', async () => {
  await play('team/other-rules', [{ step: { kind: 'failure', evidence: 'a' }, twice: true }]);
  const faults = await oracleFaults(system.log, system.sealer, { ...system.rules, threshold: 1_000 });
  expect(faults).toContainEqual(
    expect.stringMatching(/^FallbackPrompted at \d+: the rules decide AttemptTracked$/),
  );
});

test('a decision that was changed, lost, made twice or made on another state is named', async () => {
  const name = 'team/changed-after';
  await play(name, [
    { step: { kind: 'failure', evidence: 'a' }, twice: false },
    { step: { kind: 'failure', evidence: 'a' }, twice: false },
  ]);
  await waitUntil('nothing is undecided', 30_000, async () => (await faultsOf(system)).length === 0);
  const decision = (await system.log.readAfter(0, 10_000)).findLast(
    ({ type }) => type === 'FallbackPrompted',
  );
  const input = (await system.log.readAfter(0, 10_000)).findLast(({ type }) => type === 'AttemptReported');
  const faultsWith = (change: (row: RecordedEvent) => readonly RecordedEvent[]) =>
    oracleFaults(
      {
        readAfter: async (pos, limit) => (await system.log.readAfter(pos, limit)).flatMap(change),
        sealed: system.log.sealed,
      },
      system.sealer,
      system.rules,
    );
  const decisionOnly = (change: (row: RecordedEvent) => readonly RecordedEvent[]) =>
    faultsWith((row) => (row.pos === decision?.pos ? change(row) : [row]));
  const rewritten = (from: string, to: string) =>
    decisionOnly((row) => {
      expect(row.body).toContain(from);
      return [{ ...row, body: row.body.replace(from, to) }];
    });

  expect(await decisionOnly((row) => [row])).toEqual([]);
  expect(await rewritten('"category":"capacity_exhausted"', '"category":"quota_exhausted"')).toEqual([
    expect.stringMatching(/category is "quota_exhausted", the rules give "capacity_exhausted"$/),
  ]);
  expect(await rewritten('"count":2', '"count":7')).toEqual([expect.stringMatching(/: after is /)]);
  expect(
    await decisionOnly((row) => [{ ...row, meta: row.meta.replace('"saw":1', '"saw":0') }]),
  ).toContainEqual(expect.stringMatching(/saw version 0, but 1 was the newest$/));
  expect(await decisionOnly(() => [])).toContainEqual(expect.stringMatching(/have no decision$/));
  expect(await decisionOnly((row) => [row, row])).toContainEqual(
    expect.stringMatching(/not decided once each/),
  );
  expect(await faultsWith((row) => (row.pos === input?.pos ? [] : [row]))).toContainEqual(
    expect.stringMatching(/no attempt caused it$/),
  );
});
