import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { PostgresLog } from '#event-log/postgres-log';
import { verifyLog } from '#event-log/verify';
import type { RecordedEvent } from '#events/envelope';
import { readTail } from '#messaging/bus-tail';
import { ATTEMPT_BODY } from '#support/attempt-bodies';
import { type Load, type LoadReport, startLoad } from '#support/load';
import { answeredOnce, decidedOnce, denseLog } from '#support/log-proof';
import { openLog } from '#support/open-log';
import { oracleFaults } from '#support/oracle';
import { keysOf, rulesOf } from '#support/running-apps';
import { serverFolder } from '#support/server-folder';
import { TcpProxy } from '#support/tcp-proxy';
import { type RunningApps, startApps } from '#tools/up/apps';
import { prepareDatabase } from '#tools/up/database';
import { replay } from '../../apps/audit/src/replay.ts';
import { copyFolder } from '../../tools/up/infra/cache.ts';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { removeServerFolder } from '../../tools/up/infra/leftovers.ts';
import { startPostgres } from '../../tools/up/infra/postgres.ts';
import { existingPlace } from '../../tools/up/infra/postgres-cluster.ts';
import type { RunningPostgres } from '../../tools/up/infra/running-postgres.ts';
import { OwnNats, withManager } from '../integration/bus-kit.ts';

/** How long the load of one fault lasts, in seconds: short in CI, 30 by hand. */
export const CRASH_SECONDS = Number(process.env.SPILLWAY_CRASH_SECONDS ?? 8);
const RATE_PER_SECOND = Number(process.env.SPILLWAY_CRASH_RATE ?? 200);
export const EVENT_STREAM = 'SPILLWAY_EV_crash';
const PARTITIONS = 4;
const ALLOCATIONS = 150;
/** A restart, the lease of a dead holder, and the draining of what waited. */
const SETTLED_BOUND_MS = 60_000;
const LOOK_EVERY_MS = 200;
/** Attempts answered before the fault. */
const UNDER_WAY = 50;

interface Parts {
  readonly apps: RunningApps;
  readonly postgres: RunningPostgres;
  readonly nats: OwnNats;
  /** Between the apps and PostgreSQL, where it was asked for. */
  readonly proxy: TcpProxy | null;
  /** As an auditor reads it, beside the proxy. */
  readonly log: PostgresLog;
  /** Ways in which apps ended that nobody asked to end. */
  readonly unexpected: string[];
  readonly dataDir: string;
  /** What the rules, run again over the inputs, would have decided otherwise. */
  readonly oracle: () => Promise<readonly string[]>;
}

/** The product over a PostgreSQL and a NATS of its own, to be treated badly, and the proof that nothing was lost. */
export class CrashStack {
  /** All loads so far, as one. */
  #sent: LoadReport = { sent: 0, answered: [], unanswered: [] };
  #loads = 0;
  #rows: RecordedEvent[] = [];

  private constructor(
    private readonly parts: Parts,
    private readonly ends: readonly (() => Promise<unknown>)[],
  ) {}

  /** `proxied`: with a proxy before PostgreSQL. It runs in this process and costs time, so it is not there unasked. */
  static async start({ proxied = false } = {}): Promise<CrashStack> {
    const ends: (() => Promise<unknown>)[] = [];
    try {
      return new CrashStack(await startParts(ends, proxied), ends);
    } catch (error) {
      await endAll(ends);
      throw error;
    }
  }

  get apps() {
    return this.parts.apps;
  }

  get postgres() {
    return this.parts.postgres;
  }

  get nats() {
    return this.parts.nats;
  }

  get proxy(): TcpProxy {
    const { proxy } = this.parts;
    if (proxy === null) throw new Error('the stack was started without a proxy');
    return proxy;
  }

  get log() {
    return this.parts.log;
  }

  get unexpected(): readonly string[] {
    return this.parts.unexpected;
  }

