import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AttemptToSend, type LoadOptions, startLoad } from './load.ts';

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

interface Call {
  readonly method: string;
  readonly url: string;
  readonly attemptId: string;
}
type Behaviour = (
  call: Call,
  place: number,
  response: ServerResponse,
) => { status: number; body: unknown } | 'cut';

async function serve(behave: Behaviour) {
  const calls: Call[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { attempt_id } = z
        .object({ attempt_id: z.string() })
        .catch({ attempt_id: '' })
        .parse(text === '' ? {} : JSON.parse(text));
      const call = { method: request.method ?? '', url: request.url ?? '', attemptId: attempt_id };
      calls.push(call);
      const reply = behave(call, calls.length - 1, response);
      if (reply === 'cut') request.socket.destroy();
      else
        response
          .writeHead(reply.status, { 'content-type': 'application/json' })
          .end(JSON.stringify(reply.body));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return { baseUrl: `http://127.0.0.1:${port}`, calls };
}

const decided = (eventId: string) => ({
  status: 200,
  body: { attempt_event_id: eventId, decision: { prompt: false }, allocation: { qualifying_attempts: 1 } },
});
const attemptOf = (index: number): AttemptToSend => ({
  attemptId: `a${index}`,
  allocation: `team-a/run-${index}`,
  rest: { request: { gpu_count: 1 } },
});
const NOWHERE = 'http://127.0.0.1:1';
const load = (baseUrls: readonly string[], more: Partial<LoadOptions> = {}) =>
  startLoad({
    baseUrls,
    ratePerSecond: 1_000,
    seconds: 0.01,
    attemptOf,
    pauseBetweenTriesMs: 1,
    tries: 4,
    ...more,
  }).report;

test('sends each attempt once when all is well, and records its answer', async () => {
  const { baseUrl, calls } = await serve(({ attemptId }) => decided(`event-${attemptId}`));
  const report = await load([baseUrl]);
  expect(report.sent).toBe(10);
  expect(report.unanswered).toEqual([]);
  expect(report.answered[3]).toEqual({
    attemptId: 'a3',
    allocation: 'team-a/run-3',
    eventId: 'event-a3',
    status: 200,
    latencyMs: expect.any(Number),
    tries: 1,
    prompted: false,
    qualifyingAttempts: 1,
    eventIds: ['event-a3'],
  });
  expect(calls.map((call) => call.attemptId).sort()).toEqual(
    Array.from({ length: 10 }, (_, index) => `a${index}`).sort(),
  );
});

test('keeps its rate although nothing is answered', async () => {
  const { baseUrl, calls } = await serve((_, place) => (place < 0 ? 'cut' : { status: 503, body: {} }));
  const startMs = performance.now();
  const report = await load([baseUrl], { ratePerSecond: 100, seconds: 0.3, tries: 1 });
  expect(report.sent).toBe(30);
  expect(calls).toHaveLength(30);
  expect(performance.now() - startMs).toBeGreaterThan(250);
});

describe('repeats the same attempt id until it is answered', () => {
  test.each<{ reason: string; first: ReturnType<Behaviour> }>([
    { reason: 'after a cut connection', first: 'cut' },
    { reason: 'after 503', first: { status: 503, body: {} } },
    { reason: 'after 429', first: { status: 429, body: {} } },
    { reason: 'after a 500', first: { status: 500, body: {} } },
    { reason: 'after an answer without a decision', first: { status: 200, body: {} } },
  ])('$reason', async ({ first }) => {
    const { baseUrl, calls } = await serve(({ attemptId }, place) =>
      place === 0 ? first : decided(attemptId),
    );
    const report = await load([baseUrl], { seconds: 0.001 });
    expect(calls.map((call) => call.attemptId)).toEqual(['a0', 'a0']);
    expect(report.answered).toMatchObject([{ attemptId: 'a0', tries: 2 }]);
  });

  test('at the next origin', async () => {
    const { baseUrl } = await serve(({ attemptId }) => decided(attemptId));
    const report = await load([NOWHERE, baseUrl]);
    expect(report.answered).toHaveLength(10);
    expect(report.answered.filter((answer) => answer.tries === 2)).toHaveLength(5);
  });
});

test('a refusal stands', async () => {
  const { baseUrl, calls } = await serve(() => ({ status: 409, body: {} }));
  const report = await load([baseUrl], { seconds: 0.001 });
  expect(report.unanswered).toEqual([
    { attemptId: 'a0', allocation: 'team-a/run-0', tries: 1, why: 'refused 409', eventIds: [] },
  ]);
  expect(calls).toHaveLength(1);
});

test('gives up after its tries and says why', async () => {
  const report = await load([NOWHERE], { seconds: 0.001, tries: 3 });
  expect(report.unanswered).toMatchObject([{ tries: 3, why: expect.stringContaining('fetch failed') }]);
});

test('follows a 202 to its decision', async () => {
  const { baseUrl, calls } = await serve(({ method }, place) =>
    method === 'POST' || place < 2
      ? { status: 202, body: { attempt_event_id: 'e1', location: '/api/x/1' } }
      : decided('e1'),
  );
  const report = await load([baseUrl], { seconds: 0.001 });
  expect(report.answered).toMatchObject([{ eventId: 'e1', eventIds: ['e1'], tries: 1 }]);
  expect(calls.map((call) => `${call.method} ${call.url}`).slice(1)).toEqual([
    'GET /api/x/1',
    'GET /api/x/1',
  ]);
});

test('a 202 that is never decided is sent again, and its event id is remembered', async () => {
  const { baseUrl } = await serve(() => ({
    status: 202,
    body: { attempt_event_id: 'e1', location: '/api/x/1' },
  }));
  const report = await load([baseUrl], { seconds: 0.001, tries: 2, followDeadlineMs: 60 });
  expect(report.unanswered).toMatchObject([{ tries: 2, why: 'undecided', eventIds: ['e1'] }]);
});

test('an attempt that is given two event ids shows both', async () => {
  const { baseUrl } = await serve(({ method }, place) => {
    if (place === 0) return { status: 202, body: { attempt_event_id: 'e1', location: '/x' } };
    return method === 'GET' ? { status: 202, body: {} } : decided('e2');
  });
  const report = await load([baseUrl], { seconds: 0.001, followDeadlineMs: 60 });
  expect(report.answered).toMatchObject([{ eventId: 'e2', eventIds: ['e1', 'e2'] }]);
});

test('stops on request and tells how far it is', async () => {
  const { baseUrl } = await serve(({ attemptId }) => decided(attemptId));
  const running = startLoad({ baseUrls: [baseUrl], ratePerSecond: 50, seconds: 60, attemptOf });
  await expect.poll(() => running.answered()).toBeGreaterThan(2);
  running.stop();
  const report = await running.report;
  expect(report.sent).toBeLessThan(1_000);
  expect(report.answered).toHaveLength(report.sent);
});
