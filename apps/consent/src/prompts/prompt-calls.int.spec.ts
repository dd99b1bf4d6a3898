import { afterAll, beforeAll, expect, test } from 'vitest';
import { allocationRowOf, evolve, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { allocationRef } from '#domain/attempt/assess';
import { keyRing } from '#domain/key-ring';
import { StreamFinder } from '#event-log/find-stream';
import { PlacementStates } from '#event-log/placement-states';
import type { PostgresLog } from '#event-log/postgres-log';
import { QuestionReader } from '#event-log/question-reader';
import { QuestionRenewal } from '#event-log/question-renewal';
import { eventIdOf } from '#events/envelope';
import { FallbackPrompted } from '#events/prompt.events';
import { allocationStream } from '#events/streams';
import type { Caller, Scope } from '#platform/auth';
import { ManualClock } from '#platform/clock';
import { Sealer } from '#platform/sealer';
import { goldenEvent } from '#support/golden';
import { withPostgres } from '#support/infra';
import { command, fresh } from '#support/log-builders';
import { openLog } from '#support/open-log';
import { ConsentAnswers } from '../consent-answers.ts';
import { PromptCalls } from './prompt-calls.ts';
import { PromptViews } from './prompt-views.ts';

const RING = keyRing([{ id: 'k1', bytes: new Uint8Array(32).fill(7) }]);
const ASKED = goldenEvent('FallbackPrompted', { record: 'opened' }).data;
const LIFE_S = 3_600;

const db = withPostgres();
const clock = new ManualClock(ASKED.askedAt);
let log: PostgresLog;
let sealer: Sealer;
let calls: PromptCalls;
beforeAll(async () => {
  log = await openLog(db.url);
  sealer = new Sealer({ store: log.sealed, wrapKeys: [{ id: 'w1', bytes: new Uint8Array(32).fill(8) }] });
  const deployment = 'test';
  const streams = new StreamFinder(RING, log);
  const placements = new PlacementStates(log, 10);
  calls = new PromptCalls({
    deployment,
    streams,
    clock,
    reader: new QuestionReader({ log, placements }),
    renewal: new QuestionRenewal({ log, now: () => clock.now(), tokenLifeS: LIFE_S }),
    answers: new ConsentAnswers({ deployment, ring: RING, streams, placements, log, clock }),
    views: new PromptViews({ streams, sealer, clock }),
  });
});
afterAll(() => log?.close());

const caller = (subject: string, ...scopes: readonly Scope[]): Caller => ({
  outcome: 'known',
  subject,
  scopes,
});

/** An open question with a sealed name and request. */
async function asked(name: string): Promise<string> {
  const ref = allocationRef(name, RING.newest);
  const stream = allocationStream(ref);
  const commandId = fresh('asked');
  const eventId = eventIdOf(commandId, 0);
  const { scalars } = evolve(UNKNOWN_ALLOCATION, { type: 'FallbackPrompted', eventId, data: ASKED });
  const sealing = await sealer.seal(stream, [
    { kind: 'name', digest: ref, text: name, expiresAt: null },
    { kind: 'invariants', digest: ASKED.requestDigest, text: '{"gpu_count":4}', expiresAt: null },
  ]);
  const [result] = await log.append([
    command({
      commandId,
      stream,
      ringKeyId: 'k1',
      ...sealing,
      events: [
        { event: FallbackPrompted.create({ ...ASKED, after: scalars }), meta: { causedBy: null, saw: 0 } },
      ],
      allocation: allocationRowOf(scalars),
    }),
  ]);
  expect(result?.outcome).toBe('appended');
  return eventId;
}

const sees = (view: object) => ['name', 'invariants'].filter((member) => member in view);
const outcomeOf = (result: Awaited<ReturnType<PromptCalls['one']>>) =>
  result.kind === 'answered' ? sees(result.body) : result.problem.name;

test.each<readonly [readonly Scope[], string | readonly string[], string | readonly string[]]>([
  [['report'], 'not_permitted', 'not_permitted'],
  [['unseal'], 'not_permitted', 'not_permitted'],
  [['audit'], [], []],
  [
    ['audit', 'unseal'],
    ['name', 'invariants'],
    ['name', 'invariants'],
  ],
  [['consent'], ['invariants'], []],
  [
    ['consent', 'unseal'],
    ['name', 'invariants'],
    ['name', 'invariants'],
  ],
])('with the rights %j: of an open question %j, of a closed one %j', async (scopes, open, closed) => {
  const who = caller('somebody', ...scopes);
  const id = await asked(fresh('team/rights'));
  expect(outcomeOf(await calls.one(id, who))).toEqual(open);
  const list = await calls.list({}, who);
  expect(list.kind === 'answered' ? list.body.prompts.slice(0, 1).map(sees) : list.problem.name).toEqual(
    typeof open === 'string' ? open : [open],
  );
  const given = await calls.answer({ id, body: { accept: false }, sentId: null, caller: who });
  expect(given.kind).toBe(scopes.includes('consent') ? 'answered' : 'refused');
  await calls.answer({ id, body: { accept: false }, sentId: null, caller: caller('boss', 'consent') });
  expect(outcomeOf(await calls.one(id, who))).toEqual(closed);
});

test('who answered is told to themselves as you, to others as the beginning of a digest', async () => {
  const id = await asked('team/who');
  const [ada, bob] = [caller('ada@example.test', 'consent'), caller('bob@example.test', 'consent')];
  const taken = await calls.answer({ id, body: { accept: true }, sentId: null, caller: ada });
  expect(taken.kind === 'answered' && taken.body.prompt.closed).toMatchObject({ how: 'accepted', by: 'you' });
  const late = await calls.answer({ id, body: { accept: true }, sentId: null, caller: bob });
  expect(late.kind === 'refused' && late.problem.body.prompt).toMatchObject({
    closed: { how: 'accepted', by: expect.stringMatching(/^[0-9a-f]{8}…$/) },
  });
  expect(JSON.stringify(late)).not.toContain('ada');
});

test('an expired question is renewed when an approver reads it, not when an auditor does', async () => {
  const id = await asked('team/expired');
  clock.advance(24 * LIFE_S * 1_000);
  const idFor = async (who: Caller) => {
    const read = await calls.one(id, who);
    return read.kind === 'answered' ? [read.body.id === id, read.body.state] : read.problem.name;
  };
  expect(await idFor(caller('auditor', 'audit', 'unseal'))).toEqual([true, 'expired']);
  expect(await idFor(caller('approver', 'consent'))).toEqual([false, 'open']);
  expect(await idFor(caller('auditor', 'audit', 'unseal'))).toEqual([false, 'open']);
});

test('an erased name and request are told as erased, and the answer is taken all the same', async () => {
  const name = 'team/gone';
  const id = await asked(name);
  const admin = await openLog(db.url, { role: 'spillway_admin' });
  await admin.sealed.erase(allocationStream(allocationRef(name, RING.newest)));
  await admin.close();
  const who = caller('approver', 'consent', 'unseal');
  const read = await calls.one(id, who);
  expect(read.kind === 'answered' && read.body).toMatchObject({ name: null, invariants: null });
  expect((await calls.answer({ id, body: { accept: false }, sentId: null, caller: who })).kind).toBe(
    'answered',
  );
});
