import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AllocationFilter, AllocationTable } from '#domain/log-tables';
import { withPostgres } from '#support/infra';
import { openLog } from '#support/open-log';
import { allocationTable } from './allocation-table.ts';

const AT = '2026-11-29T12:00:00.000Z';

describe('among many allocations that want nothing', () => {
  const database = withPostgres();
  let pool: Pool;
  let table: AllocationTable;
  beforeAll(async () => {
    await (await openLog(database.url)).close();
    // One connection, so that it can be told to count its scans at once.
    pool = new Pool({ connectionString: database.url, max: 1 });
    table = allocationTable(pool);
    await pool.query(`
        insert into spillway.allocation (
          stream, slot, status, open_question, question_expires_at,
          outcome, open_intent, needs_worker, wake_at, retry_at, bills, alerts, decision_version, pos
        )
        select 'allocation-' || lpad(n::text, 6, '0'), n % 1024,
               case when n % 5000 = 1 then 'awaiting-consent' else 'succeeded' end,
               case when n % 5000 = 1 then 'q' end, case when n % 5000 = 1 then timestamptz '${AT}' end,
               case when n % 5000 = 2 then 'waiting' else 'done' end, case when n % 5000 = 3 then 'i' end,
               n % 5000 = 4, null, case when n % 5000 = 5 then timestamptz '${AT}' end, n % 5000 = 6, case when n % 5000 = 7 then 1 else 0 end, 1, n
        from generate_series(1, 20000) as n;
        analyze spillway.allocation;
    `);
  });
  afterAll(() => pool.end());

  async function scansOf(index: string): Promise<number> {
    await pool.query('select pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ scans: number }>(
      'select idx_scan::integer as scans from pg_stat_user_indexes where indexrelname = $1',
      [index],
    );
    return rows[0]?.scans ?? Number.NaN;
  }

  test.each<[string, string, AllocationFilter]>([
    ['by status', 'allocation_status', { status: 'awaiting-consent' }],
    ['with an open question', 'allocation_question', { hasOpenQuestion: true }],
    ['whose question ends', 'allocation_question_end', { questionExpiresBy: AT }],
    ['by outcome', 'allocation_outcome', { outcome: 'waiting' }],
    ['with an open intent', 'allocation_intent', { hasOpenIntent: true }],
    ['with work to do', 'allocation_work', { workDueAt: AT }],
    ['to be tried again', 'allocation_retry', { retryDueAt: AT }],
    ['that bill', 'allocation_bills', { bills: true }],
    ['that an alert is open about', 'allocation_alerts', { hasAlerts: true }],
  ])('those %s are found by an index of their own', async (_which, index, filter) => {
    const before = await scansOf(index);
    expect(await table.list(filter, 100)).toHaveLength(4);
    expect(await scansOf(index)).toBe(before + 1);
  });
});
