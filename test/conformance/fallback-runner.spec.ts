import { afterEach, describe, expect, test } from 'vitest';
import { type Behaviour, serve, stopServing } from './fake-service.ts';
import { type Case, type Step } from './fallback-cases.ts';
import { runFallbackCases } from './fallback-runner.ts';

afterEach(stopServing);

const attempt = (expected: Step['expect'], more: Partial<Step> = {}): Step => ({
  call: 'attempt',
  body: { logical_allocation: 'lumen-a', request: { gpu_count: 4 } },
  ...more,
  expect: expected,
});
const caseOf = (...steps: readonly Step[]): Case => ({
  id: 'c',
  group: 'g',
  description: 'd',
  steps: [...steps],
});
const messagesOf = async (runCase: Case, behave: Behaviour) => {
  const { baseUrl } = await serve(behave);
  const { results } = await runFallbackCases([runCase], { baseUrl, runId: 'r1' });
  return results.flatMap((result) => result.mismatches.map(({ step, message }) => `${step}: ${message}`));
};

test('what does not conform is named with its step', async () => {
  const { baseUrl } = await serve((_, place) => ({ status: place === 0 ? 200 : 409, body: { ok: true } }));
  const { results } = await runFallbackCases(
    [{ ...caseOf(attempt({ status: 200 }), attempt({ status: 200, token: true })), id: 'two' }],
    { baseUrl },
  );
  expect(results).toEqual([
    {
      id: 'two',
      group: 'g',
      description: 'd',
      passed: false,
      mismatches: [
        { step: 1, message: 'status is 409, expected 200: {"ok":true}' },
        { step: 1, message: 'confirm_token is missing' },
      ],
    },
  ]);
});

test('a service that is not there fails every case', async () => {
  const { results } = await runFallbackCases([caseOf(attempt({ status: 200 }))], {
    baseUrl: 'http://127.0.0.1:1',
  });
  expect(results[0]?.mismatches[0]?.message).toMatch(/fetch failed/);
});

describe('steps', () => {
  test('calls go to their routes, with bodies as JSON, raw ones as they are', async () => {
    const { baseUrl, received } = await serve(() => ({ body: {} }));
    const steps: Step[] = [
      attempt({}),
      { call: 'consent', body: { logical_allocation: 'lumen-a', accept: false }, expect: {} },
      { call: 'attempt', raw: '{"logical_allocation": "lumen-a", ', expect: {} },
      { call: 'health', body: null, expect: {} },
    ];
    await runFallbackCases([caseOf(...steps)], { baseUrl, runId: 'r1' });
    const json = 'application/json';
    expect(received).toEqual([
      {
        method: 'POST',
        url: '/api/agent/gpu-allocation/attempt',
        contentType: json,
        text: '{"logical_allocation":"lumen-r1-a","request":{"gpu_count":4}}',
      },
      {
        method: 'POST',
        url: '/api/agent/gpu-allocation/consent',
        contentType: json,
        text: '{"logical_allocation":"lumen-r1-a","accept":false}',
      },
      {
        method: 'POST',
        url: '/api/agent/gpu-allocation/attempt',
        contentType: json,
        text: '{"logical_allocation": "lumen-r1-a", ',
      },
      { method: 'GET', url: '/api/health', contentType: undefined, text: '' },
    ]);
  });

  test('placeholders take the latest token, a labelled one and saved values', async () => {
    const { baseUrl, received } = await serve((_, place) => ({
      body: { confirm_token: `tok-${place}`, allocation: { request_digest: 'd1', count: 7 } },
    }));
    const { results } = await runFallbackCases(
      [
        caseOf(
          attempt({ save: { 'allocation.count': 'n' } }, { as: 'first' }),
          attempt({}, { save: { 'allocation.request_digest': 'rd' } }),
          {
            call: 'consent',
            body: { a: '$token', b: '$token.first', c: ['$saved.rd'], d: '$saved.n', e: 'x$token.first' },
            expect: { allocation: { request_digest: '$saved.rd' } },
          },
        ),
      ],
      { baseUrl },
    );
    expect(JSON.parse(received[2]?.text ?? '')).toEqual({
      a: 'tok-1',
      b: 'tok-0',
      c: ['d1'],
      d: 7,
      e: 'xtok-0',
    });
    expect(results[0]?.passed).toBe(true);
  });

  test('what is to be saved must be there', async () => {
    expect(await messagesOf(caseOf(attempt({ save: { 'a.b': 's' } })), () => ({ body: {} }))).toEqual([
      '0: a.b is absent, cannot be saved',
    ]);
  });

  test('a placeholder that was never received fails the step before it is sent', async () => {
    const { baseUrl, received } = await serve(() => ({ body: {} }));
    const { results } = await runFallbackCases(
      [caseOf({ call: 'consent', body: { confirm_token: '$token.p' }, expect: { status: 200 } })],
      { baseUrl },
    );
    expect(results[0]?.mismatches).toEqual([{ step: 0, message: '$token.p was never received' }]);
    expect(received).toEqual([]);
  });

  test('repeat sends one after the other and judges the last', async () => {
    const behave: Behaviour = (_, place) => ({ body: { allocation: { qualifying_attempts: place + 1 } } });
    const step = (count: number) => attempt({ allocation: { qualifying_attempts: count } }, { repeat: 3 });
    expect(await messagesOf(caseOf(step(3)), behave)).toEqual([]);
    expect(await messagesOf(caseOf(step(4)), behave)).toEqual([
      '0: allocation.qualifying_attempts is 3, expected 4',
    ]);
  });

  test('parallel judges the totals over all answers', async () => {
    const behave: Behaviour = (_, place) => ({
      status: place === 3 ? 409 : 200,
      body: { decision: { prompt: place === 1 }, allocation: { qualifying_attempts: place + 1 } },
    });
    const step = (expected: Step['expect']) => caseOf(attempt(expected, { parallel: 4 }));
    expect(
      await messagesOf(
        step({ status_any_of: [200, 409], max_qualifying_attempts: 4, prompts_total: 1, ok_total: 3 }),
        behave,
      ),
    ).toEqual([]);
    expect(
      await messagesOf(step({ max_qualifying_attempts: 5, prompts_total: 2, ok_total: 4 }), behave),
    ).toEqual([
      '0: max_qualifying_attempts is 4, expected 5',
      '0: prompts_total is 1, expected 2',
      '0: ok_total is 3, expected 4',
    ]);
    expect(await messagesOf(step({ status: 200 }), behave)).toHaveLength(1);
  });

  test('a case stops at its first failed step', async () => {
    const { baseUrl, received } = await serve(() => ({ body: {} }));
    await runFallbackCases([caseOf(attempt({ status: 500 }), attempt({}))], { baseUrl });
    expect(received).toHaveLength(1);
  });

  test('a 202 is followed to its decision by location, unless 202 is what was expected', async () => {
    const behave: Behaviour = ({ method }, place) =>
      method === 'POST' || place < 2
        ? { status: 202, body: { location: '/api/x/1' } }
        : { body: { decision: { prompt: false } } };
    const { baseUrl, received } = await serve(behave);
    const report = await runFallbackCases([caseOf(attempt({ status: 200, decision: { prompt: false } }))], {
      baseUrl,
    });
    expect(report.results[0]?.passed).toBe(true);
    expect(report.followed).toBe(1);
    expect(received.map(({ method, url }) => `${method} ${url}`).slice(1)).toEqual([
      'GET /api/x/1',
      'GET /api/x/1',
    ]);
    expect(await messagesOf(caseOf(attempt({ status: 202 })), behave)).toEqual([]);
  });
});

