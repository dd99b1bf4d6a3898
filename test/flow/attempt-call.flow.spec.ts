import { describe, expect, test } from 'vitest';
import { allocationRef } from '#domain/attempt/assess';
import { ALLOCATION, ATTEMPT_BODY } from '#support/attempt-bodies';
import { API, type Body, badMembersOf, callsTo, codesOf, type Reply, textAt } from '#support/calls';
import { capacityFailure, preflightProof } from '#support/failing-attempts';
import { withApps } from '#support/running-apps';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({ nats: 'shared' });
const ATTEMPT = `${API}/attempt`;
const BODY_MAX_BYTES = 256 * 1024;

const countOf = (reply: Reply) => at(reply.json, 'allocation.qualifying_attempts');
const reasonOf = (reply: Reply) => at(reply.json, 'decision.reason');

/** An RFC 9457 body of our table, and nothing recorded for it. */
function expectProblem(reply: Reply, status: number, name: string): void {
  expect(reply.json, reply.text).toMatchObject({ status, type: `urn:spillway:problem:${name}` });
  expect(reply.status).toBe(status);
  expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(textAt(reply, 'title')).not.toBe('');
  expect(textAt(reply, 'detail')).not.toBe('');
}

async function recordsNothing(call: () => Promise<Reply>): Promise<Reply> {
  const before = await system.log.head();
  const reply = await call();
  expect(await system.log.head()).toEqual(before);
  return reply;
}

describe('400: the body', () => {
  test('all bad members are named at once, and no value is quoted', async () => {
    const reply = await recordsNothing(() =>
      system.calls.attempt({
        logical_allocation: 77_123,
        request: {
          gpu_count: '77123',
          rt_cores_required: 0,
          image: ['77123'],
          gpu_family: 'x'.repeat(1_025),
        },
        failure: { code: 77_123, message: ['77123'] },
        evidence: {
          source: 77_123,
          on_demand_impossible: '77123',
          preemptible_available: 1,
          fingerprint: 77_123,
        },
        preemptible_candidate: ['77123'],
        success: null,
        attempt_id: 77_123,
      }),
    );
    expectProblem(reply, 400, 'invalid-body');
    expect(badMembersOf(reply)).toEqual([
      '/attempt_id wrong_type',
      '/evidence/fingerprint wrong_type',
      '/evidence/on_demand_impossible wrong_type',
      '/evidence/preemptible_available wrong_type',
      '/evidence/source wrong_type',
      '/failure/code wrong_type',
      '/failure/message wrong_type',
      '/logical_allocation wrong_type',
      '/preemptible_candidate wrong_type',
      '/request/gpu_count wrong_type',
      '/request/gpu_family too_long',
      '/request/image wrong_type',
      '/request/rt_cores_required wrong_type',
      '/success wrong_type',
    ]);
    expect(reply.text).not.toContain('77123');
  });

  const named = (body: Body): Body => ({ ...capacityFailure('team/bad-body'), ...body });
  const request = (members: object) => named({ request: { ...ALLOCATION, ...members } });
  test.each<{ body: Body; bad: readonly string[] }>([
    { body: {}, bad: ['/logical_allocation required', '/request required'] },
    { body: named({ logical_allocation: ' \t ' }), bad: ['/logical_allocation empty'] },
    { body: named({ logical_allocation: null }), bad: ['/logical_allocation wrong_type'] },
    { body: named({ logical_allocation: `${'n'.repeat(257)}` }), bad: ['/logical_allocation too_long'] },
    { body: named({ request: null }), bad: ['/request required'] },
    { body: named({ request: {} }), bad: ['/request empty'] },
    { body: named({ request: [] }), bad: ['/request wrong_type'] },
    { body: named({ success: 'true' }), bad: ['/success wrong_type'] },
    { body: named({ success: 1 }), bad: ['/success wrong_type'] },
    { body: named({ success: 'x', request: { pool: 'reserved' } }), bad: ['/success wrong_type'] },
    { body: named({ failure: 'NotEnoughResources' }), bad: ['/failure wrong_type'] },
    { body: named({ attempt_id: '' }), bad: ['/attempt_id empty'] },
    { body: named({ attempt_id: 'i'.repeat(201) }), bad: ['/attempt_id too_long'] },
    { body: named({ failure: { code: 'c'.repeat(257) } }), bad: ['/failure/code too_long'] },
    { body: named({ failure: { message: 'm'.repeat(65_537) } }), bad: ['/failure/message too_long'] },
    {
      body: named({ evidence: { fingerprint: 'f'.repeat(1_025) } }),
      bad: ['/evidence/fingerprint too_long'],
    },
    { body: request({ gpu_count: 1.5 }), bad: ['/request/gpu_count wrong_type'] },
    { body: request({ gpu_count: true }), bad: ['/request/gpu_count wrong_type'] },
    { body: request({ gpu_count: 2 ** 53 }), bad: ['/request/gpu_count out_of_range'] },
    { body: request({ pool: 'p'.repeat(1_025) }), bad: ['/request/pool too_long'] },
  ])('$bad', async ({ body, bad }) => {
    const reply = await recordsNothing(() => system.calls.attempt(body));
    expectProblem(reply, 400, 'invalid-body');
    expect(badMembersOf(reply)).toEqual(bad);
  });

  test.each(['', '{', '[]', 'null', '"text"', '7', '{"logical_allocation":"x",}', "{'a':1}"])(
    'no JSON object: %s',
    async (body) => {
      const reply = await recordsNothing(() => system.calls.send(ATTEMPT, { body }));
      expect(reply.status).toBe(400);
      expect(textAt(reply, 'type')).toMatch(/^urn:spillway:problem:(malformed-json|invalid-body)$/);
    },
  );

  test('bytes that are no UTF-8', async () => {
    const text = JSON.stringify(capacityFailure('team/bytes-X'));
    const body = new TextEncoder().encode(text).map((byte) => (byte === 'X'.charCodeAt(0) ? 0xff : byte));
    expectProblem(await recordsNothing(() => system.calls.send(ATTEMPT, { body })), 400, 'malformed-json');
  });

  test.each([
    { member: '/logical_allocation', change: { logical_allocation: 'team/\ud800x' } },
    { member: '/failure/message', change: { failure: { message: 'no capacity \udc00' } } },
    { member: '/attempt_id', change: { attempt_id: 'id \ud83d' } },
    { member: '/evidence/fingerprint', change: { evidence: { fingerprint: '\ud83d\ud83d' } } },
  ])('a lone surrogate in $member', async ({ member, change }) => {
    const reply = await recordsNothing(() => system.calls.attempt(named(change)));
    expectProblem(reply, 400, 'invalid-body');
    expect(badMembersOf(reply)).toEqual([`${member} invalid_unicode`]);
  });

  test.each(['1e999', '-1e999'])('a number that is not finite: %s', async (number) => {
    const body = JSON.stringify(request({ gpu_count: 12_345 })).replace('12345', number);
    const reply = await recordsNothing(() => system.calls.send(ATTEMPT, { body }));
    expectProblem(reply, 400, 'invalid-body');
    expect(badMembersOf(reply)).toEqual(['/request/gpu_count not_finite']);
  });
});