  /** Attempts at a fixed rate, a few to each of many allocations that no other load reports. */
  load(seconds = CRASH_SECONDS, tries = 100): Load {
    this.#loads += 1;
    const name = `load-${this.#loads}`;
    const { logical_allocation: _name, ...rest } = ATTEMPT_BODY;
    return startLoad({
      baseUrls: [this.apps.url],
      ratePerSecond: RATE_PER_SECOND,
      seconds,
      // Gently: all that waits comes again at once after a fault, through this very process. A 202 is not
      // followed but sent again, which has to be a repeat.
      tries,
      pauseBetweenTriesMs: 1_000,
      followDeadlineMs: 0,
      attemptOf: (index) => ({
        attemptId: `${name}-${index}`,
        allocation: `team/${name}-${index % ALLOCATIONS}`,
        rest,
      }),
    });
  }

  /** Runs the fault while the load is under way, and waits for the load's end. */
  async underLoad(fault: (load: Load) => Promise<void>, seconds = CRASH_SECONDS): Promise<LoadReport> {
    const load = this.load(seconds);
    await waitUntil('the load is under way', SETTLED_BOUND_MS, () => load.answered() > UNDER_WAY);
    await fault(load);
    const report = await load.report;
    this.#sent = {
      sent: this.#sent.sent + report.sent,
      answered: [...this.#sent.answered, ...report.answered],
      unanswered: [...this.#sent.unanswered, ...report.unanswered],
    };
    return report;
  }

  /** What an older backup has forgotten was nevertheless answered: it is no longer asked for. */
  forgetLoads(): void {
    this.#rows = [];
    this.#sent = { sent: 0, answered: [], unanswered: [] };
  }

  /** Every promise that must hold after any fault (`whole` = nothing was restored to an older state). */
  async prove(whole = true): Promise<void> {
    await this.settled();
    const rows = await this.rows();
    expect(this.#sent.unanswered).toEqual([]);
    expect(denseLog(rows)).toEqual([]);
    expect(decidedOnce(rows)).toEqual([]);
    const faults = answeredOnce(this.#sent, rows);
    expect(whole ? faults : faults.filter((fault) => !fault.startsWith('the log holds'))).toEqual([]);
    expect(await verifyLog(this.log)).toMatchObject({ ok: true, head: { pos: rows.length } });
    expect(await replay(this.log)).toMatchObject({ ok: true, differences: [] });
  }

  /** Every attempt is decided and every partition of every consumer is at its end. */
  async settled(): Promise<void> {
    let open: readonly string[] = [];
    const look = async () => {
      const rows = await this.rows();
      open = [...decidedOnce(rows).slice(0, 3), ...(await this.#behind(rows))];
      return open.length === 0;
    };
    await waitUntil('all is settled', SETTLED_BOUND_MS, look, LOOK_EVERY_MS).catch((error: unknown) => {
      throw new Error(`not settled: ${open.join('; ')}`, { cause: error });
    });
  }

  async #behind(rows: readonly RecordedEvent[]): Promise<readonly string[]> {
    return (await this.log.checkpoints.all()).flatMap(({ consumer, partition, pos }) => {
      const end = rows.findLast(({ slot }) => slot % PARTITIONS === partition)?.pos ?? 0;
      return pos >= end ? [] : [`${consumer}/${partition} is at ${pos} of ${end}`];
    });
  }

  /** The bus ends where the log ends. */
  async relayed(boundMs = 30_000): Promise<void> {
    let busPos = -1;
    const look = async () => {
      const head = await this.log.head();
      busPos = await withManager(this.nats.port, async (manager) => {
        const tail = await readTail(manager, EVENT_STREAM);
        return tail.kind === 'at' ? tail.id.pos : -1;
      }).catch(() => -1);
      return busPos === head.pos;
    };
    await waitUntil('the bus holds the newest row', boundMs, look, LOOK_EVERY_MS).catch(
      async (error: unknown) => {
        throw new Error(`the bus ends at ${busPos}, the log at ${(await this.log.head()).pos}`, {
          cause: error,
        });
      },
    );
  }

  /** The whole log. Rows do not change: only new ones are read. */
  async rows(): Promise<readonly RecordedEvent[]> {
    for (;;) {
      const more = await this.log.readAfter(this.#rows.length, 1_000);
      if (more.length === 0) return this.#rows;
      this.#rows.push(...more);
    }
  }

  async ready(app: keyof RunningApps['processes'], boundMs = 30_000): Promise<void> {
    await waitUntil(`${app} is ready`, boundMs, () => this.apps.processes[app].isReady(), LOOK_EVERY_MS);
  }

  /** What an app has written, to look for what it must tell. */
  logOf(app: string): Promise<string> {
    return readFile(join(this.apps.logFolder, `${app}.log`), 'utf8');
  }

  /** Kills all of PostgreSQL, as a lost machine would, and starts it again. */
  async crashPostgres(): Promise<void> {
    await this.postgres.kill();
    await this.restartPostgres();
  }

  /** A killed postmaster may stand in its lock file until its parent has noticed. */
  async restartPostgres(): Promise<void> {
    let last: unknown;
    const start = () =>
      this.postgres.restart().then(
        () => true,
        (error: unknown) => {
          last = error;
          return false;
        },
      );
    await waitUntil('PostgreSQL is up again', SETTLED_BOUND_MS, start, LOOK_EVERY_MS).catch(() => {
      throw last;
    });
  }

  /** A copy of the data of the stopped PostgreSQL, and putting it back. */
  copyData(): Promise<void> {
    return copyFolder(this.#data, `${this.#data}-copy`);
  }

  async restoreData(): Promise<void> {
    await rm(this.#data, { recursive: true, force: true });
    await rename(`${this.#data}-copy`, this.#data);
  }

  get #data(): string {
    return existingPlace(this.parts.dataDir).cluster;
  }

  /** All apps end by SIGTERM with code 0, whatever happens just before, and none ended before on its own. */
  async proveCleanEnd(before: () => Promise<void> = async () => {}): Promise<void> {
    expect(await this.parts.oracle()).toEqual([]);
    await before();
    expect(await this.apps.stop()).toEqual(this.apps.started.map(() => 'code 0'));
    expect(this.unexpected).toEqual([]);
  }

  async remove(): Promise<void> {
    await this.apps.stop();
    await endAll(this.ends);
  }
}

async function startParts(ends: (() => Promise<unknown>)[], proxied: boolean): Promise<Parts> {
  const own = mkdtempSync(join(tmpdir(), 'spillway-crash-'));
  ends.push(async () => rmSync(own, { recursive: true, force: true }));
  const dataDir = serverFolder('postgres');
  ends.push(() => removeServerFolder(dataDir));
  const postgres = await startPostgres({
    dataDir,
    controllable: true,
    throwaway: true,
    // Its data is a folder of this machine then, which can be copied.
    sources: ['local', 'embedded'],
  });
  ends.push(() => postgres.stop());
  const nats = await OwnNats.start();
  ends.push(() => nats.remove());
  const database = await prepareDatabase(postgres.url);
  const { proxy, url } = proxied
    ? await TcpProxy.before(database.appUrl)
    : { proxy: null, url: database.appUrl };
  ends.push(async () => proxy?.close());
  const log = await openLog(database.adminUrl, { role: 'spillway_audit', applicationName: 'proof' });
  ends.push(() => log.close());
  const unexpected: string[] = [];
  const env = { SPILLWAY_DEPLOYMENT: 'crash' };
  const apps = await startApps({
    folder: own,
    databaseUrl: url,
    audit: false,
    natsUrl: nats.url,
    env,
    onUnexpectedExit: (app, how) => unexpected.push(`${app}: ${how}`),
  });
  const oracle = () => oracleFaults(log, keysOf(own, log).sealer, rulesOf(env));
  return { apps, postgres, nats, proxy, log, unexpected, dataDir, oracle };
}

/** In the opposite order of their beginning, whatever one of them says. */
async function endAll(ends: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const end of [...ends].reverse()) await end().catch(() => undefined);
}
