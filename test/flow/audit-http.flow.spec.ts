import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AllocationBody, AllocationListBody, OverviewBody } from '#platform/openapi/audit-schemas';
import { placed } from '#support/failover-story';
import { getUnder, rawCall } from '#support/raw-call';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';

const folder = mkdtempSync(join(tmpdir(), 'spillway-access-'));
const accessLog = join(folder, 'access.log');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const system = withApps({ audit: true, provisioners: 1, env: { SPILLWAY_ACCESS_LOG_FILE: accessLog } });
const get = (path: string) => system.calls.get(`/api/audit/${path}`);
const lines = () =>
  readFileSync(accessLog, 'utf8')
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

describe('the audit behind the one origin', () => {
  test('shows an instance that was really placed, what it costs, and who is behind', async () => {
    const { instance } = await placed(system, 'audit-placed');
    const [row] = AllocationListBody.parse((await get('allocations?name=audit-placed')).json).rows;
    expect(row).toMatchObject({ outcome: 'placed_primary', instance, bills: true, name: 'audit-placed' });

    const view = AllocationBody.parse((await get(`allocations/${row?.ref}`)).json);
    expect(view.now.placement).toMatchObject({
      outcome: 'placed_primary',
      instance: { id: instance },
      bills: [{ instance }],
    });
    expect(view.lines.at(-1)?.state.pos).toBe(view.now.pos);
    expect(view.bars.map(({ track }) => track)).toEqual(
      expect.arrayContaining(['placement', 'intents', `lane ${row?.lane}`]),
    );

    await waitUntil('the overview has it', 10_000, async () => {
      const { bills, consumers } = OverviewBody.parse((await get('overview')).json);
      return bills.some((bill) => bill.instance === instance) && consumers.length > 0;
    });
  });

  test('every read is in the access log, by template and ref, and no name is', async () => {
    await get('allocations?name=audit-placed');
    expect((await get('allocations/nothing')).status).toBe(404);
    await waitUntil('both reads are logged', 5_000, () => lines().length >= 2);
    expect(lines().slice(-2)).toMatchObject([
      { log: 'access', subject: 'local', route: '/api/audit/allocations', ref: null, status: 200 },
      { log: 'access', subject: 'local', route: '/api/audit/allocations/:ref', ref: null, status: 404 },
    ]);
    expect(readFileSync(accessLog, 'utf8')).not.toContain('audit-placed');
  });

  test('is told like every app: live, ready, measured', async () => {
    const { url } = system.apps.processes.audit;
    const [live, ready, metrics] = await Promise.all(
      ['/health/live', '/health/ready', '/metrics'].map((path) => fetch(url + path)),
    );
    expect([live?.status, ready?.status, metrics?.status]).toEqual([200, 200, 200]);
    const text = await metrics?.text();
    expect(text).toContain('spillway_audit_calls_total{call="list",outcome="answered",app="audit"}');
    expect(text).toMatch(
      /spillway_audit_calls_total\{call="allocation",outcome="refused",app="audit"\} [1-9]/,
    );
  });
});

describe('what anybody may send to any app, and to the origin', () => {
  const places = () => [
    { url: system.apps.url, paths: ['/', '/api/prompts', '/api/audit/overview', '/api/health', '/nowhere'] },
    ...[...Object.values(system.apps.processes), ...system.apps.provisioners].map(({ url }) => ({
      url,
      paths: ['/health/ready', '/metrics', '/api/prompts', '/api/audit/overview'],
    })),
  ];
  const typeOf = (text: string) => z.object({ type: z.string() }).parse(JSON.parse(text)).type;

  test('under a name that its owner made to point here nothing is read', async () => {
    for (const { url, paths } of places()) {
      const port = new URL(url).port;
      for (const path of paths) {
        const reply = await rawCall(url, getUnder(`evil.test:${port}`, path));
        expect([reply.status, typeOf(reply.text)], `${url}${path}`).toEqual([
          421,
          'urn:spillway:problem:unknown-host',
        ]);
      }
      const own = await rawCall(url, getUnder(`localhost:${port}`, paths[0] ?? '/'));
      expect(own.status, url).toBe(200);
    }
  });

  test('a request that is none, or too long, is refused with a problem body', async () => {
    for (const { url } of places()) {
      const garbage = await rawCall(url, 'GET /api/health HTTP/1.1\r\na b: c\r\n\r\n');
      const long = await rawCall(url, getUnder('localhost', '/api/health', `x: ${'a'.repeat(17_000)}\r\n`));
      const hostless = await rawCall(url, 'GET /api/health HTTP/1.1\r\nconnection: close\r\n\r\n');
      expect([garbage, long, hostless].map(({ status, text }) => [status, typeOf(text)])).toEqual([
        [400, 'urn:spillway:problem:malformed-request'],
        [431, 'urn:spillway:problem:headers-too-large'],
        [400, 'urn:spillway:problem:malformed-request'],
      ]);
    }
  });

  test('a part of a file of the page that is not there is the whole file, and another version is refused', async () => {
    const part = await rawCall(
      system.apps.url,
      getUnder('localhost', '/mark.svg', 'range: bytes=999999-\r\n'),
    );
    expect([part.status, part.text.includes('<svg')]).toEqual([200, true]);
    const other = await rawCall(system.apps.url, getUnder('localhost', '/mark.svg', 'if-match: "x"\r\n'));
    expect([other.status, typeOf(other.text)]).toEqual([412, 'urn:spillway:problem:precondition-failed']);
  });
});
