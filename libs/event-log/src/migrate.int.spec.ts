import { afterEach, describe, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from '#support/infra';
import { openLog, withClient } from '#support/open-log';
import { assertUsable, LogUnusable } from './assert-usable.ts';
import { withRole } from './connect.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './migrations/migrations.ts';

const ALL_VERSIONS = MIGRATIONS.map(({ version }) => version);

describe('migrations', () => {
  const databases: TestDatabase[] = [];
  const database = async (): Promise<TestDatabase> => {
    const made = await createDatabase();
    databases.push(made);
    return made;
  };
  afterEach(async () => {
    await Promise.all(databases.splice(0).map((made) => made.drop()));
  });

  test('run once, however often they are called', async () => {
    const { url } = await database();
    expect(await migrate(url)).toEqual(ALL_VERSIONS);
    const log = await openLog(url);
    const logId = await log.logId();
    await log.close();
    expect(await migrate(url)).toEqual([]);
    const again = await openLog(url);
    expect(await again.logId()).toBe(logId);
    await again.close();
  });

  test('at once from several processes, in one database and in several of the cluster', async () => {
    const urls = [(await database()).url, (await database()).url, (await database()).url];
    const applied = await Promise.all([...urls, ...urls, ...urls].map((url) => migrate(url)));
    expect(applied.filter((versions) => versions.length > 0)).toEqual(urls.map(() => ALL_VERSIONS));
  });

  test('by a login that is no superuser, whose apps then assume a role', async () => {
    const { url, name } = await database();
    const login = `login_${name}`;
    await withClient(url, async (client) => {
      await migrate((await database()).url);
      await client.query(`create role ${login} login createrole password 'pw'`);
      await client.query(`grant create on database ${name} to ${login}`);
      await client.query(`grant spillway_owner, spillway_app to ${login}`);
    });
    const theirs = new URL(url);
    theirs.username = login;
    theirs.password = 'pw';
    try {
      expect(await migrate(theirs.href)).toEqual(ALL_VERSIONS);
      const log = await openLog(theirs.href);
      expect(await log.head()).toMatchObject({ pos: 0 });
      await log.close();
    } finally {
      await withClient(url, (client) =>
        client.query(`revoke create on database ${name} from ${login}; drop role ${login}`),
      );
    }
  });

  describe('the start-up check refuses, with the repair', () => {
    const refusal = async (url: string): Promise<string> =>
      withClient(url, async (client) => {
        try {
          await assertUsable(client);
          return 'usable';
        } catch (error) {
          if (error instanceof LogUnusable) return error.message;
          throw error;
        }
      });

    test('a database that was not migrated', async () => {
      expect(await refusal((await database()).url)).toMatch(/spillway admin migrate/);
    });

    test('one whose schema is older or newer than this build', async () => {
      const { url } = await database();
      await migrate(url);
      expect(await refusal(withRole(url, 'spillway_app'))).toBe('usable');
      await withClient(url, (client) =>
        client.query('insert into spillway.migration (version, name) values (999, $1)', ['later']),
      );
      expect(await refusal(url)).toMatch(/newer build/);
      await withClient(url, (client) =>
        client.query('delete from spillway.migration where version >= $1', [SCHEMA_VERSION]),
      );
      expect(await refusal(url)).toMatch(/spillway admin migrate/);
    });

    test('synchronous_commit = off, however it was set', async () => {
      const { url, name } = await database();
      await migrate(url);
      await withClient(url, (client) => client.query(`alter database ${name} set synchronous_commit = off`));
      expect(await refusal(url)).toMatch(/ALTER SYSTEM SET synchronous_commit = on/);
      await expect(openLog(url)).rejects.toBeInstanceOf(LogUnusable);
    });

    test('a login without the role', async () => {
      const { url } = await database();
      await migrate(url);
      expect(
        await withClient(url, async (client) => {
          await client.query('set role pg_monitor');
          return assertUsable(client).then(
            () => 'usable',
            (error: Error) => error.message,
          );
        }),
      ).toMatch(/GRANT spillway_app/);
    });
  });
});
