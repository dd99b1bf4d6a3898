import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { confirmToken } from '#domain/consent/confirm-token';
import { streamDigest } from '#domain/intent/question-context';
import type { PostgresLog } from '#event-log/postgres-log';
import { plusSeconds } from '#events/instant';
import { type BusCaller, busCaller } from '#support/bus-caller';
import { type Reply, textAt, tokenOf } from '#support/calls';
import { askedByFailures, capacityFailure, preflightProof } from '#support/failing-attempts';
import { LAUNCH_BODY } from '#support/launch-bodies';
import { openLog } from '#support/open-log';
import {
  appendAsProvisioner,
  instancePlaced,
  stopProvisioner,
  streamOfName,
} from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const BOUND_MS = 60_000;
const BEGUN = '2026-01-05T00:00:00.000Z';
const seconds = (after: number) => plusSeconds(BEGUN, after);

const system = withApps({ nats: 'shared' });
let log: PostgresLog;
let bus: BusCaller;

beforeAll(async () => {
  await stopProvisioner(system.apps);
  log = await openLog(system.databaseUrl);
  bus = await busCaller(system.nats);
  await waitUntil('the app takes answers by the bus', BOUND_MS, () =>
    bus.inputConsumer('consent').then(
      () => true,
      () => false,
    ),
  );
});
afterAll(async () => {
  await bus?.close();
  await log?.close();
});

const streamOf = (name: string) => streamOfName(system.ring, name);
const rowsOf = (name: string) => system.log.readStream(streamOf(name), 0, 200);
const typesOf = async (name: string) => (await rowsOf(name)).map(({ type }) => type);
const problemOf = (reply: Reply) => [reply.status, at(reply.json, 'type')];

const observe = (name: string, after: number, change: object = {}) =>
  system.calls.observation({
    logical_allocation: name,
    instance: 'X1',
    lane: 'gcp',
    observed_at: seconds(after),
    provider: 'running',
    ...change,
  });

/** An allocation whose instance X1 waits in the queue; a person is to be asked before a move. */
async function queued(name: string, change: object = {}): Promise<string> {
  const body = { ...LAUNCH_BODY, logical_allocation: name, failover: 'ask', ...change };
  const launched = await system.calls.launch(body);
  const fact = instancePlaced({ instance: 'X1', rung: 'flex_a', createdAt: BEGUN });
  await appendAsProvisioner(log, streamOf(name), [fact], BEGUN);
  await observe(name, 60, { provider: 'queued', create_operation: 'done' });
  return textAt(launched, 'location');
}

const waitedTooLong = (name: string, change: object = {}) =>
  observe(name, 700, { provider: 'queued', ...change });

/** The question of an allocation whose instance waited in the queue for too long. */
async function asked(name: string, change: object = {}) {
  const location = await queued(name, change);
  const question = await waitedTooLong(name);
  expect(at(question.json, 'outcome'), question.text).toBe('awaiting_consent');
  return { location, question };
}

const consent = (name: string, accept: boolean, confirm_token?: string, more: object = {}) =>
  system.calls.consent({ logical_allocation: name, accept, confirm_token, ...more });