test('lockstep runs step k of all cases, then the callback, then step k+1', async () => {
  const order: string[] = [];
  const { baseUrl } = await serve(({ text }) => {
    order.push(String(JSON.parse(text).logical_allocation));
    return { body: {} };
  });
  const named = (id: string, steps: number): Case => ({
    id,
    group: 'g',
    description: 'd',
    steps: Array.from({ length: steps }, () => attempt({}, { body: { logical_allocation: `lumen-${id}` } })),
  });
  await runFallbackCases([named('a', 3), named('b', 1), named('c', 2)], {
    baseUrl,
    runId: 'r',
    concurrency: 1,
    betweenSteps: async (step) => void order.push(`between ${step}`),
  });
  expect(order).toEqual([
    'lumen-r-a',
    'lumen-r-b',
    'lumen-r-c',
    'between 0',
    'lumen-r-a',
    'lumen-r-c',
    'between 1',
    'lumen-r-a',
  ]);
});

test('runs as many cases at a time as allowed and no more', async () => {
  const limit = 3;
  let most = 0;
  let waiting: (() => void)[] = [];
  const { baseUrl } = await serve(async () => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      most = Math.max(most, waiting.length);
      // Nobody is answered before `limit` calls are there: fewer at a time would never end.
      if (waiting.length < limit) return;
      for (const answer of waiting) answer();
      waiting = [];
    });
    return { body: {} };
  });
  const cases = Array.from({ length: 4 * limit }, (_, index) => ({
    ...caseOf(attempt({})),
    id: `c${index}`,
  }));
  const { results } = await runFallbackCases(cases, { baseUrl, concurrency: limit });
  expect(results.map((result) => result.id)).toEqual(cases.map((one) => one.id));
  expect(results.every((result) => result.passed)).toBe(true);
  expect(most).toBe(limit);
});

test('collects what must be found nowhere afterwards', async () => {
  const { baseUrl } = await serve(() => ({
    body: { confirm_token: 'tok-received', decision: { message: 'our own words' } },
  }));
  const body = {
    logical_allocation: ' lumen-a ',
    attempt_id: 'run-7#3',
    request: { image: 'registry.test/a', image_digest: 'sha256:5a', gpu_product: 'H200' },
    failure: { code: 'capacity_exhausted', message: 'zone b has no hosts' },
    evidence: { fingerprint: 'fp-1', source: 'scheduler' },
    preemptible_candidate: { image: 'registry.test/b' },
  };
  const { sentSecrets } = await runFallbackCases(
    [
      caseOf(attempt({}, { body }), { call: 'consent', body: { confirm_token: 'guessed' }, expect: {} }),
      caseOf({ call: 'attempt', raw: '{"logical_allocation":"lumen-raw"}', expect: {} }),
    ],
    { baseUrl, runId: 'r1' },
  );
  expect([...sentSecrets].sort()).toEqual(
    [
      'lumen-r1-a',
      'run-7#3',
      'registry.test/a',
      'registry.test/b',
      'sha256:5a',
      'zone b has no hosts',
      'fp-1',
      'guessed',
      'tok-received',
      'lumen-r1-raw',
    ].sort(),
  );
});
