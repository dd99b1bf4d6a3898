import { afterAll, beforeAll, expect, test } from 'vitest';
import { decisionIdOf } from '#domain/attempt/attempt-ids';
import type { PostgresLog } from '#event-log/postgres-log';
import { plusSeconds } from '#events/instant';
import { type Reply, textAt } from '#support/calls';
import { preflightProof } from '#support/failing-attempts';
import { LAUNCH_BODY } from '#support/launch-bodies';
import { openLog } from '#support/open-log';
import { appendAsProvisioner, instancePlaced, streamOfName } from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const BEGUN = '2026-01-05T00:00:00.000Z';
const BOUND_MS = 30_000;

const system = withApps({ env: { SPILLWAY_TOKEN_LIFE_S: '3' } });
let log: PostgresLog;
beforeAll(async () => {
  log = await openLog(system.databaseUrl);
});
afterAll(() => log?.close());

const rowsOf = (name: string) => system.log.readStream(streamOfName(system.ring, name), 0, 200);
const prompt = async (id: string) => (await system.calls.get(`/api/prompts/${id}`)).json;
const answer = (id: string, accept: boolean) =>
  system.calls.send(`/api/prompts/${id}/answer`, { body: JSON.stringify({ accept }) });

async function listed(id: string): Promise<unknown> {
  const { json } = await system.calls.get('/api/prompts?limit=100');
  const prompts = at(json, 'prompts');
  return Array.isArray(prompts) ? prompts.find((one: unknown) => at(one, 'originId') === id) : undefined;
}

/** A pool question; answers the id of its asking. */
async function askedOfPool(name: string): Promise<string> {
  const asked = await system.calls.attempt(preflightProof(name));
  return decisionIdOf(textAt(asked, 'attempt_event_id'));
}

/** A question about an instance that waited for too long in its queue. */
async function askedOfMove(name: string): Promise<string> {
  await system.calls.launch({ ...LAUNCH_BODY, logical_allocation: name, failover: 'ask' });
  const fact = instancePlaced({ instance: 'X1', rung: 'flex_a', createdAt: BEGUN });
  await appendAsProvisioner(log, streamOfName(system.ring, name), [fact], BEGUN);
  for (const after of [60, 700]) {
    await system.calls.observation({
      logical_allocation: name,
      instance: 'X1',
      lane: 'gcp',
      observed_at: plusSeconds(BEGUN, after),
      provider: 'queued',
    });
  }
  const asked = (await rowsOf(name)).find(({ type }) => type === 'FailoverPrompted');
  if (asked === undefined) throw new Error('nothing was asked');
  return asked.eventId;
}

/** Waits until a question has outlived its token; a list tells so and changes nothing. */
async function expired(id: string): Promise<void> {
  await waitUntil('it has expired', BOUND_MS, async () => at(await listed(id), 'state') === 'expired');
}

/** Accepts; on a machine that is busy the renewed token may have ended too, and it is said again. */
async function accepted(id: string): Promise<Reply> {
  let reply = await answer(id, true);
  await waitUntil('the yes comes in time', BOUND_MS, async () => {
    if (reply.status === 403) reply = await answer(id, true);
    return reply.status !== 403;
  });
  return reply;
}

test.each([
  ['pool', askedOfPool],
  ['failover', askedOfMove],
] as const)('an expired %s question is renewed by reading it, not by listing it', async (kind, ask) => {
  const name = `team/renewed-${kind}`;
  const id = await ask(name);
  await expired(id);
  expect(await listed(id)).toMatchObject({ id, state: 'expired', kind });
  expect((await rowsOf(name)).map(({ type }) => type)).not.toContain('PromptRenewed');

  const renewed = await prompt(id);
  expect(at(renewed, 'originId')).toBe(id);
  expect(at(renewed, 'id')).not.toBe(id);
  // Any id that it ever had shows the one question.
  const byNewId = await prompt(String(at(renewed, 'id')));
  expect(at(byNewId, 'originId')).toBe(id);
  const taken = await accepted(String(at(renewed, 'id')));
  expect(taken.status, taken.text).toBe(200);
  expect(at(taken.json, 'prompt')).toMatchObject({ originId: id, closed: { how: 'accepted', by: 'local' } });
});

