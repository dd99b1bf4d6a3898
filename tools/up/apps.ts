import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type App, AppProcess } from './app-process.ts';
import { freePort } from './infra/chain.ts';
import { keyFiles } from './keys.ts';
import { startOrigin } from './origin.ts';

export interface AppsOptions {
  /** Keys and logs go below it. */
  readonly folder: string;
  readonly databaseUrl: string;
  /** For the audit; the other one unless given. */
  readonly auditDatabaseUrl?: string;
  /** False = its process is not started, and its paths answer 503. */
  readonly audit?: boolean;
  /** Absent = on the log alone. */
  readonly natsUrl?: string;
  readonly busPrefix?: string;
  /** Port of the origin; a free one unless given. */
  readonly port?: number;
  /** `SPILLWAY_LANES` for all apps. Absent = no provisioner: launches are taken and wait. */
  readonly lanes?: string;
  /** How many provisioners start with the rest; one unless given. */
  readonly provisioners?: number;
  /** More variables for all apps. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onUnexpectedExit?: (app: App, how: string) => void;
}

export interface RunningApps {
  /** One origin for users. */
  readonly url: string;
  readonly processes: Readonly<Record<'ingest' | 'classifier' | 'consent' | 'audit', AppProcess>>;
  /** Those of `processes` that were started: `audit` only where it is wanted. */
  readonly started: readonly AppProcess[];
  /** One per start of it; none without lanes. */
  readonly provisioners: readonly AppProcess[];
  readonly logFolder: string;
  /** Another ingest beside the first, on a port of its own, not behind the origin. */
  startIngest(): Promise<AppProcess>;
  /** Another provisioner beside those that run, with variables of its own. */
  startProvisioner(env?: Readonly<Record<string, string>>): Promise<AppProcess>;
  /** A provisioner that will kill itself at a point, and so is none of those that must end cleanly. */
  startDoomed(killAt: string, signal?: 'SIGKILL' | 'SIGSTOP'): Promise<AppProcess>;
  /** Stops everything; the ways in which the apps ended, all "code 0" when clean. */
  stop(): Promise<readonly string[]>;
}

const API = '/api/agent/gpu-allocation';
/** Asked of each app by its own port: the origin would give the answer of one for all. */
const FOR_OPERATORS = ['/health', '/metrics'];

/** Starts all apps and one origin before them. The database must be migrated. */
export async function startApps(options: AppsOptions): Promise<RunningApps> {
  const logFolder = join(options.folder, 'logs');
  mkdirSync(logFolder, { recursive: true });
  const keys = keyFiles(join(options.folder, 'keys'));
  const env = {
    PATH: process.env.PATH ?? '',
    SPILLWAY_DATABASE_URL: options.databaseUrl,
    SPILLWAY_KEY_RING_FILE: keys.keyRing,
    SPILLWAY_WRAP_KEYS_FILE: keys.wrapKeys,
    ...(options.natsUrl === undefined ? {} : { SPILLWAY_NATS_URL: options.natsUrl }),
    ...(options.busPrefix === undefined ? {} : { SPILLWAY_BUS_PREFIX: options.busPrefix }),
    ...(options.lanes === undefined ? {} : { SPILLWAY_LANES: options.lanes }),
    ...options.env,
  };
  const more: AppProcess[] = [];
  const provisioners: AppProcess[] = [];
  const make = async (app: App, name: string = app, moreEnv: Readonly<Record<string, string>> = {}) =>
    new AppProcess({
      app,
      port: await freePort(),
      env: { ...env, ...moreEnv },
      logFile: join(logFolder, `${name}.log`),
      ...(options.onUnexpectedExit === undefined ? {} : { onUnexpectedExit: options.onUnexpectedExit }),
    });
  const processes = {
    ingest: await make('ingest'),
    classifier: await make('classifier'),
    consent: await make('consent'),
    audit: await make('audit', 'audit', {
      SPILLWAY_DATABASE_URL: options.auditDatabaseUrl ?? options.databaseUrl,
    }),
  };
  const doomed: AppProcess[] = [];
  const { audit, ...others } = processes;
  const first = options.audit === false ? Object.values(others) : [...Object.values(others), audit];
  const all = () => [...first, ...more, ...provisioners];
  const startProvisioner = async (moreEnv: Readonly<Record<string, string>> = {}) => {
    const count = provisioners.length + 1;
    const provisioner = await make('provisioner', count === 1 ? 'provisioner' : `provisioner-${count}`, {
      SPILLWAY_INGEST_URL: processes.ingest.url,
      ...moreEnv,
    });
    provisioners.push(provisioner);
    await provisioner.start();
    return provisioner;
  };
  let origin: FastifyInstance | null = null;
  const startDoomed = async (killAt: string, signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL') => {
    const process = await make('provisioner', `provisioner-until-${killAt}-${doomed.length + 1}`, {
      SPILLWAY_INGEST_URL: processes.ingest.url,
      SPILLWAY_KILL_AT: killAt,
      SPILLWAY_KILL_SIGNAL: signal,
    });
    doomed.push(process);
    await process.start();
    return process;
  };
  const stop = async () => {
    await origin?.close();
    await Promise.all(doomed.map((app) => app.kill()));
    return Promise.all(all().map((app) => app.stop()));
  };
  try {
    await Promise.all(first.map((app) => app.start()));
    const count = options.lanes === undefined ? 0 : (options.provisioners ?? 1);
    for (let started = 0; started < count; started += 1) await startProvisioner();
    const port = options.port ?? (await freePort());
    origin = await startOrigin(port, [
      { prefix: `${API}/consent`, upstream: processes.consent.url },
      { prefix: '/api/me', upstream: processes.consent.url },
      { prefix: '/api/prompts', upstream: processes.consent.url },
      { prefix: '/api/parked', upstream: processes.consent.url },
      { prefix: '/api/audit', upstream: processes.audit.url },
      { prefix: '/api', upstream: processes.ingest.url },
      { prefix: '/', upstream: processes.consent.url, except: FOR_OPERATORS },
    ]);
    return {
      url: `http://127.0.0.1:${port}`,
      processes,
      started: first,
      provisioners,
      startProvisioner,
      startDoomed,
      logFolder,
      startIngest: async () => {
        const another = await make('ingest', `ingest-${more.length + 2}`);
        more.push(another);
        await another.start();
        return another;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
