import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '#event-log/migrate';
import { withPostgres } from '#support/infra';
import { type RunningApps, startApps } from '#tools/up/apps';
import { loadCases } from '../conformance/fallback-cases.ts';
import { runFallbackCases } from '../conformance/fallback-runner.ts';

const db = withPostgres();
const cases = loadCases('test/conformance/fallback/cases.json');
const folder = mkdtempSync(join(tmpdir(), 'spillway-flow-'));
let apps: RunningApps;

beforeAll(async () => {
  await migrate(db.url);
  apps = await startApps({ folder, databaseUrl: db.url });
});

afterAll(async () => {
  expect(await apps.stop()).toEqual(['code 0', 'code 0', 'code 0']);
  rmSync(folder, { recursive: true, force: true });
});

test('all cases of the fallback pass over HTTP', async () => {
  const report = await runFallbackCases(cases, { baseUrl: apps.url });
  const failed = report.results.filter((result) => !result.passed);
  expect(failed.map(({ id, mismatches }) => ({ id, mismatches }))).toEqual([]);
  expect(report.results).toHaveLength(cases.length);
});