test('an expired question can be declined as it is', async () => {
  const id = await askedOfPool('team/late-no');
  await expired(id);
  const taken = await answer(id, false);
  expect(taken.json).toMatchObject({ ok: true, prompt: { id, closed: { how: 'declined' } } });
  expect((await rowsOf('team/late-no')).map(({ type }) => type)).not.toContain('PromptRenewed');
});

test('a yes to an expired question is one: it was asked of the very same thing', async () => {
  const id = await askedOfPool('team/late-yes');
  await expired(id);
  const taken = await accepted(id);
  expect(taken.status, taken.text).toBe(200);
  const types = (await rowsOf('team/late-yes')).map(({ type }) => type);
  expect(types).toContain('PromptRenewed');
  expect(types.slice(-2)).toEqual(['ConsentAnswered', 'ConsentAccepted']);
});

test('a failover question says what is lost, what is bought and what a no leads to', async () => {
  const name = 'team/move';
  const id = await askedOfMove(name);
  const shown = await prompt(id);
  expect(shown).toMatchObject({
    kind: 'failover',
    name,
    differs: { what: 'lane', from: 'gcp', to: 'runpod' },
    why: { rule: expect.stringContaining('4.4') },
    asks: expect.stringContaining('waited in a queue for too long'),
    onYes: expect.arrayContaining([
      expect.stringContaining('First the queued instance on lane gcp is cancelled'),
    ]),
  });
  const declined = await answer(String(at(shown, 'id')), false);
  expect(declined.json).toMatchObject({ ok: true, prompt: { closed: { how: 'declined', by: 'local' } } });
  const types = (await rowsOf(name)).map(({ type }) => type);
  expect(types.slice(-2)).toEqual(['FailoverDeclined', 'AllocationBlocked']);
});

test('a parked allocation goes on by the page: recorded, once, and only at the event that was seen', async () => {
  const name = 'team/parked';
  await askedOfPool(name);
  const stream = streamOfName(system.ring, name);
  const ref = stream.replace('allocation-', '');
  const body = (change: object = {}) => JSON.stringify({ consumer: 'nobody', ref, first_pos: 4, ...change });
  const send = (how: string, change: object = {}) =>
    system.calls.send(`/api/parked/${how}`, { body: body(change) });
  const problemOf = (reply: Reply) => [reply.status, at(reply.json, 'type')];

  expect(problemOf(await send('requeue'))).toEqual([409, 'urn:spillway:problem:nothing-parked']);
  await log.parked.park({ consumer: 'nobody', stream, firstPos: 4, reason: 'poison', tries: 5 });
  expect(problemOf(await send('skip', { first_pos: 5 }))).toEqual([
    409,
    'urn:spillway:problem:parked-elsewhere',
  ]);
  expect((await log.parked.find('nobody', stream))?.state).toBe('parked');
  for (const bad of [
    { ref: 'x' },
    { first_pos: 0 },
    { first_pos: '4' },
    { consumer: '' },
    { consumer: 'a\0' },
  ]) {
    expect((await send('skip', bad)).status).toBe(400);
  }
  expect((await send('requeue')).json).toEqual({ ok: true, outcome: 'released' });
  expect((await send('requeue')).json).toEqual({ ok: true, outcome: 'released_already' });
  expect((await send('skip')).json).toEqual({ ok: true, outcome: 'released' });
  const types = (await rowsOf(name)).map(({ type }) => type);
  expect(types.slice(-2)).toEqual(['ParkedRequeued', 'ParkedSkipped']);
  expect((await log.parked.find('nobody', stream))?.state).toBe('skipped');
  await log.parked.clear('nobody', stream);
});
