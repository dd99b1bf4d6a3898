import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { eachAtMost } from '#support/each-at-most';
import { withApps } from '#support/running-apps';
import { parseRows } from '#tools/classify/rows';
import { scoreRows } from '#tools/classify/score';
import { loadCases } from '../conformance/fallback-cases.ts';
import { at } from '../conformance/fallback-expect.ts';
import { type RunReport, runFallbackCases } from '../conformance/fallback-runner.ts';

const cases = loadCases('test/conformance/fallback/cases.json');
const own = loadCases('test/conformance/fallback/own.json');
const rows = parseRows(readFileSync('test/conformance/classification/corpus.jsonl', 'utf8'));

/** Every case once, none with a difference. */
function expectAllPassed({ results }: RunReport, asked = cases): void {
  const failed = results.filter((result) => !result.passed);
  expect(failed.map(({ id, mismatches }) => ({ id, mismatches }))).toEqual([]);
  expect(results.map(({ id }) => id)).toEqual(asked.map(({ id }) => id));
}

describe('with the bus', () => {
  const system = withApps({ nats: 'shared' });

  test('all cases of the fallback pass', async () => {
    expectAllPassed(await runFallbackCases(cases, { baseUrl: system.apps.url }));
  });

  test('our own cases pass: repeats, resets, evidence, tokens and refusals in other orders', async () => {
    expectAllPassed(await runFallbackCases(own, { baseUrl: system.apps.url }), own);
  });

  test('each row of the corpus is classified by an attempt as by the command', async () => {
    const { answers } = scoreRows(rows);
    const got = new Map<string, unknown>();
    await eachAtMost(16, rows, async ({ id, code, message }) => {
      const reply = await system.calls.attempt({
        logical_allocation: `corpus/${id}`,
        request: { gpu_count: 1 },
        failure: { code, message },
      });
      got.set(id, at(reply.json, 'decision.classification'));
    });
    expect(rows.length).toBeGreaterThan(200);
    expect(answers.map(({ id }) => ({ id, ...Object(got.get(id)) }))).toEqual(
      answers.map(({ id, category, qualifying }) => ({ id, category, qualifying })),
    );
  });
});

describe('on the log alone', () => {
  const system = withApps();

  test('all cases of the fallback pass', async () => {
    expectAllPassed(await runFallbackCases(cases, { baseUrl: system.apps.url }));
  });

  test('all cases pass though every app is killed and started anew between any two of their steps', async () => {
    const processes = system.apps.started;
    let restarts = 0;
    const report = await runFallbackCases(cases, {
      baseUrl: system.apps.url,
      callDeadlineMs: 30_000,
      betweenSteps: async () => {
        expect(await Promise.all(processes.map((app) => app.kill()))).toEqual(processes.map(() => 'SIGKILL'));
        await Promise.all(processes.map((app) => app.start()));
        restarts += 1;
      },
    });
    expectAllPassed(report);
    expect(restarts).toBe(Math.max(...cases.map(({ steps }) => steps.length)) - 1);
  }, 300_000);
});
