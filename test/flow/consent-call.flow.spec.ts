import { describe, expect, test } from 'vitest';
import { type Allocation } from '#domain/allocation';
import { allocationRef } from '#domain/attempt/assess';
import { decisionIdOf } from '#domain/attempt/attempt-ids';
import { loadAllocation } from '#event-log/load-allocation';
import type { PostgresLog } from '#event-log/postgres-log';
import { allocationStream } from '#events/streams';
import { API, badMembersOf, callsTo, codesOf, type Reply, textAt, tokenOf } from '#support/calls';
import { askedByFailures, capacityFailure, preflightProof } from '#support/failing-attempts';
import { openLog } from '#support/open-log';
import { wholeLog } from '#support/oracle';
import { type System, withApps } from '#support/running-apps';
import { eraseAllocation } from '../../tools/spillway/erase-allocation.ts';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const BOUND_MS = 30_000;
const CONSENT = `${API}/consent`;

const stateOf = ({ json }: Reply) => [
  at(json, 'allocation.selected_pool'),
  at(json, 'allocation.status'),
  at(json, 'allocation.consent'),
];
const questionOf = (asked: Reply) => decisionIdOf(textAt(asked, 'attempt_event_id'));

function expectProblem(reply: Reply, status: number, name: string): void {
  expect(reply.json, reply.text).toMatchObject({ status, type: `urn:spillway:problem:${name}` });
  expect(reply.status).toBe(status);
  expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/);
}

