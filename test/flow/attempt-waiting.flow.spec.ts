import { expect, test } from 'vitest';
import { API, type Calls, type Reply, textAt } from '#support/calls';
import { capacityFailure, preflightProof } from '#support/failing-attempts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const CALLS_PER_SECOND = 20;

const system = withApps({
  postgres: 'own',
  env: { SPILLWAY_DECISION_WAIT_MS: '200', SPILLWAY_CALLS_PER_SECOND: String(CALLS_PER_SECOND) },
});

const BOUND_MS = 30_000;
/** Waiting must not itself run into the limit of calls. */
const ASK_EVERY_MS = 250;

async function followed(calls: Calls, location: string): Promise<Reply> {
  let reply = await calls.get(location);
  await waitUntil(
    'the decision',
    BOUND_MS,
    async () => {
      reply = await calls.get(location);
      return reply.status !== 202 && reply.status !== 429;
    },
    ASK_EVERY_MS,
  );
  return reply;
}

/** Until the limit has room again. */
async function unlimited(call: () => Promise<Reply>): Promise<Reply> {
  let reply = await call();
  await waitUntil(
    'room for a call',
    BOUND_MS,
    async () => {
      if (reply.status === 429) reply = await call();
      return reply.status !== 429;
    },
    ASK_EVERY_MS,
  );
  return reply;
}

test('an attempt that is not decided in time gets 202 and a location, and later exactly its answer', async () => {
  const { classifier } = system.apps.processes;
  expect(await classifier.stop()).toBe('code 0');
  const body = preflightProof('team/waiting', { attempt_id: 'w-1' });
  const accepted = await unlimited(() => system.calls.attempt(body));
  expect(accepted.status, accepted.text).toBe(202);
  const location = textAt(accepted, 'location');
  expect(accepted.headers.get('location')).toBe(location);
  expect(accepted.headers.get('cache-control')).toBe('no-store');
  expect(Object.keys(Object(accepted.json)).sort()).toEqual(['attempt_event_id', 'location', 'ok']);
  expect(location.startsWith(`${API}/results/`)).toBe(true);
  expect(location).not.toContain('waiting');

  const undecided = await system.calls.get(location);
  expect([undecided.status, undecided.text]).toEqual([202, accepted.text]);
  expect(undecided.headers.get('location')).toBe(location);
  const repeated = await system.calls.attempt(body);
  expect([repeated.status, repeated.text]).toEqual([202, accepted.text]);

  await classifier.start();
  const answer = await followed(system.calls, location);
  expect(answer.status, answer.text).toBe(200);
  expect(textAt(answer, 'attempt_event_id')).toBe(textAt(accepted, 'attempt_event_id'));
  expect(at(answer.json, 'decision.reason')).toBe('deterministic_preflight');
  expect(at(answer.json, 'allocation.qualifying_attempts')).toBe(1);
  const same = await unlimited(() => system.calls.attempt(body));
  expect(same.text).toBe(answer.text);
});

test('429: a caller above its limit is told when to come again, and nothing of it is recorded', async () => {
  await unlimited(() => system.calls.attempt(capacityFailure('team/limited')));
  const before = (await system.log.head()).pos;
  const ids = Array.from({ length: 4 * CALLS_PER_SECOND }, (_, place) => `l-${place}`);
  const bodyOf = (attempt_id: string) => capacityFailure('team/limited', { attempt_id });
  const replies = await Promise.all(ids.map((id) => system.calls.attempt(bodyOf(id))));
  const refused = ids.filter((_, place) => replies[place]?.status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(replies.every(({ status }) => [200, 202, 429].includes(status))).toBe(true);
  for (const reply of replies.filter(({ status }) => status === 429)) {
    expect(reply.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(reply.json).toMatchObject({ status: 429, type: 'urn:spillway:problem:too-many-calls' });
  }

  const [id = ''] = refused;
  const later = await unlimited(() => system.calls.attempt(bodyOf(id)));
  expect([200, 202]).toContain(later.status);
  const reported: string[] = [];
  for (const row of await system.log.readAfter(before, 1_000)) {
    if (row.type === 'AttemptReported') reported.push(row.eventId);
  }
  expect(reported).toHaveLength(ids.length - refused.length + 1);
});

test('503: while the log cannot be reached, and the same id counts once after it', async () => {
  const body = preflightProof('team/down', { attempt_id: 'd-1' });
  await system.ownPostgres.stop();
  const [attempt, consent] = await Promise.all([
    system.calls.attempt(body),
    system.calls.consent({ logical_allocation: 'team/down', accept: false }),
  ]);
  for (const reply of [attempt, consent]) {
    expect(reply.json).toMatchObject({ status: 503, type: 'urn:spillway:problem:log-unavailable' });
    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  }
  let health = await system.calls.get('/api/health');
  await waitUntil('health says so', BOUND_MS, async () => {
    health = await system.calls.get('/api/health');
    return health.status === 503;
  });
  expect(health.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(health.json).toMatchObject({
    ok: false,
    capabilities: { gpu_allocation_fallback: { status: 'unavailable' } },
  });

  await system.ownPostgres.restart();
  let reply = await system.calls.attempt(body);
  await waitUntil(
    'the log is back',
    BOUND_MS,
    async () => {
      reply = await system.calls.attempt(body);
      return reply.status === 200;
    },
    ASK_EVERY_MS,
  );
  expect(at(reply.json, 'allocation.qualifying_attempts')).toBe(1);
  await waitUntil('health says so again', BOUND_MS, async () => {
    return (await system.calls.get('/api/health')).status === 200;
  });
});
