import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { StreamFinder } from '#event-log/find-stream';
import type { PostgresLog } from '#event-log/postgres-log';
import { FixedTokens } from '#platform/auth';
import { systemClock } from '#platform/clock';
import { createHttpServer } from '#platform/http-server';
import { silentLogger } from '#platform/logger';
import { AllocationBody, AllocationListBody, OverviewBody, StateBody } from '#platform/openapi/audit-schemas';
import { Sealer } from '#platform/sealer';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog } from '#support/open-log';
import { AuditModule } from '../../apps/audit/src/audit.module.ts';
import { ProblemFilter } from '../../apps/audit/src/problem.filter.ts';
import { AuditCalls } from '../../apps/audit/src/views/audit-calls.ts';
import { History, WRAP_KEYS } from './audit-kit.ts';

const ASKED = 'team-a/finetune-7';
const PLACED = 'team-b/serve-1';
const TOKENS = {
  auditor: { subject: 'auditor', scopes: ['audit'] },
  unsealer: { subject: 'unsealer', scopes: ['audit', 'unseal'] },
  reporter: { subject: 'reporter', scopes: ['report', 'consent', 'unseal', 'operate'] },
} as const;

let database: TestDatabase;
let log: PostgresLog;
let server: FastifyInstance;
let app: NestFastifyApplication;
let refs: { readonly asked: string; readonly placed: string };

beforeAll(async () => {
  database = await createDatabase();
  const history = await History.open(database.url);
  for (let failure = 0; failure < 4; failure += 1) await history.attempt(ASKED);
  await history.attempt(PLACED, { success: true });
  refs = { asked: await history.refOf(ASKED), placed: await history.refOf(PLACED) };
  await history.log.close();

  log = await openLog(database.url, { role: 'spillway_audit' });
  const calls = new AuditCalls({
    log,
    streams: new StreamFinder(history.ring, log),
    unsealer: new Sealer({ store: log.sealed, wrapKeys: WRAP_KEYS }),
    clock: systemClock,
  });
  server = await createHttpServer({ authenticator: new FixedTokens(TOKENS), callsPerSecond: 1_000 });
  app = await NestFactory.create<NestFastifyApplication>(
    AuditModule.with(calls),
    new FastifyAdapter(server),
    { bodyParser: false, logger: false },
  );
  app.useGlobalFilters(new ProblemFilter(silentLogger));
  await app.init();
});
afterAll(async () => {
  await app.close();
  await log.close();
  await database.drop();
});

async function read(path: string, as: keyof typeof TOKENS | 'nobody' = 'auditor') {
  const headers = as === 'nobody' ? {} : { authorization: `Bearer ${as}` };
  const { statusCode, body, headers: answered } = await server.inject({ url: `/api/audit/${path}`, headers });
  return { status: statusCode, text: body, json: z.unknown().parse(JSON.parse(body)), headers: answered };
}

const PATHS = [
  'overview',
  'allocations',
  () => `allocations/${refs.asked}`,
  () => `allocations/${refs.asked}/state`,
];
const pathOf = (path: string | (() => string)) => (typeof path === 'string' ? path : path());

describe('who may read', () => {
  test.each(PATHS)('%s takes a caller who is known and has the scope audit', async (path) => {
    expect((await read(pathOf(path), 'nobody')).status).toBe(401);
    expect(await read(pathOf(path), 'reporter')).toMatchObject({
      status: 403,
      json: { type: 'urn:spillway:problem:not-permitted' },
    });
    expect(await read(pathOf(path))).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'no-store' },
    });
  });

  test('names and texts are for those who may unseal, and absent for all others', async () => {
    const paths = ['allocations', `allocations/${refs.asked}`];
    for (const path of paths) {
      expect((await read(path)).text).not.toMatch(/team-a|VM schedule timeout|h200/i);
      expect((await read(path, 'unsealer')).text).toContain(ASKED);
    }
    const { text } = await read(`allocations/${refs.asked}`, 'unsealer');
    expect(text).toContain('VM schedule timeout');
  });

  test('to find by a name takes the right to see names', async () => {
    const byName = (query: string, as: keyof typeof TOKENS) => read(`allocations?${query}`, as);
    for (const query of [`name=${encodeURIComponent(ASKED)}`, `q=${encodeURIComponent(ASKED)}`]) {
      expect((await byName(query, 'auditor')).status).toBe(403);
      expect((await byName(query, 'unsealer')).json).toMatchObject({
        rows: [{ ref: refs.asked }],
        next: null,
      });
    }
    expect((await byName('name=team-x/never', 'unsealer')).json).toEqual({ rows: [], next: null });
  });
});

