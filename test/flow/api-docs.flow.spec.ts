import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '#event-log/migrate';
import { asyncApiDocument } from '#platform/asyncapi/document';
import { openApiDocument } from '#platform/openapi/document';
import { HealthBody } from '#platform/openapi/schemas';
import { problem } from '#platform/problem';
import { withPostgres } from '#support/infra';
import { type RunningApps, startApps } from '#tools/up/apps';

const db = withPostgres();
const folder = mkdtempSync(join(tmpdir(), 'spillway-docs-'));
let apps: RunningApps;

beforeAll(async () => {
  await migrate(db.url);
  apps = await startApps({ folder, databaseUrl: db.url });
});

afterAll(async () => {
  await apps.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the document is served as it is described', async () => {
  const response = await fetch(`${apps.url}/api/docs-json`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual(openApiDocument());
});

test('that of the bus too', async () => {
  const response = await fetch(`${apps.url}/api/docs-asyncapi`);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('application/json'),
  ]);
  expect(await response.json()).toEqual(asyncApiDocument());
});

test('the page and everything that it loads come from this origin', async () => {
  const page = await fetch(`${apps.url}/api/docs`);
  const html = await page.text();
  expect([page.status, page.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/html'),
  ]);
  const assets = [...html.matchAll(/<(?:script|link)[^>]*(?:src|href)="([^"]+)"/g)].map(
    ([, address]) => new URL(address ?? '', page.url),
  );
  expect(assets.length).toBeGreaterThanOrEqual(4);
  expect(assets.filter(({ origin }) => origin !== apps.url)).toEqual([]);
  const statuses = await Promise.all(assets.map(async (asset) => (await fetch(asset)).status));
  expect(new Set(statuses)).toEqual(new Set([200]));
});

test.each(['/api/docs/nothing.js', '/api/nothing', '/api/docs-yaml'])(
  '%s is an unknown path',
  async (path) => {
    const response = await fetch(apps.url + path);
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(await response.json()).toEqual(problem('not_found').body);
  },
);

test('health has the described form', async () => {
  const body: unknown = await (await fetch(`${apps.url}/api/health`)).json();
  expect(HealthBody.parse(body)).toEqual(body);
});
