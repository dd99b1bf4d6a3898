import { removeServerFolder } from '../../tools/up/infra/leftovers.ts';
import { startNats } from '../../tools/up/infra/nats.ts';
import { startPostgres } from '../../tools/up/infra/postgres.ts';
import { serverFolder, sweepServerFolders } from './server-folder.ts';

/** What a test run shares; plain values, because they are handed to the processes of the specs. */
export interface SharedInfra {
  readonly postgresUrl: string;
  /** The URL, or the sentence that says why there is none. */
  readonly nats: { readonly url: string } | { readonly missing: string };
}

interface Lease {
  users: number;
  readonly started: Promise<{ readonly infra: SharedInfra; stop(): Promise<void> }>;
}

// Each vitest project loads its own copy of this module, in one process: only the process is common to all.
const holder: { [key: symbol]: Lease | undefined } = globalThis;
const KEY = Symbol.for('spillway.test.shared-infra');

/** Brings the servers up for the first user of this process; the same ones for all that follow. */
export async function acquireSharedInfra(): Promise<SharedInfra> {
  const lease = holder[KEY] ?? { users: 0, started: start() };
  holder[KEY] = lease;
  lease.users += 1;
  return (await lease.started).infra;
}

/** Stops the servers when their last user is done. */
export async function releaseSharedInfra(): Promise<void> {
  const lease = holder[KEY];
  if (lease === undefined) return;
  lease.users -= 1;
  if (lease.users > 0) return;
  holder[KEY] = undefined;
  await (await lease.started).stop();
}

async function start() {
  await sweepServerFolders();
  const [postgres, nats] = await Promise.all([startSharedPostgres(), startSharedNats()]);
  return {
    infra: { postgresUrl: postgres.url, nats: nats.found },
    stop: async () => {
      await Promise.all([postgres.stop(), nats.stop()]);
    },
  };
}

/** SPILLWAY_TEST_POSTGRES_URL: a superuser URL to use for the specs instead of starting a server. */
async function startSharedPostgres() {
  const url = process.env.SPILLWAY_TEST_POSTGRES_URL;
  const dataDir = serverFolder('postgres');
  const postgres = await startPostgres({ dataDir, throwaway: true, ...(url && { url }) });
  return {
    url: postgres.url,
    stop: async () => {
      await postgres.stop();
      await removeServerFolder(dataDir);
    },
  };
}

/** SPILLWAY_TEST_NATS_URL: a server to use for the specs instead of starting one. */
async function startSharedNats() {
  const url = process.env.SPILLWAY_TEST_NATS_URL;
  const storeDir = serverFolder('nats');
  const nats = await startNats({ storeDir, ...(url && { url }) });
  return {
    found: nats.status === 'running' ? { url: nats.url } : { missing: `${nats.reason}: ${nats.fix}.` },
    stop: async () => {
      if (nats.status === 'running') await nats.stop();
      await removeServerFolder(storeDir);
    },
  };
}