describe('an answer', () => {
  const system = withApps();
  const answer = (name: string, members: object) =>
    system.calls.consent({ logical_allocation: name, ...members });

  test('accepts with the token of the question, and the same call again is 409 with the record', async () => {
    const name = 'team/accept';
    const confirm_token = tokenOf(await askedByFailures(system.calls, name));
    const accepted = await answer(name, { accept: true, confirm_token });
    expect(accepted.status, accepted.text).toBe(200);
    expect(Object.keys(Object(accepted.json)).sort()).toEqual(['allocation', 'grounded', 'ok', 'usage']);
    expect(stateOf(accepted)).toEqual(['preemptible', 'consented', 'accepted']);

    for (const members of [{ accept: true, confirm_token }, { accept: false }, { accept: true }]) {
      const late = await answer(name, members);
      expectProblem(late, 409, 'no-question-open');
      expect(at(late.json, 'allocation')).toEqual(at(accepted.json, 'allocation'));
    }
  });

  test('declines without a token, and the question stays declined until there is new evidence', async () => {
    const name = 'team/decline';
    await askedByFailures(system.calls, name);
    const declined = await answer(name, { accept: false });
    expect(declined.status, declined.text).toBe(200);
    expect(stateOf(declined)).toEqual(['on-demand', 'declined', 'declined']);

    const old = await system.calls.attempt(capacityFailure(name));
    expect([at(old.json, 'decision.reason'), at(old.json, 'allocation.qualifying_attempts')]).toEqual([
      'suppressed',
      4,
    ]);
    expect(codesOf(old)).toContain('evidence_declined');
    expect(stateOf(old)).toEqual(['on-demand', 'declined', 'declined']);
    const fresh = await system.calls.attempt(capacityFailure(name, { fingerprint: 'f2' }));
    expect(stateOf(fresh)).toEqual(['on-demand', 'awaiting-consent', 'pending']);
    expect((await answer(name, { accept: false })).status).toBe(200);
    const first = await system.calls.attempt(capacityFailure(name));
    expect(codesOf(first)).toContain('evidence_declined');
  });

  test('a token that is missing, wrong, foreign or superseded is 403, and burns nothing', async () => {
    const name = 'team/tokens';
    const foreign = tokenOf(await askedByFailures(system.calls, 'team/other'));
    const superseded = tokenOf(await askedByFailures(system.calls, name));
    const newer = await system.calls.attempt(capacityFailure(name, { fingerprint: 'f2' }));
    expect(codesOf(newer)).toContain('prompt_superseded');
    const token = tokenOf(newer);
    expect(new Set([foreign, superseded, token]).size).toBe(3);

    for (const missing of [undefined, null, '', ' \t']) {
      expectProblem(await answer(name, { accept: true, confirm_token: missing }), 403, 'token-missing');
    }
    const wrong = [foreign, superseded, `${token} `, token.slice(0, -1), token.toUpperCase(), 'x'.repeat(43)];
    for (const confirm_token of wrong) {
      expectProblem(await answer(name, { accept: true, confirm_token }), 403, 'token-invalid');
    }
    expect((await answer(name, { accept: true, confirm_token: token })).status).toBe(200);
  });

  test('a token dies with its question: by success, by a changed request', async () => {
    for (const [name, change] of [
      ['team/success', { success: true }],
      ['team/changed', { request: { gpu_count: 1 } }],
    ] as const) {
      const confirm_token = tokenOf(await askedByFailures(system.calls, name));
      expect((await system.calls.attempt({ ...capacityFailure(name), ...change })).status).toBe(200);
      expectProblem(await answer(name, { accept: true, confirm_token }), 409, 'no-question-open');
      // Asked again about the same request and evidence: another question, another token.
      const again = tokenOf(await askedByFailures(system.calls, name));
      expect(again).not.toBe(confirm_token);
      expectProblem(await answer(name, { accept: true, confirm_token }), 403, 'token-invalid');
    }
  });

  test('further failures, refused bodies and wrong tokens leave the token alive', async () => {
    const name = 'team/alive';
    const confirm_token = tokenOf(await askedByFailures(system.calls, name));
    await system.calls.attempt(capacityFailure(name));
    await system.calls.attempt({ ...capacityFailure(name), success: 'x' });
    await answer(name, { accept: true, confirm_token: 'wrong' });
    await answer(name, { accept: 'yes', confirm_token });
    expect((await answer(name, { accept: true, confirm_token })).status).toBe(200);
  });

  test('names the question it answers: another one, or none, is 409', async () => {
    const name = 'team/question';
    const first = questionOf(await askedByFailures(system.calls, name));
    const newer = await system.calls.attempt(capacityFailure(name, { fingerprint: 'f2' }));
    for (const question of [first, 'a'.repeat(26), '']) {
      const refused = await answer(name, { accept: false, question });
      expectProblem(refused, 409, 'other-question-open');
      expect(stateOf(refused)).toEqual(['on-demand', 'awaiting-consent', 'pending']);
    }
    const stale = await answer(name, { accept: true, question: first, confirm_token: tokenOf(newer) });
    expectProblem(stale, 409, 'other-question-open');
    const question = questionOf(newer);
    expect((await answer(name, { accept: false, question })).status).toBe(200);
    expectProblem(await answer(name, { accept: false, question }), 409, 'no-question-open');
  });

  test('an allocation that was never reported is 409, not 404, and shows no record', async () => {
    const reply = await answer('team/never', { accept: true, confirm_token: 'x' });
    expectProblem(reply, 409, 'never-reported');
    expect(at(reply.json, 'allocation')).toBeUndefined();
  });

  test('nothing was asked yet: 409 with the record', async () => {
    await system.calls.attempt(capacityFailure('team/unasked'));
    const reply = await answer('team/unasked', { accept: false });
    expectProblem(reply, 409, 'no-question-open');
    expect(stateOf(reply)).toEqual(['on-demand', 'tracking', 'not-requested']);
  });

  test.each<{ members: object; bad: readonly string[] }>([
    { members: {}, bad: ['/accept required'] },
    { members: { accept: null }, bad: ['/accept wrong_type'] },
    { members: { accept: 1 }, bad: ['/accept wrong_type'] },
    { members: { accept: 'no', confirm_token: 7 }, bad: ['/accept wrong_type', '/confirm_token wrong_type'] },
    { members: { accept: false, confirm_token: ['x'] }, bad: ['/confirm_token wrong_type'] },
    { members: { accept: false, question: 7 }, bad: ['/question wrong_type'] },
    {
      members: { accept: true, logical_allocation: ' ', confirm_token: '\ud800' },
      bad: ['/confirm_token invalid_unicode', '/logical_allocation empty'],
    },
  ])('400: $bad', async ({ members, bad }) => {
    const before = await system.log.head();
    const reply = await answer('team/shape', members);
    expectProblem(reply, 400, 'invalid-body');
    expect(badMembersOf(reply)).toEqual(bad);
    expect(await system.log.head()).toEqual(before);
  });

  test('415: a form posted from another site decides nothing', async () => {
    const name = 'team/form';
    const confirm_token = tokenOf(await askedByFailures(system.calls, name));
    const body = JSON.stringify({ logical_allocation: name, accept: true, confirm_token });
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const reply = await system.calls.send(CONSENT, { body, headers: { 'content-type': type } });
      expectProblem(reply, 415, 'not-json-type');
    }
    const large = JSON.stringify({ logical_allocation: name, accept: false, more: 'x'.repeat(256 * 1024) });
    expectProblem(await system.calls.send(CONSENT, { body: large }), 413, 'body-too-large');
    expect((await answer(name, { accept: true, confirm_token })).status).toBe(200);
  });

  test('an erased question is not shown again, and its token is dead', async () => {
    const name = 'team/erased';
    const body = preflightProof(name, { attempt_id: 'e-1' });
    const asked = await system.calls.attempt(body);
    const confirm_token = tokenOf(asked);
    await erase(system, name);

    const replay = await system.calls.attempt(body);
    expect(replay.status, replay.text).toBe(200);
    expect(codesOf(replay).at(-1)).toBe('prompt_erased');
    for (const path of [
      'confirm_token',
      'needs_confirmation',
      'decision.message',
      'decision.proposed_action',
    ]) {
      expect(at(replay.json, path), path).toBeUndefined();
    }
    expect(at(replay.json, 'allocation')).toEqual(at(asked.json, 'allocation'));
    expectProblem(await answer(name, { accept: true, confirm_token }), 409, 'no-question-open');

    // Its evidence is forgotten, and what is reported from now on is sealed anew.
    const again = await system.calls.attempt(preflightProof(name, { attempt_id: 'e-2' }));
    expect(tokenOf(again)).not.toBe(confirm_token);
    expect(at(again.json, 'decision.proposed_action.invariants.gpu_count')).toBe(4);
  });
});