describe('200: what a body may be', () => {
  test('__proto__ is an unknown member like any other', async () => {
    const text = JSON.stringify(capacityFailure('team/proto'));
    const evil = '"__proto__":{"success":true,"attempt_id":"x"},"constructor":7,';
    const body = text
      .replace('{', `{${evil}`)
      .replace('"request":{', `"request":{"__proto__":{"gpu_count":9},`);
    const reply = await system.calls.send(ATTEMPT, { body });
    expect(reply.status, reply.text).toBe(200);
    expect(reasonOf(reply)).toBe('threshold_not_met');
    const plain = await system.calls.attempt(capacityFailure('team/proto'));
    expect(at(plain.json, 'allocation.request_digest')).toBe(at(reply.json, 'allocation.request_digest'));
    expect(countOf(plain)).toBe(2);
  });

  test('of a repeated member the last one counts', async () => {
    const body =
      '{"logical_allocation":"team/first","request":{"gpu_count":"x"},"success":"no","attempt_id":7,' +
      '"logical_allocation":"team/last","request":{"gpu_count":1},"success":true,"attempt_id":null}';
    const reply = await system.calls.send(ATTEMPT, { body });
    expect(reasonOf(reply), reply.text).toBe('allocation_succeeded');
    expect(at(reply.json, 'allocation.logical_allocation_ref')).toBe(
      allocationRef('team/last', system.ring.newest),
    );
  });

  test('null is absent, and what is at its bound is taken', async () => {
    const reply = await system.calls.attempt({
      logical_allocation: ` \n${'\u{1f600}'.repeat(256)}\t`,
      request: { gpu_count: 2 ** 53 - 1, image: 'x'.repeat(1_024), gpu_family: '', pool: null, more: {} },
      failure: { code: 'c'.repeat(256), message: 'm'.repeat(65_536), more: 1e308 },
      evidence: { source: 'Scheduler', on_demand_impossible: null, fingerprint: 'f'.repeat(1_024) },
      preemptible_candidate: null,
      attempt_id: '\u{1f600}'.repeat(200),
    });
    expect(reply.status, reply.text).toBe(200);
    expect(at(reply.json, 'decision.classification')).toEqual({ category: 'other', qualifying: false });
    expect(codesOf(reply)).toContain('candidate_missing');
  });

  test.each(['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON'])(
    'content type %s',
    async (type) => {
      const body = JSON.stringify(capacityFailure('team/type'));
      const reply = await system.calls.send(ATTEMPT, { body, headers: { 'content-type': type } });
      expect(reply.status, reply.text).toBe(200);
    },
  );

  test('a body of exactly 256 KiB', async () => {
    const reply = await system.calls.send(ATTEMPT, { body: bodyOfBytes('team/full', BODY_MAX_BYTES) });
    expect(reply.status, reply.text).toBe(200);
    expect(countOf(reply)).toBe(1);
  });
});

