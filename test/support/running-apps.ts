import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { z } from 'zod';
import { type KeyRing, keyRing } from '#domain/key-ring';
import type { PromptRules } from '#domain/prompt/prompt';
import { migrate } from '#event-log/migrate';
import type { PostgresLog } from '#event-log/postgres-log';
import { verifyLog } from '#event-log/verify';
import { loadConfig } from '#platform/load-config';
import { Sealer } from '#platform/sealer';
import { keyVariables, ruleVariables } from '#platform/variables';
import { type RunningApps, startApps } from '#tools/up/apps';
import { replay } from '../../apps/audit/src/replay.ts';
import { replayCompare } from '../../apps/audit/src/replay-compare.ts';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import type { RunningNats } from '../../tools/up/infra/running-nats.ts';
import type { RunningPostgres } from '../../tools/up/infra/running-postgres.ts';
import { type StandInTiming, standInLanes } from '../cloud/stand-in-lanes.ts';
import { type RunningCloud, startCloud } from '../cloud/start-cloud.ts';
import { removeStreams } from './bus-caller.ts';
import { type Calls, callsTo } from './calls.ts';
import { createDatabase, type OwnServer, ownNats, ownPostgres, withNats } from './infra.ts';
import { ledgerFaults } from './ledger-proof.ts';
import { decidedOnce, denseLog } from './log-proof.ts';
import { openLog } from './open-log.ts';
import { oracleFaults, wholeLog } from './oracle.ts';
import { terminalFaults } from './terminal-proof.ts';

export interface SystemOptions {
  /** `shared`: that of the run, under a prefix of its own; `own`: one to freeze or to look into; absent: the log alone. */
  readonly nats?: 'shared' | 'own';
  /** `own`: a server to stop or to look into. */
  readonly postgres?: 'own';
  /** A stand-in cloud of its own plays all lanes; so many provisioners start with the apps. */
  readonly provisioners?: number;
  /** The reading server of the audit starts too. */
  readonly audit?: boolean;
  /** Deadlines and grace of its lanes; short ones unless given. */
  readonly laneTiming?: StandInTiming;
  /** Variables for all apps. */
  readonly env?: Readonly<Record<string, string>>;
}

/** All apps over a database of their own, with what a test needs to look behind them. */
export interface System {
  readonly apps: RunningApps;
  /** By the one origin. */
  readonly calls: Calls;
  /** Superuser URL of the database. */
  readonly databaseUrl: string;
  /** Keys and logs of the apps are below it. */
  readonly folder: string;
  readonly nats: { readonly url: string; readonly prefix: string };
  readonly ownNats: RunningNats & OwnServer;
  readonly ownPostgres: RunningPostgres & OwnServer;
  /** The log, as an auditor may read it. */
  readonly log: PostgresLog;
  readonly ring: KeyRing;
  readonly sealer: Sealer;
  readonly rules: PromptRules;
  /** The stand-in cloud, if the system has one. */
  readonly cloud: RunningCloud;
}

/** The stand-in lists at once: a longer grace would only be waited for. */
const LANE_TIMING: StandInTiming = { listingGraceMs: 2_000, createDeadlineMs: 5_000, readDeadlineMs: 5_000 };

const DECIDED_BOUND_MS = 30_000;

/**
 * The product under test, for the tests of the calling file or `describe`. At the end everything that was
 * recorded is proven by the oracle, and every app must end with code 0: no test passes over a wrong decision.
 */
export function withApps(options: SystemOptions = {}): System {
  let started: StartedSystem | undefined;
  beforeAll(async () => {
    started = await startSystem(options);
  });
  afterAll(async () => {
    await started?.proveAndStop();
  });
  const running = (): System => {
    if (started === undefined) throw new Error('The apps run only while tests and hooks run.');
    return started;
  };
  const calls = callsTo(() => running().apps.url);
  return {
    calls,
    get apps() {
      return running().apps;
    },
    get databaseUrl() {
      return running().databaseUrl;
    },
    get folder() {
      return running().folder;
    },
    get nats() {
      return running().nats;
    },
    get ownNats() {
      return running().ownNats;
    },
    get ownPostgres() {
      return running().ownPostgres;
    },
    get log() {
      return running().log;
    },
    get ring() {
      return running().ring;
    },
    get sealer() {
      return running().sealer;
    },
    get rules() {
      return running().rules;
    },
    get cloud() {
      return running().cloud;
    },
  };
}

export interface StartedSystem extends System {
  /** Proves what was recorded, then stops everything and removes its files, whatever the proof says. */
  proveAndStop(): Promise<void>;
}

/** One sentence for everything in the log that the rules do not give; the apps may still be deciding. */
export async function faultsOf({ log, sealer, rules }: Pick<System, 'log' | 'sealer' | 'rules'>) {
  const rows = [];
  for await (const row of wholeLog(log)) rows.push(row);
  const verified = await verifyLog(log);
  const { differences } = await replayCompare(log, { rules, unsealer: sealer });
  return [
    ...denseLog(rows),
    ...decidedOnce(rows),
    ...terminalFaults(rows),
    ...(verified.ok ? [] : [`the log breaks at ${verified.pos}: ${verified.kind}`]),
    ...(await oracleFaults(log, sealer, rules)),
    ...differences.map(({ pos, today }) => `the auditor's comparison gives ${today.decided} at ${pos}`),
  ];
}

