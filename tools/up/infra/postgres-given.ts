import { answers } from './chain.ts';
import type { RunningPostgres } from './running-postgres.ts';

const ANSWER_BOUND_MS = 5_000;

/** Uses a PostgreSQL that runs already. One that does not answer is an error: no other takes its place. */
export async function givenPostgres(url: string): Promise<RunningPostgres> {
  if (!URL.canParse(url)) throw new Error('The URL given for PostgreSQL is not a URL.');
  const { hostname, port, username } = new URL(url);
  const host = hostname === '' ? '127.0.0.1' : hostname.replace(/^\[(.*)\]$/, '$1');
  const number = port === '' ? 5432 : Number(port);
  if (!(await answers(host, number, ANSWER_BOUND_MS))) {
    throw new Error(`The PostgreSQL given by URL does not answer at ${host}:${number}.`);
  }
  const refuse = async () => {
    throw new Error('A PostgreSQL given by URL is not ours to control.');
  };
  return {
    url,
    host,
    port: number,
    superuser: decodeURIComponent(username),
    source: 'given',
    pid: () => undefined,
    stop: async () => {},
    kill: refuse,
    restart: refuse,
    pause: refuse,
    resume: refuse,
  };
}