describe('the question', () => {
  test('comes with the observation that opens it: fixed words, the action, and its token', async () => {
    const name = 'team/asked';
    const { question } = await asked(name, {
      plan: {
        ...LAUNCH_BODY.plan,
        terminal: { lane: 'runpod', machine: 'H100x2', gpu: { family: 'hopper', count: 2 } },
      },
    });
    expect(question.json).toMatchObject({
      outcome: 'awaiting_consent',
      reason: 'gcp_queue_timeout_failover_runpod',
      needs_confirmation: true,
      confirm_token: expect.stringMatching(/^[\w-]{43}$/),
      question: expect.stringContaining('paid terminal lane'),
      proposed_action: {
        action: 'failover_to_terminal',
        logical_allocation_ref: streamOf(name).replace('allocation-', ''),
        failed_instance_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        lane: 'runpod',
        machine: 'H100x2',
        gpu: { family: 'hopper', product: null, count: 2 },
        plan_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    expect((await typesOf(name)).slice(-3)).toEqual([
      'ObservationJudged',
      'QueueLossRecorded',
      'FailoverPrompted',
    ]);
    expect(await system.log.allocations.get(streamOf(name))).toMatchObject({
      record: { openQuestion: (await rowsOf(name)).at(-1)?.eventId },
      placement: { outcome: 'awaiting_consent', needsWorker: false },
    });
  });

  test("has a token that binds the action's digest, which covers everything that is shown", async () => {
    const name = 'team/bound';
    const { question } = await asked(name);
    const { digest, ...action } = (question.json as { proposed_action: { digest: string } }).proposed_action;
    const key = system.ring.newest;
    expect(streamDigest(key)('failover-action', action)).toBe(digest);
    expect(tokenOf(question)).toBe(
      confirmToken(key, {
        deployment: 'test',
        ref: streamOf(name).replace('allocation-', ''),
        actionDigest: digest,
        questionId: (await rowsOf(name)).at(-1)?.eventId ?? '',
      }),
    );
  });

  test('is shown at the location of the launch for as long as it is open, with the same token', async () => {
    const name = 'team/at-launch';
    const { location, question } = await asked(name);
    const shown = await system.calls.get(location);
    for (const member of ['needs_confirmation', 'confirm_token', 'question', 'proposed_action']) {
      expect(at(shown.json, member)).toEqual(at(question.json, member));
    }
    expect(shown.json).toMatchObject({ outcome: 'awaiting_consent', instance: { id: 'X1', lane: 'gcp' } });
    await consent(name, false);
    const after = await system.calls.get(location);
    expect(after.json).toMatchObject({ outcome: 'blocked', reason: 'failover_declined' });
    expect(after.json).not.toHaveProperty('confirm_token');
  });

  test('is asked once, however often the instance is seen to wait', async () => {
    const name = 'team/asked-once';
    await asked(name);
    for (const after of [800, 900, 2_000]) {
      const reply = await observe(name, after, { provider: 'queued' });
      expect(reply.json).toMatchObject({ outcome: 'unchanged', rule: '4.8 awaiting_consent' });
      expect(reply.json).not.toHaveProperty('confirm_token');
    }
    expect((await typesOf(name)).filter((type) => type === 'FailoverPrompted')).toHaveLength(1);
  });

  test('is repeated with its answer by the same message id', async () => {
    const name = 'team/repeated';
    await queued(name);
    const first = await waitedTooLong(name, { message_id: 'repeated-1' });
    const again = await waitedTooLong(name, { message_id: 'repeated-1' });
    expect(tokenOf(first)).toBe(tokenOf(again));
    expect(again.text).toBe(first.text);
  });

  test('refuses a launch while it is open', async () => {
    const name = 'team/no-launch';
    await asked(name);
    const reply = await system.calls.launch({ ...LAUNCH_BODY, logical_allocation: name });
    expect(problemOf(reply)).toEqual([409, 'urn:spillway:problem:launch-in-progress']);
  });
});

describe('accepting', () => {
  test('decides the move, with the acceptance that it rests on', async () => {
    const name = 'team/accepted';
    const { location, question } = await asked(name);
    const reply = await consent(name, true, tokenOf(question));
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      ok: true,
      grounded: true,
      usage: { total_tokens: 0 },
      outcome: 'waiting',
      reason: 'gcp_queue_timeout_failover_runpod',
      location,
    });
    const rows = (await rowsOf(name)).slice(-3);
    expect(rows.map(({ type }) => type)).toEqual(['ConsentAnswered', 'FailoverAccepted', 'FailoverDecided']);
    expect(new Set(rows.map(({ commandId }) => commandId)).size).toBe(1);
    const prompt = (await rowsOf(name)).find(({ type }) => type === 'FailoverPrompted');
    expect(JSON.parse(rows[2]?.body ?? '')).toMatchObject({ consent: prompt?.eventId });
    expect((await system.log.allocations.get(streamOf(name)))?.placement).toMatchObject({
      needsWorker: true,
    });
    expect(at((await system.calls.get(location)).json, 'outcome')).toBe('waiting');
  });

  test('shows the record too where attempts were reported, and leaves it as it is', async () => {
    const name = 'team/reported';
    await system.calls.attempt(capacityFailure(name));
    const { question } = await asked(name);
    const reply = await consent(name, true, tokenOf(question));
    expect(reply.json).toMatchObject({
      outcome: 'waiting',
      allocation: { qualifying_attempts: 1, status: 'tracking', consent: 'not-requested' },
    });
  });

  test('is spent by the first answer, also of many at once', async () => {
    const name = 'team/spent';
    const { question } = await asked(name);
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => consent(name, true, tokenOf(question))),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409]);
    expect(problemOf(await consent(name, false))).toEqual([409, 'urn:spillway:problem:no-question-open']);
    expect((await typesOf(name)).filter((type) => type === 'FailoverDecided')).toHaveLength(1);
  });

  test.each([
    { reason: 'no token', token: () => undefined, problem: 'token-missing' },
    { reason: 'a blank token', token: () => ' ', problem: 'token-missing' },
    { reason: 'a wrong token', token: () => 'x'.repeat(43), problem: 'token-invalid' },
    {
      reason: 'the token of another allocation',
      token: async () => tokenOf((await asked('team/refused-other')).question),
      problem: 'token-invalid',
    },
  ])('with $reason is refused, and burns nothing', async ({ reason, token, problem }) => {
    const name = `team/refused ${reason}`;
    const { question } = await asked(name);
    const refused = await consent(name, true, await token());
    expect(problemOf(refused)).toEqual([403, `urn:spillway:problem:${problem}`]);
    expect((await consent(name, true, tokenOf(question))).status).toBe(200);
  });

  test('of another question than the open one is refused', async () => {
    const name = 'team/other-question';
    const { question } = await asked(name);
    const token = tokenOf(question);
    const refused = await consent(name, true, token, { question: 'a'.repeat(26) });
    expect(problemOf(refused)).toEqual([409, 'urn:spillway:problem:other-question-open']);
    const [prompt] = (await rowsOf(name)).filter(({ type }) => type === 'FailoverPrompted');
    expect((await consent(name, true, token, { question: prompt?.eventId })).status).toBe(200);
  });

  test('after the instance has begun to run voids the move, and the instance stays', async () => {
    const name = 'team/began-to-run';
    const { location, question } = await asked(name);
    await observe(name, 720, { provider: 'running' });
    const reply = await consent(name, true, tokenOf(question));
    expect(reply.json).toMatchObject({ outcome: 'placed_primary', reason: null, location });
    expect((await typesOf(name)).slice(-3)).toEqual([
      'ConsentAnswered',
      'FailoverAccepted',
      'FailoverVoided',
    ]);
    expect((await system.calls.get(location)).json).toMatchObject({
      outcome: 'placed_primary',
      instance: { id: 'X1' },
    });
  });
});