describe('what is answered', () => {
  test('has the described form, whoever asks', async () => {
    for (const as of ['auditor', 'unsealer'] as const) {
      OverviewBody.parse((await read('overview', as)).json);
      AllocationListBody.parse((await read('allocations', as)).json);
      AllocationBody.parse((await read(`allocations/${refs.asked}`, as)).json);
      StateBody.parse((await read(`allocations/${refs.asked}/state`, as)).json);
    }
  });

  test('the overview counts by state', async () => {
    expect((await read('overview')).json).toMatchObject({
      head: { pos: 10, at: expect.any(String) },
      openQuestions: 1,
      allocations: { total: 2, byStatus: { 'awaiting-consent': 1, succeeded: 1 }, byOutcome: {} },
      bills: [],
      alerts: [],
      parked: [],
      deadLetters: 0,
      notices: null,
    });
  });

  test('the list goes on where its page ended, newest change first', async () => {
    const first = AllocationListBody.parse((await read('allocations?limit=1')).json);
    expect(first).toMatchObject({ rows: [{ ref: refs.placed, status: 'succeeded', pos: 10 }], next: '10' });
    const second = AllocationListBody.parse((await read(`allocations?limit=1&after=${first.next}`)).json);
    expect(second).toMatchObject({
      rows: [{ ref: refs.asked, openQuestion: expect.any(String) }],
      next: null,
    });
  });

  test.each([
    ['status=succeeded', 1],
    ['status=declined', 0],
    ['outcome=done', 0],
    ['bills=true', 0],
    ['bills=false', 2],
    ['alerts=true', 0],
    ['alerts=false', 2],
    ['lane=gcp', 0],
    ['reason=none', 0],
    ['since=9', 1],
    ['since=11', 0],
    ['until=8', 1],
    ['until=7', 0],
    ['since=2020-01-01T00:00:00Z', 2],
    ['until=2020-01-01T00:00:00Z', 0],
    ['until=2999-01-01T00:00:00%2B01:00&status=succeeded', 1],
  ])('the filter %s leaves %i', async (query, count) => {
    expect(AllocationListBody.parse((await read(`allocations?${query}`)).json).rows).toHaveLength(count);
  });

  test('the filter by time takes what was recorded at that very moment', async () => {
    const { json } = await read('allocations?limit=1');
    const at = AllocationListBody.parse(json).rows[0]?.at ?? '';
    const found = async (query: string) =>
      AllocationListBody.parse((await read(`allocations?${query}`)).json).rows;
    expect(await found(`since=${at}&limit=1`)).toMatchObject([{ ref: refs.placed }]);
    expect(await found(`until=${at}&limit=1`)).toMatchObject([{ ref: refs.placed }]);
  });

  test('the beginning of a ref finds it', async () => {
    const { json } = await read(`allocations?q=${refs.asked.slice(0, 12)}`);
    expect(json).toMatchObject({ rows: [{ ref: refs.asked }] });
  });

  test('a story is told by pages, with the state after each line and the chart of all of it', async () => {
    const page = async (query: string) =>
      AllocationBody.parse((await read(`allocations/${refs.asked}?${query}`)).json);
    const newest = await page('limit=3');
    expect(newest).toMatchObject({ upTo: 8, erased: false, earlier: 6, now: { pos: 8 } });
    expect(newest.lines.map(({ pos, state }) => [pos, state.pos, state.record?.count])).toEqual([
      [6, 6, 3],
      [7, 7, 3],
      [8, 8, 4],
    ]);
    const older = await page('limit=3&before=6');
    expect(older.lines.map(({ pos }) => pos)).toEqual([3, 4, 5]);
    expect(older).toMatchObject({ upTo: 8, earlier: 3, now: newest.now, bars: newest.bars });
    expect(await page('before=3')).toMatchObject({ earlier: null, lines: [{ pos: 1 }, { pos: 2 }] });
    expect(newest.bars.map(({ track, tone }) => `${track} ${tone}`)).toEqual([
      'record calm',
      'questions asked',
      'record asked',
    ]);
  });

  test.each([
    ['4', { pos: 4, record: { count: 2, status: 'tracking' } }],
    ['5', { pos: 5, record: { count: 2, status: 'tracking' } }],
    ['999', { pos: 8, record: { count: 4, status: 'awaiting-consent' } }],
    ['2999-01-01T00:00:00Z', { pos: 8, record: { count: 4 } }],
  ])('the state as of %s is that after the last event by then', async (asOf, state) => {
    expect((await read(`allocations/${refs.asked}/state?as_of=${asOf}`)).json).toMatchObject(state);
  });
});

describe('what is refused', () => {
  test.each([
    ['allocations?limit=0', '/limit', 'out_of_range'],
    ['allocations?lanes=gcp', '', 'unknown_member'],
    [() => `allocations/${refs.asked}?limit=2001`, '/limit', 'out_of_range'],
    [() => `allocations/${refs.asked}/state?as_of=yesterday`, '/as_of', 'wrong_format'],
  ])('%s names the parameter and not what it was', async (path, pointer, code) => {
    expect((await read(pathOf(path))).json).toMatchObject({
      type: 'urn:spillway:problem:invalid-query',
      status: 400,
      errors: [{ pointer, code }],
    });
  });

  test.each([
    `allocations/${'0'.repeat(64)}`,
    `allocations/${'0'.repeat(64)}/state`,
    'allocations/team-a',
    () => `allocations/${refs.placed}/state?as_of=8`,
    'verify',
  ])('%s is not there', async (path) => {
    expect((await read(pathOf(path))).json).toMatchObject({
      type: 'urn:spillway:problem:not-found',
      status: 404,
    });
  });
});
