import { join } from 'node:path';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { launch, outcomeIs, resultWhere } from '#support/failover-calls';
import { wholeLog } from '#support/oracle';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { liveOwn } from '../cloud/ledger-report.ts';
import { CommandLine, type CommandRun } from '../integration/audit-kit.ts';

const BOUND_MS = 60_000;
const system = withApps({
  postgres: 'own',
  provisioners: 0,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_RETRY_EVERY_S: '600', SPILLWAY_WATCH_EVERY_S: '600' },
});

/** Runs statements beside the database of the apps, with every other session of it ended. */
async function besideTheDatabase(statements: (name: string) => readonly string[]): Promise<void> {
  const url = new URL(system.databaseUrl);
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    for (const statement of statements(name)) {
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      await client.query(statement);
    }
  } finally {
    await client.end();
  }
}

async function stopApps(): Promise<void> {
  await Promise.all(system.apps.started.map((app) => app.stop()));
}

async function startApps(): Promise<void> {
  await Promise.all(system.apps.started.map((app) => app.start()));
}

test(
  'a backup restored in mid-failover buys nothing: the machine that the log forgot is found before a create, and a person adopts it',
  async () => {
    await system.cloud.client.script('gcp', 'create', { answer: 'capacity' });
    const worker = await system.apps.startDoomed('decided');
    const location = await launch(system, 'restored/mid-failover');
    expect(await worker.untilEnded(BOUND_MS)).toBe('SIGKILL');
    await stopApps();
    await besideTheDatabase((name) => [`create database older template ${name}`]);

    await startApps();
    const before = await system.apps.startProvisioner();
    const running = outcomeIs('running_on_terminal');
    await resultWhere(system, location, 'the move is completed', running, BOUND_MS);
    await before.stop();
    await stopApps();
    await besideTheDatabase((name) => [`drop database ${name}`, `alter database older rename to ${name}`]);

    await startApps();
    await system.apps.startProvisioner();
    await waitUntil('somebody is told of the rewound log', BOUND_MS, async () => {
      const types: string[] = [];
      for await (const row of wholeLog(system.log)) types.push(row.type);
      return types.includes('LogRewound') && types.includes('AlertRaised');
    });
    const result = await resultWhere(system, location, 'the launch waits', outcomeIs('waiting'), BOUND_MS);
    expect(result).toMatchObject({ outcome: 'waiting' });
    const ledger = await system.cloud.client.ledger();
    expect(ledger.creates.filter(({ lane }) => lane === 'runpod')).toHaveLength(1);
    expect(liveOwn(ledger)).toHaveLength(1);
    expect(ledger.starts).toHaveLength(1);

    // A person has looked: the machine does the work.
    expect(await spillway('admin', 'adopt', '--name', 'restored/mid-failover')).toMatchObject({
      code: 0,
      err: '',
    });
    const adopted = await resultWhere(system, location, 'the machine is adopted', running, BOUND_MS);
    const [machine] = liveOwn(await system.cloud.client.ledger());
    expect(adopted).toMatchObject({
      reason: 'auto_fallback_runpod',
      rule: '10.3 adopted_by_person',
      instance: { lane: 'runpod', id: machine?.id },
    });
    // Passes come by every second: a listing that began after the adoption finds nothing to do about it.
    const passes = async () => (await system.cloud.client.ledger()).calls['runpod list'] ?? 0;
    const seen = await passes();
    await waitUntil('two more passes', BOUND_MS, async () => (await passes()) >= seen + 2);
    const { creates, starts, instances } = await system.cloud.client.ledger();
    expect(creates.filter(({ lane }) => lane === 'runpod')).toHaveLength(1);
    expect(starts).toHaveLength(1);
    expect(instances.find(({ id }) => id === machine?.id)?.goneAt).toBeNull();
  },
  6 * BOUND_MS,
);

/** The command line as an operator runs it beside the apps. */
async function spillway(...args: readonly string[]): Promise<CommandRun> {
  const cli = new CommandLine();
  try {
    return await cli.run(args, {
      SPILLWAY_DATABASE_URL: system.databaseUrl,
      SPILLWAY_DEPLOYMENT: 'test',
      SPILLWAY_KEY_RING_FILE: join(system.folder, 'keys', 'key-ring'),
    });
  } finally {
    cli.remove();
  }
}