describe('404, 413, 415', () => {
  test('413: one byte more than 256 KiB', async () => {
    const body = bodyOfBytes('team/too-full', BODY_MAX_BYTES + 1);
    expectProblem(await recordsNothing(() => system.calls.send(ATTEMPT, { body })), 413, 'body-too-large');
  });

  test('413: also when the length is not told beforehand, and far above', async () => {
    const body = new Blob([bodyOfBytes('team/streamed', 3 * BODY_MAX_BYTES)]).stream();
    const response = await fetch(new URL(ATTEMPT, system.apps.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      duplex: 'half',
    });
    expect(response.status).toBe(413);
    await response.body?.cancel();
  });

  test.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json-patch+json',
    'application/jsonx',
    '',
  ])('415: content type "%s"', async (type) => {
    const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
    const body = JSON.stringify(capacityFailure('team/type'));
    const call = () => system.calls.send(ATTEMPT, { body, headers });
    expectProblem(await recordsNothing(call), 415, 'not-json-type');
  });

  test.each([
    '/nope',
    '/api',
    '/api/nope',
    `${API}/nope`,
    `${API}/attempt/more`,
    `${API}/consent/more`,
    '/api/%zz',
  ])('404: unknown path %s', async (path) => {
    const reply = await system.calls.get(path);
    expectProblem(reply, 404, 'not-found');
    expect(reply.text).not.toContain('nope');
  });

  test('404: an unknown location, also one that differs in its last character', async () => {
    const reply = await system.calls.attempt(preflightProof('team/location'));
    const eventId = textAt(reply, 'attempt_event_id');
    for (const guess of [eventId, `${eventId}${'0'.repeat(32)}`, 'x'.repeat(58), '%2e%2e', '\u00e9']) {
      expectProblem(await system.calls.get(`${API}/results/${guess}`), 404, 'not-found');
    }
  });
});