async function startSystem(options: SystemOptions): Promise<StartedSystem> {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-flow-'));
  const ends: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const endAll = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const [postgres, nats] = await Promise.all([postgresOf(options, ends), natsOf(options, ends)]);
    const database = await createDatabase({ server: postgres.url });
    ends.push(() => database.drop());
    await migrate(database.url);

    const cloud = options.provisioners === undefined ? null : await startCloud();
    if (cloud !== null) ends.push(() => cloud.close());
    const unexpected: string[] = [];
    const env = { SPILLWAY_DEPLOYMENT: 'test', ...options.env };
    const apps = await startApps({
      folder,
      databaseUrl: database.url,
      audit: options.audit ?? false,
      ...(nats === null ? {} : { natsUrl: nats.url, busPrefix: nats.prefix }),
      env,
      ...(cloud === null
        ? {}
        : {
            lanes: standInLanes(cloud.url, options.laneTiming ?? LANE_TIMING),
            provisioners: options.provisioners ?? 1,
          }),
      onUnexpectedExit: (app, how) => unexpected.push(`${app}: ${how}`),
    });
    const stops = { done: false };
    const stop = async () => {
      if (stops.done) return [];
      stops.done = true;
      return apps.stop();
    };
    ends.push(stop);
    const log = await openLog(database.url, { role: 'spillway_audit', applicationName: 'proof' });
    ends.push(() => log.close());

    const { ring, sealer } = keysOf(folder, log);
    const system = { log, sealer, rules: rulesOf(env) };
    return {
      ...system,
      ring,
      apps,
      folder,
      calls: callsTo(() => apps.url),
      databaseUrl: database.url,
      get cloud() {
        return cloud ?? absent('a stand-in cloud');
      },
      get nats() {
        return nats ?? absent('NATS');
      },
      get ownNats() {
        return nats?.own ?? absent('NATS of its own');
      },
      get ownPostgres() {
        return postgres.own ?? absent('PostgreSQL of its own');
      },
      proveAndStop: async () => {
        try {
          await allDecided(log);
          expect(await faultsOf(system)).toEqual([]);
          if (cloud !== null) {
            expect(ledgerFaults(await cloud.client.ledger(), env.SPILLWAY_DEPLOYMENT)).toEqual([]);
            expect(await replay(log)).toMatchObject({ ok: true, differences: [] });
          }
          expect(new Set(await stop())).toEqual(new Set(['code 0']));
          expect(unexpected).toEqual([]);
        } catch (error) {
          process.stderr.write(`What the apps wrote last:\n${lastLinesOf(join(folder, 'logs'))}\n`);
          throw error;
        } finally {
          await endAll();
        }
      },
    };
  } catch (error) {
    const lastWords = lastLinesOf(join(folder, 'logs'));
    await endAll();
    throw new Error(`The apps did not start:\n${lastWords}`, { cause: error });
  }
}

const LAST_CHARACTERS = 2_000;

/** What the apps wrote last: their folder goes with them. */
function lastLinesOf(logFolder: string): string {
  if (!existsSync(logFolder)) return '';
  const files = readdirSync(logFolder).map((name) => ({
    name,
    text: readFileSync(join(logFolder, name), 'utf8'),
  }));
  return files.map(({ name, text }) => `${name}: ${text.slice(-LAST_CHARACTERS)}`).join('\n');
}

/** What the classifier has not come to yet is no fault. In vain: the proof names what is undecided. */
async function allDecided(log: PostgresLog): Promise<void> {
  await waitUntil('every attempt is decided', DECIDED_BOUND_MS, async () => {
    const rows = [];
    for await (const row of wholeLog(log)) rows.push(row);
    return decidedOnce(rows).length === 0;
  }).catch(() => undefined);
}

async function postgresOf({ postgres }: SystemOptions, ends: (() => Promise<unknown>)[]) {
  if (postgres === undefined) return { url: inject('infra').postgresUrl, own: null };
  const own = await ownPostgres();
  ends.push(() => own.remove());
  return { url: own.url, own };
}

async function natsOf({ nats }: SystemOptions, ends: (() => Promise<unknown>)[]) {
  if (nats === undefined) return null;
  if (nats === 'shared') {
    const { url, prefix } = withNats();
    ends.push(() => removeStreams({ url, prefix }));
    return { url, prefix, own: null };
  }
  const own = await ownNats();
  ends.push(() => own.remove());
  return { url: own.url, prefix: 'spillway', own };
}

/** The ring and the sealer of the apps that were started in a folder. */
export function keysOf(
  folder: string,
  log: PostgresLog,
): { readonly ring: KeyRing; readonly sealer: Sealer } {
  const { SPILLWAY_KEY_RING, SPILLWAY_WRAP_KEYS } = loadConfig(z.object(keyVariables), {
    SPILLWAY_KEY_RING_FILE: join(folder, 'keys', 'key-ring'),
    SPILLWAY_WRAP_KEYS_FILE: join(folder, 'keys', 'wrap-keys'),
  });
  return {
    ring: keyRing(SPILLWAY_KEY_RING.reveal()),
    sealer: new Sealer({ store: log.sealed, wrapKeys: SPILLWAY_WRAP_KEYS.reveal() }),
  };
}

/** The rules by which apps with these variables decide. */
export function rulesOf(env: Readonly<Record<string, string>>): PromptRules {
  const config = loadConfig(z.object(ruleVariables), env);
  return {
    threshold: config.SPILLWAY_PROMPT_THRESHOLD,
    questionsPerDay: config.SPILLWAY_PROMPT_BUDGET,
    tokenLifeS: config.SPILLWAY_TOKEN_LIFE_S,
  };
}

function absent(what: string): never {
  throw new Error(`The apps were started without a ${what}.`);
}
