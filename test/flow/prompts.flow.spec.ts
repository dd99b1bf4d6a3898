import { once } from 'node:events';
import { IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { decisionIdOf } from '#domain/attempt/attempt-ids';
import { INVARIANTS } from '#domain/attempt/invariants';
import { ATTEMPT_BODY } from '#support/attempt-bodies';
import { callsTo, type Reply, textAt } from '#support/calls';
import { askedByFailures, capacityFailure, preflightProof } from '#support/failing-attempts';
import { streamOfName } from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps();
const questionOf = (asked: Reply) => decisionIdOf(textAt(asked, 'attempt_event_id'));
const answer = (id: string, accept: unknown, headers: Readonly<Record<string, string>> = {}) =>
  system.calls.send(`/api/prompts/${id}/answer`, {
    body: JSON.stringify({ accept }),
    headers: { 'content-type': 'application/json', ...headers },
  });
const prompt = (id: string) => system.calls.get(`/api/prompts/${id}`);
const idsIn = async (query: string) => {
  const page = await system.calls.get(`/api/prompts?${query}`);
  expect(page.status, page.text).toBe(200);
  const prompts = at(page.json, 'prompts');
  return Array.isArray(prompts) ? prompts.map((one: unknown) => String(at(one, 'originId'))) : [];
};

function expectProblem(reply: Reply, status: number, name: string): void {
  expect(reply.json, reply.text).toMatchObject({ status, type: `urn:spillway:problem:${name}` });
  expect(reply.status).toBe(status);
}

test('a question is shown with all that a person needs to answer it', async () => {
  const name = 'team/shown';
  const id = questionOf(await askedByFailures(system.calls, name));
  const shown = await prompt(id);
  expect(shown.status, shown.text).toBe(200);
  expect(shown.headers.get('cache-control')).toBe('no-store');
  expect(shown.json).toMatchObject({
    id,
    originId: id,
    ref: streamOfName(system.ring, name).replace('allocation-', ''),
    name,
    kind: 'pool',
    state: 'open',
    closed: null,
    differs: { what: 'pool', from: 'on-demand', to: 'preemptible' },
    why: { rule: 'failed_attempt_threshold', sentence: expect.stringContaining('3 placement failures') },
    costPerHourUsd: null,
  });
  const request: Readonly<Record<string, unknown>> = ATTEMPT_BODY.request;
  expect(at(shown.json, 'invariants')).toEqual(
    INVARIANTS.map((member) => ({ member, value: request[member] })),
  );
  const attempts = at(shown.json, 'attempts');
  expect(Array.isArray(attempts) && attempts.map((line: unknown) => at(line, 'type'))).toEqual([
    'AttemptReported',
    'AttemptTracked',
    'AttemptReported',
    'AttemptTracked',
    'AttemptReported',
  ]);
  expect(await idsIn('state=open')).toContain(id);
  expect(await idsIn('state=closed')).not.toContain(id);
});

test('accepting answers by name and token that the page never sees', async () => {
  const name = 'team/accepted';
  const id = questionOf(await askedByFailures(system.calls, name));
  const taken = await answer(id, true);
  expect(taken.status, taken.text).toBe(200);
  expect(taken.json).toMatchObject({
    ok: true,
    prompt: { id, state: 'closed', closed: { how: 'accepted', by: 'local', why: null } },
  });
  expect(taken.text).not.toContain('token');
  const next = await system.calls.attempt(capacityFailure(name));
  expect(at(next.json, 'allocation')).toMatchObject({ selected_pool: 'preemptible', consent: 'accepted' });

  for (const accept of [true, false]) {
    const late = await answer(id, accept);
    expectProblem(late, 409, 'no-question-open');
    expect(at(late.json, 'prompt')).toEqual(at(taken.json, 'prompt'));
    expect(at(late.json, 'allocation')).toBeUndefined();
  }
  expect(await idsIn('state=open')).not.toContain(id);
  expect(await idsIn('state=closed')).toContain(id);
});

test('declining needs nothing but the no', async () => {
  const id = questionOf(await askedByFailures(system.calls, 'team/declined'));
  const taken = await answer(id, false);
  expect(taken.json).toMatchObject({ ok: true, prompt: { closed: { how: 'declined', by: 'local' } } });
});

test('of two people at once one answers, and the other is told who and when', async () => {
  const id = questionOf(await askedByFailures(system.calls, 'team/at-once'));
  const replies = await Promise.all([
    answer(id, true),
    answer(id, false),
    answer(id, true),
    answer(id, false),
  ]);
  const taken = replies.filter(({ status }) => status === 200);
  expect(taken).toHaveLength(1);
  for (const late of replies.filter(({ status }) => status !== 200)) {
    expectProblem(late, 409, 'no-question-open');
    expect(at(late.json, 'prompt')).toEqual(at(taken[0]?.json, 'prompt'));
  }
});

test('an answer with an id is one, however often it is sent', async () => {
  const id = questionOf(await askedByFailures(system.calls, 'team/idempotent'));
  const key = { 'idempotency-key': 'click-1' };
  const [first, second] = [await answer(id, true, key), await answer(id, true, key)];
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(second.json).toEqual(first.json);
  expectProblem(await answer(id, false, key), 409, 'id-reused');
});

describe('a question that ends without an answer tells why', () => {
  test.each([
    [
      'superseded',
      'A newer question about other evidence took its place.',
      (name: string) => system.calls.attempt(capacityFailure(name, { fingerprint: 'f2' })),
    ],
    [
      'withdrawn',
      'The allocation was placed meanwhile.',
      (name: string) => system.calls.attempt({ ...capacityFailure(name), success: true }),
    ],
    [
      'withdrawn',
      'The request changed, so what was asked about is no longer wanted.',
      (name: string) => system.calls.attempt({ ...capacityFailure(name), request: { gpu_count: 1 } }),
    ],
  ] as const)('%s: %s', async (how, why, ends) => {
    const name = `team/${why}`;
    const id = questionOf(await askedByFailures(system.calls, name));
    await system.calls.attempt(capacityFailure(name));
    await ends(name);
    const shown = await prompt(id);
    expect(shown.json).toMatchObject({ id, state: 'closed', closed: { how, by: null, why } });
    expectProblem(
      await answer(id, true),
      409,
      how === 'superseded' ? 'other-question-open' : 'no-question-open',
    );
  });
});

test('lists are read in pages, newest first, each question once', async () => {
  const names = ['team/page-1', 'team/page-2', 'team/page-3'];
  const ids: string[] = [];
  for (const name of names) ids.unshift(questionOf(await system.calls.attempt(preflightProof(name))));
  for (const state of ['open', 'closed']) {
    const read: string[] = [];
    let after: unknown = '';
    while (after !== null) {
      const page = await system.calls.get(
        `/api/prompts?state=${state}&limit=2${after === '' ? '' : `&after=${after}`}`,
      );
      const prompts = at(page.json, 'prompts');
      if (!Array.isArray(prompts)) throw new Error(page.text);
      expect(prompts.length).toBeLessThanOrEqual(2);
      read.push(...prompts.map((one: unknown) => String(at(one, 'originId'))));
      after = at(page.json, 'next');
    }
    expect(new Set(read).size).toBe(read.length);
    expect(read.filter((id) => ids.includes(id))).toEqual(ids);
    expect(read.slice(0, 3)).toEqual(ids);
    for (const id of ids) await answer(id, false);
  }
});

test.each([
  ['state=other', '/state'],
  ['limit=0', '/limit'],
  ['limit=101', '/limit'],
  ['limit=1e1', '/limit'],
  ['after=-1', '/after'],
  ['after=1&after=2', '/after'],
])('400: ?%s', async (query, pointer) => {
  const reply = await system.calls.get(`/api/prompts?${query}`);
  expectProblem(reply, 400, 'invalid-query');
  expect(at(reply.json, 'errors')).toMatchObject([{ pointer }]);
});

test('what is no question is unknown, also when the log has it', async () => {
  const attempt = textAt(await system.calls.attempt(capacityFailure('team/none')), 'attempt_event_id');
  for (const id of [attempt, decisionIdOf(attempt), 'a'.repeat(26), 'x', 'A'.repeat(26)]) {
    expectProblem(await prompt(id), 404, 'not-found');
    expectProblem(await answer(id, true), 404, 'not-found');
  }
  const direct = callsTo(() => system.apps.processes.consent.url);
  for (const id of ['%00', '%ff', '..%2f..', `${'a'.repeat(26)}%00`]) {
    expectProblem(await direct.get(`/api/prompts/${id}`), 404, 'not-found');
  }
});

test.each([[{}], [{ accept: 'yes' }], [{ accept: null }], [{ accept: 1 }], [[]]])(
  '400: %j answers nothing',
  async (body) => {
    const reply = await system.calls.send(`/api/prompts/${'a'.repeat(26)}/answer`, {
      body: JSON.stringify(body),
    });
    expectProblem(reply, 400, 'invalid-body');
  },
);

test('who looks is told what they may do', async () => {
  expect((await system.calls.get('/api/me')).json).toEqual({
    subject: 'local',
    authenticated: false,
    may: { consent: true, audit: true, unseal: true, operate: true },
  });
});

describe('a page of another site decides nothing', () => {
  const foreign = [
    { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.test' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'null' },
  ];
  const PATHS = [
    '/api/agent/gpu-allocation/consent',
    '/api/agent/gpu-allocation/attempt',
    '/api/prompts/aaaaaaaaaaaaaaaaaaaaaaaaaa/answer',
    '/api/parked/requeue',
    '/api/parked/skip',
  ];
  test.each(PATHS)('%s', async (path) => {
    for (const headers of foreign) {
      const sent = { 'content-type': 'application/json', ...headers };
      const reply = await system.calls.send(path, { body: '{}', headers: sent });
      expectProblem(reply, 403, 'cross-site');
      expect([...reply.headers.keys()].filter((header) => header.startsWith('access-control-'))).toEqual([]);
    }
    const form = await system.calls.send(path, {
      body: 'accept=true',
      headers: { 'content-type': 'text/plain' },
    });
    expectProblem(form, 415, 'not-json-type');
  });

  test('and the page of this very origin does', async () => {
    const id = questionOf(await askedByFailures(system.calls, 'team/same-site'));
    const origin = new URL(system.apps.url).origin;
    expectProblem(await answer(id, true, { origin: 'http://127.0.0.1:1' }), 403, 'cross-site');
    const local = origin.replace('127.0.0.1', 'localhost');
    expectProblem(await answer(id, true, { origin: local }), 403, 'cross-site');
    const taken = await answer(id, true, { origin, 'sec-fetch-site': 'same-origin' });
    expect(taken.status, taken.text).toBe(200);
  });
});

test('every answer of the page tells the browser to guard it', async () => {
  for (const path of ['/api/prompts', '/api/me', '/', '/nowhere']) {
    const { headers } = await system.calls.get(path);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(headers.get('content-security-policy')).not.toMatch(/unsafe|\*|http/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  }
});

test('what is for operators is not reached by the origin', async () => {
  for (const path of ['/metrics', '/metrics?x', '/%6detrics', '/health/live', '/health/ready', '/nowhere']) {
    expectProblem(await system.calls.get(path), 404, 'not-found');
  }
});

/** Sent as it stands: a client library would read the path first. */
async function sendAsIs(path: string, headers: Readonly<Record<string, string>> = {}) {
  const { hostname, port } = new URL(system.apps.url);
  const sent = request({ hostname, port, path, headers });
  sent.end();
  const [answer] = await once(sent, 'response');
  if (!(answer instanceof IncomingMessage)) throw new Error('no answer');
  const body: unknown = JSON.parse(await text(answer));
  return [answer.statusCode, at(body, 'type')];
}

test.each([
  '//',
  '//x',
  '/\\metrics',
  '/%zz',
  '/prompts/../../metrics',
  '/assets/..%2f..%2fpackage.json',
  '//metrics',
])('what is no path of this place is unknown: %s', async (path) => {
  expect(await sendAsIs(path)).toEqual([404, 'urn:spillway:problem:not-found']);
});

test('a caller that waits to be told to send its body is told, and answered', async () => {
  expect(await sendAsIs('/api/me/nobody', { expect: '100-continue' })).toEqual([
    404,
    'urn:spillway:problem:not-found',
  ]);
});
