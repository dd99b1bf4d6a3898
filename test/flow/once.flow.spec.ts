import { expect, test } from 'vitest';
import { callsTo, type Reply, tokenOf } from '#support/calls';
import { askedByFailures, capacityFailure, preflightProof } from '#support/failing-attempts';
import { wholeLog } from '#support/oracle';
import { withApps } from '#support/running-apps';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({ nats: 'shared' });

const times = <Result>(count: number, work: (place: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, place) => work(place)));
const countOf = (reply: Reply) => at(reply.json, 'allocation.qualifying_attempts');

/** How often each type of event is recorded for the allocation of an answer. */
async function recordedFor(reply: Reply): Promise<Readonly<Record<string, number>>> {
  const stream = `allocation-${String(at(reply.json, 'allocation.logical_allocation_ref'))}`;
  const counts: Record<string, number> = {};
  for await (const row of wholeLog(system.log)) {
    if (row.stream === stream) counts[row.type] = (counts[row.type] ?? 0) + 1;
  }
  return counts;
}

test('16 failures at once are all counted and ask one question', async () => {
  const replies = await times(16, () => system.calls.attempt(capacityFailure('team/at-once')));

  expect(replies.map(({ status }) => status)).toEqual(Array(16).fill(200));
  const counts = replies.map(countOf).sort((a, b) => Number(a) - Number(b));
  expect(counts).toEqual(Array.from({ length: 16 }, (_, place) => place + 1));
  expect(replies.filter(({ json }) => at(json, 'decision.prompt') === true).map(countOf)).toEqual([3]);
  expect(replies.filter(({ json }) => at(json, 'confirm_token') !== undefined)).toHaveLength(1);
});

test('one token accepts once, however many use it at once', async () => {
  const name = 'team/accepted-at-once';
  const confirm_token = tokenOf(await askedByFailures(system.calls, name));
  const replies = await times(64, () =>
    system.calls.consent({ logical_allocation: name, accept: true, confirm_token }),
  );

  const statuses = replies.map(({ status }) => status).sort();
  expect(statuses).toEqual([200, ...Array(63).fill(409)]);
  for (const { json } of replies) expect(at(json, 'allocation.consent')).toBe('accepted');
  const [won] = replies.filter(({ status }) => status === 200);
  expect(won === undefined ? null : await recordedFor(won)).toMatchObject({
    FallbackPrompted: 1,
    ConsentAnswered: 1,
    ConsentAccepted: 1,
  });
});

test('of an acceptance and a decline at once one counts', async () => {
  const name = 'team/both-at-once';
  const confirm_token = tokenOf(await askedByFailures(system.calls, name));
  const replies = await times(16, (place) =>
    system.calls.consent({ logical_allocation: name, accept: place % 2 === 0, confirm_token }),
  );

  expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(409)]);
  const outcomes = new Set(replies.map(({ json }) => at(json, 'allocation.consent')));
  expect(outcomes.size).toBe(1);
});

test('one id sent at once to two processes counts once, and every answer is the same to the byte', async () => {
  const second = await system.apps.startIngest();
  const processes = [system.apps.processes.ingest, second].map(({ url }) => callsTo(() => url));
  const body = preflightProof('team/same-id', { attempt_id: 'run-7#1' });
  const replies = await times(32, (place) => {
    const calls = processes[place % processes.length];
    return calls === undefined ? Promise.reject(new Error('no process')) : calls.attempt(body);
  });

  expect(replies.map(({ status }) => status)).toEqual(Array(32).fill(200));
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  const [any] = replies;
  if (any === undefined) throw new Error('nothing was sent');
  expect(countOf(any)).toBe(1);
  expect(tokenOf(any)).toHaveLength(43);
  expect(await recordedFor(any)).toEqual({ AttemptReported: 1, FallbackPrompted: 1 });
});

test('one id with two bodies at once: one body counts, the other is refused', async () => {
  const replies = await times(16, (place) =>
    system.calls.attempt(
      capacityFailure('team/two-bodies', { attempt_id: 'run-8#1', fingerprint: `f${place % 2}` }),
    ),
  );

  const taken = replies.filter(({ status }) => status === 200);
  expect(taken).toHaveLength(8);
  expect(replies.filter(({ status }) => status === 409)).toHaveLength(8);
  expect(new Set(taken.map(({ text }) => text)).size).toBe(1);
});

test('pitfall 39: an answer about one allocation leaves the token of another alive', async () => {
  const one = tokenOf(await askedByFailures(system.calls, 'team/asked-a'));
  const other = tokenOf(await askedByFailures(system.calls, 'team/asked-b'));
  const consent = (name: string, accept: boolean, confirm_token: string) =>
    system.calls.consent({ logical_allocation: name, accept, confirm_token });
  expect((await consent('team/asked-b', false, other)).status).toBe(200);
  expect((await consent('team/asked-b', true, one)).status).toBe(409);
  const accepted = await consent('team/asked-a', true, one);
  expect([accepted.status, at(accepted.json, 'allocation.consent')]).toEqual([200, 'accepted']);
});

test('pitfall 39: a question whose answer was lost is shown again, and can still be accepted', async () => {
  const name = 'team/lost-answer';
  await system.calls.attempt(capacityFailure(name));
  await system.calls.attempt(capacityFailure(name));
  const third = capacityFailure(name, { attempt_id: 'run-9#3' });
  await system.calls.attempt(third);
  // The one that asked never arrived: the same attempt again.
  const confirm_token = tokenOf(await system.calls.attempt(third));
  const consent = { logical_allocation: name, accept: true, confirm_token };
  const first = await system.calls.consent(consent, { 'idempotency-key': 'answer-9' });
  const again = await system.calls.consent(consent, { 'idempotency-key': 'answer-9' });
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
});

test('pitfall 39: a failure that an HTTP client reports three times counts once', async () => {
  const name = 'team/reported-thrice';
  const failure = capacityFailure(name);
  const replies = [
    await system.calls.attempt(failure, { 'idempotency-key': 'retry-1' }),
    await system.calls.attempt(failure, { 'idempotency-key': 'retry-1' }),
    await system.calls.attempt({ ...failure, attempt_id: 'retry-1' }),
  ];
  expect(replies.map(countOf)).toEqual([1, 1, 1]);
  expect(countOf(await system.calls.attempt(capacityFailure(name)))).toBe(2);
});
