import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { standInLanes } from '../../test/cloud/stand-in-lanes.ts';
import { type RunningCloud, startCloud } from '../../test/cloud/start-cloud.ts';
import type { App } from './app-process.ts';
import { type RunningApps, startApps } from './apps.ts';
import { prepareDatabase } from './database.ts';
import { givenLanes, givenVariables } from './given-variables.ts';
import { freePort } from './infra/chain.ts';
import { startNats } from './infra/nats.ts';
import { startPostgres } from './infra/postgres.ts';
import type { RunningNats } from './infra/running-nats.ts';
import type { RunningPostgres } from './infra/running-postgres.ts';
import { removeInstance, writeInstance } from './instance.ts';
import { keyFiles } from './keys.ts';
import { SignerProcess } from './signer-process.ts';

export interface StackOptions {
  /** Everything that outlives the process goes below it. */
  readonly folder: string;
  /** Port of the origin; a free one unless given. */
  readonly port?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The environment of whoever starts it: lanes, limits and receivers are taken from there. Absent = from nowhere. */
  readonly given?: Readonly<Record<string, string | undefined>>;
  /** How many provisioners start with the rest; one unless given. */
  readonly provisioners?: number;
  readonly log: (line: string) => void;
  readonly onUnexpectedExit?: (app: App, how: string) => void;
  /** Told when nothing is signed any more; the apps go on. */
  readonly onSignerExit?: (how: string) => void;
}

export interface Stack {
  readonly apps: RunningApps;
  readonly postgres: RunningPostgres;
  /** Null where NATS cannot be had: Spillway then runs on the log alone, without messages in and out. */
  readonly nats: RunningNats | null;
  readonly adminUrl: string;
  /** The cloud that plays all lanes where none are configured; null = real ones are. */
  readonly cloud: RunningCloud | null;
  /** Signed checkpoints of the log, one a line: what a verifier keeps elsewhere. */
  readonly checkpointsFile: string;
  /** Stops everything in order; true when every app ended cleanly. */
  stop(): Promise<boolean>;
}

const DEPLOYMENT = 'local';

/** How long a machine of the stand-in takes to start: long enough to be watched. */
const STAND_IN_DELAY_S = 2;

/** The lanes that the environment configures, else a cloud that plays them and bills nobody (design 8). */
async function lanesOf(
  { given = {}, log }: StackOptions,
  stops: (() => Promise<unknown>)[],
): Promise<{ readonly config: string; readonly cloud: RunningCloud | null }> {
  const configured = givenLanes(given);
  if (configured !== undefined) return { config: configured, cloud: null };
  const cloud = await startCloud({ delayS: STAND_IN_DELAY_S });
  stops.push(() => cloud.close());
  log(
    `No lanes are configured (SPILLWAY_LANES): a stand-in cloud at ${cloud.url} plays them. Nothing is bought.`,
  );
  return { config: standInLanes(cloud.url), cloud };
}

function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(true))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(false)));
  });
}

/** Brings up Postgres, NATS, all apps and the origin by the first way that works (design 10). */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { folder, log } = options;
  const variables = givenVariables(options.given ?? {});
  const deployment = variables.SPILLWAY_DEPLOYMENT ?? DEPLOYMENT;
  const port = options.port ?? (await freePort());
  // Asked before anything is started: a port that is taken is the commonest reason not to start.
  if (await isTaken(port))
    throw new Error(`port ${port} is in use by another program; set SPILLWAY_PORT to another one`);
  mkdirSync(folder, { recursive: true });
  // Which sources were passed over is said when none is left; here it would only sound like a fault.
  const infraLog = (line: string) => {
    if (!/^(PostgreSQL|NATS) by /.test(line)) log(line);
  };
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), log: infraLog });
  const stops: (() => Promise<unknown>)[] = [() => postgres.stop()];
  const stopInfra = async () => {
    for (const stop of stops.reverse()) await stop();
  };
  try {
    log(`PostgreSQL is up (${postgres.source}, port ${postgres.port}).`);
    const database = await prepareDatabase(postgres.url);
    const started = await startNats({ storeDir: join(folder, 'nats'), log: infraLog });
    const nats = started.status === 'running' ? started : null;
    if (nats === null) {
      const { reason, fix } = started.status === 'unavailable' ? started : { reason: '', fix: '' };
      log(
        `NATS cannot be had (${reason}): Spillway runs on its log alone and takes calls by HTTP only. To change that: ${fix}`,
      );
    } else {
      stops.push(() => nats.stop());
      log(`NATS is up (${nats.source}, port ${nats.port}).`);
    }
    const lanes = await lanesOf(options, stops);
    const apps = await startApps({
      folder,
      lanes: lanes.config,
      databaseUrl: database.appUrl,
      auditDatabaseUrl: database.auditUrl,
      ...(nats === null ? {} : { natsUrl: nats.url }),
      port,
      env: {
        SPILLWAY_DEPLOYMENT: deployment,
        SPILLWAY_PUBLIC_URL: `http://127.0.0.1:${port}`,
        ...variables,
        ...options.env,
      },
      ...(options.provisioners === undefined ? {} : { provisioners: options.provisioners }),
      ...(options.onUnexpectedExit === undefined ? {} : { onUnexpectedExit: options.onUnexpectedExit }),
    });
    const keys = keyFiles(join(folder, 'keys'));
    const checkpointsFile = join(folder, 'checkpoints.jsonl');
    const signer = new SignerProcess({
      databaseUrl: database.auditUrl,
      checkpointKeysFile: keys.checkpointKeys,
      checkpointsFile,
      deployment,
      ...(nats === null ? {} : { natsUrl: nats.url }),
      ...(variables.SPILLWAY_BUS_PREFIX === undefined ? {} : { busPrefix: variables.SPILLWAY_BUS_PREFIX }),
      logFile: join(apps.logFolder, 'checkpoint.log'),
      onUnexpectedExit: options.onSignerExit ?? (() => {}),
    });
    writeInstance(folder, {
      url: apps.url,
      databaseUrl: database.adminUrl,
      natsUrl: nats?.url ?? null,
      keyRingFile: keys.keyRing,
      wrapKeysFile: keys.wrapKeys,
      checkpointKeysFile: keys.checkpointKeys,
      checkpointsFile,
      deployment,
      pid: process.pid,
    });
    return {
      apps,
      postgres,
      nats,
      adminUrl: database.adminUrl,
      cloud: lanes.cloud,
      checkpointsFile,
      stop: async () => {
        const [ends] = await Promise.all([apps.stop(), signer.stop()]);
        await stopInfra();
        removeInstance(folder);
        return ends.every((how) => how === 'code 0');
      },
    };
  } catch (error) {
    await stopInfra();
    throw error;
  }
}
