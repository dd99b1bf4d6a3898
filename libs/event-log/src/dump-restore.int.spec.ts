import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createDatabase, withPostgres } from '#support/infra';
import { command, decision, fresh, input } from '#support/log-builders';
import { openLog, withClient } from '#support/open-log';
import { verifyLog } from './verify.ts';

const run = promisify(execFile);

/** Folder of the client programs of the server's own version; an older pg_dump refuses a newer server. */
async function dumpFolder(url: string): Promise<string | null> {
  const version = await withClient(url, async (client) => {
    const { rows } = await client.query<{ major: number }>(
      `select current_setting('server_version_num')::integer / 10000 as major`,
    );
    return rows[0]?.major ?? 0;
  });
  const folders = [`/usr/lib/postgresql/${version}/bin`, '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin'];
  return folders.find((folder) => existsSync(join(folder, 'pg_dump'))) ?? null;
}

describe('pitfall 3: dump and restore', () => {
  const database = withPostgres();

  test('into a new database the log is the same log, readable, verifiable and open for appends', async (context) => {
    const folder = await dumpFolder(database.url);
    if (folder === null) return context.skip('pg_dump is not installed on this machine');

    const log = await openLog(database.url);
    const stream = fresh('stream');
    const known = command({ stream, events: [decision(), input()] });
    await log.append([command(), known, command({ stream })]);
    await log.checkpoints.ensure('kept', { index: 0, count: 1 }, 2);
    const before = await log.readAfter(0, 100);
    const logId = await log.logId();
    await log.close();

    const restored = await createDatabase();
    const place = await mkdtemp(join(tmpdir(), 'spillway-dump-'));
    try {
      const file = join(place, 'log.dump');
      await run(join(folder, 'pg_dump'), ['--format=custom', `--file=${file}`, database.url]);
      await run(join(folder, 'pg_restore'), ['--exit-on-error', `--dbname=${restored.url}`, file]);

      const again = await openLog(restored.url);
      expect(await again.logId()).toBe(logId);
      expect(await again.readAfter(0, 100)).toEqual(before);
      expect((await again.append([known]))[0]).toMatchObject({ outcome: 'duplicate', firstPos: 2 });
      expect((await again.append([command({ stream, expected: { decisionVersion: 1 } })]))[0]).toMatchObject({
        outcome: 'appended',
        firstPos: before.length + 1,
      });
      expect(await again.checkpoints.read('kept', 0)).toMatchObject({ pos: 2 });
      expect(await verifyLog(again)).toMatchObject({ ok: true, head: { pos: before.length + 1 } });
      await withClient(restored.url, async (client) => {
        await client.query('set session_replication_role = replica');
        await expect(client.query('truncate spillway.event')).rejects.toThrow(/insert-only/);
      });
      await again.close();
    } finally {
      await rm(place, { recursive: true });
      await restored.drop();
    }
  });
});