describe('ids', () => {
  test('the header Idempotency-Key is the attempt_id', async () => {
    const body = preflightProof('team/header');
    const first = await system.calls.attempt(body, { 'idempotency-key': 'h-1' });
    const repeats = [
      await system.calls.attempt(body, { 'idempotency-key': 'h-1' }),
      await system.calls.attempt({ ...body, attempt_id: 'h-1' }),
      await system.calls.attempt({ ...body, attempt_id: 'h-1' }, { 'idempotency-key': 'h-1' }),
    ];
    expect(first.status).toBe(200);
    expect(repeats.map(({ text }) => text)).toEqual([first.text, first.text, first.text]);
  });

  test('header and member that differ are refused, and neither id is used up', async () => {
    const body = capacityFailure('team/mismatch', { attempt_id: 'm-1' });
    const reply = await recordsNothing(() => system.calls.attempt(body, { 'idempotency-key': 'm-2' }));
    expectProblem(reply, 400, 'invalid-body');
    expect(badMembersOf(reply)).toEqual(['/attempt_id mismatch']);
    expect((await system.calls.attempt(body)).status).toBe(200);
    const other = capacityFailure('team/mismatch-2', { attempt_id: 'm-2' });
    expect((await system.calls.attempt(other)).status).toBe(200);
  });

  test('an id that is too long in the header is refused', async () => {
    const reply = await recordsNothing(() =>
      system.calls.attempt(capacityFailure('team/long-id'), { 'idempotency-key': 'i'.repeat(201) }),
    );
    expectProblem(reply, 400, 'invalid-body');
    expect(badMembersOf(reply).map((row) => row.split(' ')[0])).toEqual(['/attempt_id']);
  });

  test('an id with another body is 409, in another allocation too, and the first answer stays', async () => {
    const body = capacityFailure('team/reused', { attempt_id: 'r-1' });
    const first = await system.calls.attempt(body);
    const others = [
      capacityFailure('team/reused', { attempt_id: 'r-1', fingerprint: 'f2' }),
      capacityFailure('team/reused-2', { attempt_id: 'r-1' }),
      { ...body, success: true },
    ];
    for (const other of others) {
      expectProblem(await recordsNothing(() => system.calls.attempt(other)), 409, 'id-reused');
    }
    expect((await system.calls.attempt(body)).text).toBe(first.text);
  });

  test('the same body is the same however it is written', async () => {
    const body = preflightProof('team/spelled', { attempt_id: 's-1' });
    const first = await system.calls.attempt(body);
    const reversed = Object.fromEntries(Object.entries(body).reverse());
    const padded = { ...reversed, unknown: 1, success: undefined, logical_allocation: ' team/spelled ' };
    const spelled = JSON.stringify(padded, null, 3).replace('"gpu_count": 4', '"gpu_count": 4.0e0');
    expect(spelled).toContain('4.0e0');
    const repeat = await recordsNothing(() => system.calls.send(ATTEMPT, { body: spelled }));
    expect(repeat.text).toBe(first.text);
  });

  test('a refused body does not use up its id', async () => {
    const body = capacityFailure('team/refused', { attempt_id: 'u-1' });
    const refused = await system.calls.attempt({ ...body, success: 'no' });
    expect(refused.status).toBe(400);
    expect(countOf(await system.calls.attempt(body))).toBe(1);
  });

  test('without an id an identical body is a new attempt', async () => {
    const body = capacityFailure('team/no-id');
    expect([await system.calls.attempt(body), await system.calls.attempt(body)].map(countOf)).toEqual([1, 2]);
  });

  test('a repeat shows what was decided then, not the state now', async () => {
    const name = 'team/then';
    const first = await system.calls.attempt(capacityFailure(name, { attempt_id: 't-1' }));
    const asked = await system.calls.attempt(preflightProof(name, { attempt_id: 't-2', fingerprint: 'f2' }));
    expect(at(asked.json, 'decision.prompt')).toBe(true);
    const declined = await system.calls.consent({ logical_allocation: name, accept: false });
    expect(at(declined.json, 'allocation.status')).toBe('declined');
    await system.calls.attempt({ ...capacityFailure(name), success: true });

    expect((await system.calls.attempt(capacityFailure(name, { attempt_id: 't-1' }))).text).toBe(first.text);
    const again = await system.calls.attempt(preflightProof(name, { attempt_id: 't-2', fingerprint: 'f2' }));
    expect(again.text).toBe(asked.text);
  });
});

test('health names both routes, in order, and no state', async () => {
  const reply = await system.calls.get('/api/health');
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({
    ok: true,
    capabilities: {
      gpu_allocation_fallback: {
        status: 'available',
        grounded: true,
        routes: [`POST ${API}/attempt`, `POST ${API}/consent`],
      },
    },
  });
});

test('an answer is kept by no cache, by way of the origin and straight from the app', async () => {
  const straight = callsTo(() => system.apps.processes.ingest.url);
  for (const calls of [system.calls, straight]) {
    const reply = await calls.attempt(preflightProof('team/cached'));
    expect(reply.headers.get('cache-control')).toBe('no-store');
  }
});

/** A good body of exactly so many bytes, by an unknown member. */
function bodyOfBytes(name: string, bytes: number): string {
  const shortest = JSON.stringify({ ...ATTEMPT_BODY, logical_allocation: name, more: '' });
  return JSON.stringify({
    ...ATTEMPT_BODY,
    logical_allocation: name,
    more: ' '.repeat(bytes - shortest.length),
  });
}