describe('declining', () => {
  test('needs no token, and blocks the allocation for good', async () => {
    const name = 'team/declined';
    const { location } = await asked(name);
    const reply = await consent(name, false);
    expect(reply.json).toMatchObject({ outcome: 'blocked', reason: 'failover_declined', location });
    expect(reply.json).not.toHaveProperty('allocation');
    expect((await typesOf(name)).slice(-3)).toEqual([
      'ConsentAnswered',
      'FailoverDeclined',
      'AllocationBlocked',
    ]);
    expect((await system.calls.launch({ ...LAUNCH_BODY, logical_allocation: name })).status).toBe(202);
  });
});

describe('an answer', () => {
  test('is repeated by its id, by any way, with what was decided then', async () => {
    const name = 'team/answer-id';
    const { question } = await asked(name);
    const body = { logical_allocation: name, accept: true, confirm_token: tokenOf(question) };
    const first = await system.calls.consent(body, { 'idempotency-key': 'answer-1' });
    await bus.publish('consent', body, 'answer-1');
    const [byBus] = await bus.answered('answer-1');
    expect(first.status).toBe(200);
    expect(byBus).toBe(first.text);
    const other = await system.calls.consent({ ...body, accept: false }, { 'idempotency-key': 'answer-1' });
    expect(problemOf(other)).toEqual([409, 'urn:spillway:problem:id-reused']);
  });

  test('sent several times at once under one id is one, and all are told the same', async () => {
    const name = 'team/answer-at-once';
    const { question } = await asked(name);
    const body = { logical_allocation: name, accept: true, confirm_token: tokenOf(question) };
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => system.calls.consent(body, { 'idempotency-key': 'answer-2' })),
    );
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(200);
  });

  test('to an allocation that was launched and asked nothing changes nothing', async () => {
    const name = 'team/nothing-asked';
    await queued(name);
    for (const accept of [true, false]) {
      expect(problemOf(await consent(name, accept, 'x'.repeat(43)))).toEqual([
        409,
        'urn:spillway:problem:no-question-open',
      ]);
    }
    expect(problemOf(await consent('team/nobody', false))).toEqual([
      409,
      'urn:spillway:problem:never-reported',
    ]);
  });
});

describe('one open question', () => {
  test('that of the failover withdraws an open pool question, whose token is dead', async () => {
    const name = 'team/withdraws';
    await queued(name);
    const pool = await askedByFailures(system.calls, name);
    const question = await waitedTooLong(name);
    expect(at(question.json, 'outcome')).toBe('awaiting_consent');
    const dead = await consent(name, true, tokenOf(pool));
    expect(problemOf(dead)).toEqual([403, 'urn:spillway:problem:token-invalid']);

    // While it is open no pool question opens, and once it is answered the same evidence asks again.
    const held = await system.calls.attempt(preflightProof(name));
    expect(at(held.json, 'decision.reason')).toBe('suppressed');
    expect(JSON.stringify(held.json)).toContain('prompt_open');
    expect((await consent(name, false)).json).toMatchObject({
      outcome: 'blocked',
      allocation: { status: 'tracking', consent: 'not-requested' },
    });
    const again = await system.calls.attempt(preflightProof(name));
    expect(at(again.json, 'decision.prompt')).toBe(true);
  });

  test('that of the failover stays open over a success and a changed request', async () => {
    const name = 'team/stays-open';
    const { question } = await asked(name);
    await system.calls.attempt({ ...capacityFailure(name), success: true });
    await system.calls.attempt({ ...capacityFailure(name), request: { gpu_count: 2 } });
    expect((await consent(name, true, tokenOf(question))).json).toMatchObject({ outcome: 'waiting' });
  });
});

test('done while it is asked needs no answer any more', async () => {
  const name = 'team/done-meanwhile';
  const { location, question } = await asked(name);
  const reply = await observe(name, 720, {
    provider: 'running',
    guest: { phase: 'done', workload_started: true },
  });
  expect(reply.json).toMatchObject({ outcome: 'done' });
  expect(problemOf(await consent(name, true, tokenOf(question)))).toEqual([
    409,
    'urn:spillway:problem:no-question-open',
  ]);
  expect(at((await system.calls.get(location)).json, 'outcome')).toBe('done');
});
