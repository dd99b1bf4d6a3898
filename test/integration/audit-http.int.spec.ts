import { afterAll, beforeAll, expect, test } from 'vitest';
import { StreamFinder } from '#event-log/find-stream';
import { SCOPES } from '#platform/auth';
import { systemClock } from '#platform/clock';
import { Sealer } from '#platform/sealer';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog } from '#support/open-log';
import { AuditCalls } from '../../apps/audit/src/views/audit-calls.ts';
import { History, WRAP_KEYS } from './audit-kit.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());
test('smoke', async () => {
  const history = await History.open(database.url);
  for (let i = 0; i < 4; i += 1) await history.attempt('team-a/x');
  await history.answer('team-a/x', true);
  const log = await openLog(database.url, { role: 'spillway_audit' });
  const calls = new AuditCalls({
    log,
    streams: new StreamFinder(history.ring, log),
    unsealer: new Sealer({ store: log.sealed, wrapKeys: WRAP_KEYS }),
    clock: systemClock,
  });
  const caller = { outcome: 'known', subject: 'x', scopes: SCOPES } as const;
  const ref = await history.refOf('team-a/x');
  for (const r of [
    await calls.overview(caller),
    await calls.list({ q: 'team-a/x' }, caller),
    await calls.list({ bogus: '1', limit: 'x' }, caller),
    await calls.allocation(ref, { limit: '3' }, caller),
    await calls.state(ref, { as_of: '4' }),
  ])
    console.log(JSON.stringify(r, null, 1));
  await log.close();
  await history.log.close();
  expect(1).toBe(1);
});