describe('a token that has expired', () => {
  const LIFE_S = 3;
  const system = withApps({ env: { SPILLWAY_TOKEN_LIFE_S: String(LIFE_S) } });
  const accept = (name: string, confirm_token: string) =>
    system.calls.consent({ logical_allocation: name, accept: true, confirm_token });

  async function askedAndExpired(name: string): Promise<string> {
    const asked = await system.calls.attempt(preflightProof(name, { attempt_id: name }));
    await expired(system, name);
    return tokenOf(asked);
  }

  test('is 403, and the same attempt sent again gives a new one that works', async () => {
    const name = 'team/expired';
    const old = await askedAndExpired(name);
    expectProblem(await accept(name, old), 403, 'token-expired');

    const body = preflightProof(name, { attempt_id: name });
    const renewed = await system.calls.attempt(body);
    expect(tokenOf(renewed)).not.toBe(old);
    expect(codesOf(renewed)).toContain('prompt_renewed');
    expectProblem(await accept(name, old), 403, 'token-invalid');
    // On a machine that is busy the new token may have ended too: then it is renewed once more.
    let accepted = await accept(name, tokenOf(renewed));
    await waitUntil('the renewed token is used in time', BOUND_MS, async () => {
      if (accepted.status === 403) accepted = await accept(name, tokenOf(await system.calls.attempt(body)));
      return accepted.status !== 403;
    });
    expect(accepted.status, accepted.text).toBe(200);
    expect(stateOf(accepted)).toEqual(['preemptible', 'consented', 'accepted']);
  });

  test('leaves a question that can be declined, under its first id too', async () => {
    const name = 'team/expired-declined';
    const body = preflightProof(name, { attempt_id: name });
    await askedAndExpired(name);
    const renewed = await system.calls.attempt(body);
    expect(codesOf(renewed)).toContain('prompt_renewed');
    await expired(system, name);
    const reply = await system.calls.consent({
      logical_allocation: name,
      accept: false,
      question: questionOf(renewed),
    });
    expect(reply.status, reply.text).toBe(200);
    expect(stateOf(reply)).toEqual(['on-demand', 'declined', 'declined']);
  });

  test('is not shown to the same body without an id', async () => {
    const name = 'team/expired-no-id';
    await askedAndExpired(name);
    const reply = await system.calls.attempt(preflightProof(name));
    expect(at(reply.json, 'decision.reason')).toBe('suppressed');
    expect(at(reply.json, 'confirm_token')).toBeUndefined();
  });

  test('is renewed once for all who read it at once', async () => {
    const name = 'team/expired-at-once';
    const second = await system.apps.startIngest();
    const readers = [system.apps.processes.ingest, second].map(({ url }) => callsTo(() => url));
    await askedAndExpired(name);
    const body = preflightProof(name, { attempt_id: name });
    const replies = await Promise.all(
      [...readers, ...readers, ...readers, ...readers].map((calls) => calls.attempt(body)),
    );
    expect(new Set(replies.map(tokenOf)).size).toBe(1);
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    const stream = streamOf(system, name);
    let renewals = 0;
    for await (const row of wholeLog(system.log)) {
      if (row.stream === stream && row.type === 'PromptRenewed') renewals += 1;
    }
    expect(renewals).toBe(1);
  });
});

function streamOf({ ring }: System, name: string): string {
  return allocationStream(allocationRef(name, ring.newest));
}

async function stateIn(log: PostgresLog, stream: string): Promise<Allocation> {
  const state = await loadAllocation(log, stream);
  if (state === null) throw new Error('nothing is recorded of the allocation');
  return state;
}

/** Waits until the open question has outlived its token, by the clock of this machine. */
async function expired(system: System, name: string): Promise<void> {
  const { scalars } = await stateIn(system.log, streamOf(system, name));
  const { openQuestion } = scalars;
  if (openQuestion === null) throw new Error('no question is open');
  await waitUntil('the token expires', BOUND_MS, () => new Date().toISOString() > openQuestion.expiresAt);
}

async function erase(system: System, name: string): Promise<void> {
  const admin = await openLog(system.databaseUrl, { role: 'spillway_admin' });
  const call = { stream: streamOf(system, name), at: new Date().toISOString(), requestedBy: 'local' };
  const erased = await eraseAllocation(admin, call).finally(() => admin.close());
  expect(erased).toMatchObject({ kind: 'erased', destroyed: { keys: 1 } });
}
