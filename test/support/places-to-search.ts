import {
  directoryHaystacks,
  type Haystack,
  searchForSecrets,
  textHaystack,
} from '../conformance/redaction-search.ts';
import type { BusCaller } from './bus-caller.ts';
import { withClient } from './open-log.ts';
import type { System } from './running-apps.ts';

/** Everything that could hold a text in clear, and the search in it (fallback 7). */

/** A hit in a few words; the values are of the test's making. Texts of under six characters are passed over. */
export async function hitsIn(
  haystacks: readonly Haystack[],
  secrets: Iterable<string>,
): Promise<readonly string[]> {
  const hits = await searchForSecrets(haystacks, [...secrets]);
  return hits.map(({ haystack, secret, form, count }) => `${haystack}: ${form} ${secret} (${count})`);
}

/** Every row of every table, each with all its columns. */
export function everyTable({ databaseUrl }: Pick<System, 'databaseUrl'>): Promise<readonly Haystack[]> {
  return withClient(databaseUrl, async (client) => {
    const { rows: names } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
    );
    const dumped: Haystack[] = [];
    for (const { name } of names) {
      const { rows } = await client.query<{ text: string }>(
        `select to_jsonb(t)::text as text from ${name} t`,
      );
      dumped.push(
        textHaystack(
          name,
          rows.map(({ text }) => `${text}\n`),
        ),
      );
    }
    return dumped;
  });
}

/** The server's files but those of its other databases, with everything written out of its memory. */
export async function databaseFiles({
  databaseUrl,
  ownPostgres,
}: Pick<System, 'databaseUrl' | 'ownPostgres'>): Promise<readonly Haystack[]> {
  const oid = await withClient(databaseUrl, async (client) => {
    await client.query('checkpoint');
    const { rows } = await client.query<{ oid: string }>(
      'select oid::text from pg_database where datname = current_database()',
    );
    return rows[0]?.oid ?? '';
  });
  return directoryHaystacks(ownPostgres.folder).filter(
    ({ name }) => !name.includes('/base/') || name.includes(`/base/${oid}/`),
  );
}

/** What the bus still holds, as a consumer reads it: the store itself is encrypted. */
export async function busMessages(bus: BusCaller, prefix: string): Promise<readonly Haystack[]> {
  const found: Haystack[] = [];
  for (const subject of ['ev', 'in']) {
    for await (const name of bus.manager.streams.names(`${prefix}.${subject}.>`)) {
      const { state } = await bus.manager.streams.info(name);
      const texts: string[] = [];
      for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
        const message = await bus.manager.streams.getMessage(name, { seq });
        if (message === null) continue;
        const headers = [...message.header].map(([key, values]) => `${key}: ${values.join(',')}`);
        texts.push([message.subject, ...headers, message.string(), ''].join('\n'));
      }
      found.push(textHaystack(name, texts));
    }
  }
  return found;
}
