import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { MissingInfrastructure } from '../../tools/up/infra/chain.ts';
import { removeServerFolder } from '../../tools/up/infra/leftovers.ts';
import { startNats } from '../../tools/up/infra/nats.ts';
import { startPostgres } from '../../tools/up/infra/postgres.ts';
import type { NatsOptions, RunningNats } from '../../tools/up/infra/running-nats.ts';
import type { PostgresOptions, RunningPostgres } from '../../tools/up/infra/running-postgres.ts';
import type {} from './global-setup.ts';
import { serverFolder } from './server-folder.ts';

export interface TestDatabase {
  /** Superuser URL of this database. */
  readonly url: string;
  readonly name: string;
  /** Cuts what is still connected. */
  drop(): Promise<void>;
}

/**
 * A database of its own for the calling spec file, on the PostgreSQL that the test run shares. Its
 * `url` can be read from the first `beforeAll` after this call on.
 */
export function withPostgres(): { readonly url: string } {
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(async () => {
    await database?.drop();
  });
  return {
    get url() {
      if (database === undefined) throw new Error('The database exists only while tests and hooks run.');
      return database.url;
    },
  };
}

/** Another database on the shared PostgreSQL, or on the server given; `template` names one to copy. */
export async function createDatabase(
  options: { readonly server?: string; readonly template?: string } = {},
): Promise<TestDatabase> {
  const server = options.server ?? inject('infra').postgresUrl;
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(server, `CREATE DATABASE ${name} TEMPLATE ${options.template ?? 'template0'}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    drop: () => execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

export interface OwnServer {
  readonly folder: string;
  remove(): Promise<void>;
}

/** A server of one's own to crash or to look into: `folder` holds its files, `remove()` stops it and deletes them. */
export async function ownPostgres(
  options: Omit<PostgresOptions, 'dataDir' | 'url' | 'controllable'> = {},
): Promise<RunningPostgres & OwnServer> {
  const dataDir = serverFolder('postgres');
  const postgres = await startPostgres({ throwaway: true, ...options, dataDir, controllable: true });
  const remove = async () => {
    await postgres.stop();
    await removeServerFolder(dataDir);
  };
  return Object.assign(postgres, { folder: dataDir, remove });
}

/**
 * The NATS that the test run shares, and a prefix for the names of streams and subjects that no other
 * caller gets. Can be read from the first hook on; throws, with the command that helps, where there is none.
 */
export function withNats(): { readonly url: string; readonly prefix: string } {
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  return {
    prefix,
    get url() {
      const { nats } = inject('infra');
      if ('missing' in nats) throw new Error(nats.missing);
      return nats.url;
    },
  };
}

/** A NATS of one's own to kill, freeze or look into, in the same way. */
export async function ownNats(
  options: Omit<NatsOptions, 'storeDir' | 'url' | 'controllable'> = {},
): Promise<RunningNats & OwnServer> {
  const storeDir = serverFolder('nats');
  const nats = await startNats({ ...options, storeDir, controllable: true });
  if (nats.status === 'unavailable') throw new MissingInfrastructure(nats.reason, nats.fix);
  const remove = async () => {
    await nats.stop();
    await removeServerFolder(storeDir);
  };
  return Object.assign(nats, { folder: storeDir, remove });
}

async function execute(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
