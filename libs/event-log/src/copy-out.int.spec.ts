import type { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { withPostgres } from '#support/infra';
import { withClient } from '#support/open-log';
import { copyOut } from './copy-out.ts';

const ROWS = 20_000;
/** After the number of fields and the length of the first one. */
const FIRST_FIELD = 6;

describe('rows copied out', () => {
  const database = withPostgres();
  const using = <Result>(use: (client: Client) => Promise<Result>) => withClient(database.url, use);

  test('arrive whole and in order, in more than one page, however slowly they are taken', async () => {
    const rows = `select n, repeat('x', 500) from generate_series(1, ${ROWS}) as n`;
    await using(async (client) => {
      const taken: number[] = [];
      let pages = 0;
      for await (const page of copyOut(client, binary(rows), (bytes, at) =>
        bytes.readInt32BE(at + FIRST_FIELD),
      )) {
        taken.push(...page);
        pages += 1;
        // Something else is asked in between, as the verifier does: the next page waits for it.
        await withClient(database.url, (other) => other.query('select 1'));
      }
      expect(pages).toBeGreaterThan(1);
      expect(taken).toEqual(Array.from({ length: ROWS }, (_, index) => index + 1));
      await expectUsable(client);
    });
  });

  test('are none where there are none', async () => {
    await using(async (client) => {
      expect(await first(client, 'select 1 where false', () => 1)).toBeNull();
      await expectUsable(client);
    });
  });

  test("end with the server's fault, after which the connection is usable", async () => {
    await using(async (client) => {
      const rows = `select 1 / (n - ${ROWS}) from generate_series(1, ${ROWS}) as n`;
      await expect(all(client, rows, () => 1)).rejects.toThrow('division by zero');
      await expectUsable(client);
    });
  });

  test('end with the fault of the one who reads them', async () => {
    await using(async (client) => {
      const refuse = () => {
        throw new RangeError('not this one');
      };
      await expect(first(client, 'select 1', refuse)).rejects.toThrow('not this one');
    });
  });

  async function all(client: Client, rows: string, read: () => number): Promise<number> {
    let taken = 0;
    for await (const page of copyOut(client, binary(rows), read)) taken += page.length;
    return taken;
  }

  async function first(client: Client, rows: string, read: () => number) {
    for await (const page of copyOut(client, binary(rows), read)) return page;
    return null;
  }
});

const binary = (rows: string) => `copy (${rows}) to stdout (format binary)`;

async function expectUsable(client: Client): Promise<void> {
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
}
