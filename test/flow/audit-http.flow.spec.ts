import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { AllocationBody, AllocationListBody, OverviewBody } from '#platform/openapi/audit-schemas';
import { placed } from '#support/failover-story';
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
