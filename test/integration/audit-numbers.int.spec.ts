import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientConfig } from '#event-log/connect';
import { type FilledLog, fillLog } from '#support/filled-log';
import { createDatabase, type TestDatabase } from '#support/infra';
import { benchPass, benchReads } from '../../tools/bench/audit-bench.ts';

// `npm run bench -- --audit 1000000` asks the same of a log of a million events. This one is filled in seconds.
const EVENTS = 20_000;
const LONG_EVENTS = 4_000;
/** On a machine that is busy with other tests; a million events take less on an idle one. */
const READ_BOUND_MS = 1_000;
const MEMORY_BOUND_MB = 512;

/** Under the settings of every connection of the log. */
async function planOf(statement: string): Promise<string> {
  const client = new pg.Client(clientConfig({ url: database.url, applicationName: 'test' }));
  await client.connect();
  try {
    const { rows } = await client.query(`explain ${statement}`);
    return JSON.stringify(rows);
  } finally {
    await client.end();
  }
}

let database: TestDatabase;
let filled: FilledLog;

beforeAll(async () => {
  database = await createDatabase();
  filled = await fillLog(database.url, { events: EVENTS, longEvents: LONG_EVENTS });
}, 120_000);
afterAll(() => database.drop());

test('whatever a person waits for is answered within a second', async () => {
  const figures = await benchReads(database.url, filled);
  expect(figures.length).toBeGreaterThan(10);
  expect(figures.filter(({ medianMs }) => medianMs > READ_BOUND_MS)).toEqual([]);
});

test.each(['verify', 'replay'])(
  '%s goes through all of it in bounded memory, and finds nothing',
  async (what) => {
    const pass = await benchPass(database.url, [what]);
    expect(pass).toMatchObject({ code: 0 });
    expect(pass.maxRssMb).toBeLessThan(MEMORY_BOUND_MB);
  },
  120_000,
);

test.each([
  [
    'counts by state',
    'select status, outcome, count(*) from spillway.allocation group by status, outcome',
    'allocation_states',
  ],
  ['the newest page', 'select * from spillway.allocation order by pos desc limit 50', 'allocation_newest'],
])('%s is read from its index', async (_what, statement, index) => {
  const plan = await planOf(statement);
  expect(plan).toContain(index);
  expect(plan).not.toContain('Seq Scan');
});
