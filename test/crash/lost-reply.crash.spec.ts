import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ATTEMPT_BODY } from '#support/attempt-bodies';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { CrashStack } from './crash-stack.ts';

const CUTS = 15;
const ANSWERED_BETWEEN = 10;
const APPS = ['ingest', 'classifier', 'consent'] as const;
const BOUND_MS = 30_000;
/** Rounds of cancelling what runs and ending what is connected. */
const ENDINGS = 24;
/** Of one app in a fault that lasts some seconds, under 200 calls a second. */
const LINES_MAX = 60;

const Readiness = z.object({ failing: z.array(z.string()) });

describe('a PostgreSQL that answers, and not as it should', () => {
  let stack: CrashStack;
  let admin: pg.Client;
  beforeAll(async () => {
    stack = await CrashStack.start({ proxied: true });
    // Whatever is set for everybody, this one session may mend it.
    admin = new pg.Client({
      connectionString: stack.postgres.url,
      options: '-c default_transaction_read_only=off',
    });
    await admin.connect();
  });
  afterEach(async () => {
    // Also after a test that failed in between: the others must not fail with it.
    await setReadOnly('off');
    await admin.query('alter role spillway_apps connection limit -1');
  });
  afterAll(async () => {
    await admin?.end();
    await stack?.remove();
  });

  test('pitfall 5: the apps lose answers after COMMIT again and again: no duplicate, no false conflict', async () => {
    const report = await stack.underLoad(async (load) => {
      for (let cut = 0; cut < CUTS; cut += 1) {
        const before = load.answered();
        await stack.proxy.loseNextReply();
        // Every app is at work again before the next one, so that it is often an append whose reply is lost.
        await waitUntil(
          'attempts are answered again',
          BOUND_MS,
          () => load.answered() > before + ANSWERED_BETWEEN,
        );
      }
    });
    expect(report.unanswered).toEqual([]);
    await stack.prove();
    await stack.relayed();
  });

  test('while it is read-only no app is ready, an attempt is refused, and few lines are written', async () => {
    const linesBefore = await lineCounts();
    const report = await stack.underLoad(async () => {
      await setReadOnly('on');
      await allFail('append');
      const refused = await attempt();
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(await refused.json()).toMatchObject({ type: 'urn:spillway:problem:log-unavailable' });
      expect((await fetch(`${stack.apps.url}/api/health`)).status).toBe(503);
      // One that starts meanwhile waits like the others.
      await stack.apps.processes.consent.stop();
      await stack.apps.processes.consent.start();
      await allFail('append');
      await setReadOnly('off');
      await allReady();
    }, 4);
    expect(report.unanswered).toEqual([]);
    await stack.prove();
    await stack.relayed();
    for (const [app, lines] of Object.entries(await lineCounts()))
      expect(lines - (linesBefore[app] ?? 0), `lines of ${app}`).toBeLessThan(LINES_MAX);
  });

  test('while it gives no connections no app is ready, and all goes on once it does', async () => {
    const report = await stack.underLoad(async () => {
      await admin.query('alter role spillway_apps connection limit 0');
      await onSessions('pg_terminate_backend');
      await allFail('log');
      await admin.query('alter role spillway_apps connection limit -1');
      await allReady();
    }, 4);
    expect(report.unanswered).toEqual([]);
    await stack.prove();
    await stack.relayed();
  });

  test('statements are cancelled and sessions are ended in mid-append: nothing is lost, nothing is there twice', async () => {
    const report = await stack.underLoad(async (load) => {
      for (let round = 0; round < ENDINGS; round += 1) {
        const before = load.answered();
        await onSessions(round % 2 === 0 ? 'pg_terminate_backend' : 'pg_cancel_backend');
        await waitUntil('attempts are answered again', BOUND_MS, () => load.answered() > before);
      }
    });
    expect(report.unanswered).toEqual([]);
    await stack.prove();
    await stack.relayed();
  });

  test('after all that the apps end cleanly', () => stack.proveCleanEnd());

  async function setReadOnly(state: 'on' | 'off'): Promise<void> {
    await admin.query(`alter system set default_transaction_read_only = ${state}`);
    await admin.query('select pg_reload_conf()');
  }

  async function onSessions(how: 'pg_terminate_backend' | 'pg_cancel_backend'): Promise<void> {
    await admin.query(`select ${how}(pid) from pg_stat_activity where usename = 'spillway_apps'`);
  }

  function attempt(): Promise<Response> {
    return fetch(`${stack.apps.url}/api/agent/gpu-allocation/attempt`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...ATTEMPT_BODY,
        attempt_id: 'refused',
        logical_allocation: 'team/refused',
      }),
    });
  }

  async function allFail(check: string): Promise<void> {
    for (const app of APPS)
      await waitUntil(`${app} says that ${check} fails`, BOUND_MS, async () => {
        const response = await fetch(`${stack.apps.processes[app].url}/health/ready`);
        return Readiness.parse(await response.json()).failing.includes(check) && response.status === 503;
      });
  }

  async function allReady(): Promise<void> {
    for (const app of APPS) await stack.ready(app);
  }

  async function lineCounts(): Promise<Readonly<Record<string, number>>> {
    const counts = APPS.map(async (app) => [app, (await stack.logOf(app)).split('\n').length] as const);
    return Object.fromEntries(await Promise.all(counts));
  }
});
