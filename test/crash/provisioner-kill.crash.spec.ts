import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { launch, observe, outcomeIs, resultWhere } from '#support/failover-calls';
import { ledgerFaults } from '#support/ledger-proof';
import { wholeLog } from '#support/oracle';
import { withApps } from '#support/running-apps';
import { KILL_POINTS, type KillPoint } from '../../apps/provisioner/src/parts.ts';
import type { AppProcess } from '../../tools/up/app-process.ts';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({
  nats: 'shared',
  provisioners: 0,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_RETRY_EVERY_S: '600', SPILLWAY_WATCH_EVERY_S: '600' },
});

/** How long a worker may take to reach its point. */
const KILLED_BOUND_MS = 45_000;
/** A lease of 60 s has to run out before the next worker may act, then a pass has to come by. */
const SETTLED_BOUND_MS = 150_000;

interface Story {
  readonly name: string;
  readonly location: string;
  readonly reason: string;
}

/** Where a worker stands still until its lease is long over. What it does then must be refused. */
const PAUSE_POINTS = ['intent_recorded', 'created_unrecorded', 'dispatch_in_flight'] as const;

const stories = new Map<string, Story>();
const paused = new Map<string, AppProcess>();
let foreign: readonly string[] = [];

/** Every rung is out of stock: the ladder ends on the terminal lane. */
async function exhaustedLadder(name: string): Promise<Story> {
  await system.cloud.client.script('gcp', 'create', { answer: 'capacity' });
  return { name, location: await launch(system, name), reason: 'auto_fallback_runpod' };
}

/** A queued instance that waits too long is cancelled before the move. */
async function queueTimeout(name: string): Promise<Story> {
  await system.cloud.client.script('gcp', 'create');
  await system.cloud.client.behave({ lane: 'gcp', queueS: 3_600 });
  const location = await launch(system, name);
  const placed = await resultWhere(system, location, 'the instance is queued', outcomeIs('placed_primary'));
  const instance = String(at(placed, 'instance.id'));
  const nowMs = Date.now();
  const at_ = (ms: number) => new Date(nowMs + ms).toISOString();
  await observe(system, name, instance, { provider: 'queued', observed_at: at_(-400_000) });
  await observe(system, name, instance, { provider: 'queued', observed_at: at_(250_000) });
  return { name, location, reason: 'gcp_queue_timeout_failover_runpod' };
}

/** The first machine cannot be prepared, so it is reaped and made anew. */
async function failedBootstrap(name: string): Promise<Story> {
  await system.cloud.client.scriptOnce('runpod', 'agent_bootstrap', { answer: 'error', status: 500 });
  await system.cloud.client.behave({ lane: 'runpod', bootstrapEndsIn: 'failed' });
  return exhaustedLadder(name);
}

function storyAt(point: KillPoint): Promise<Story> {
  const name = `crash/${point}`;
  switch (point) {
    case 'queue_cancelled':
      return queueTimeout(name);
    case 'reap_in_flight':
      return failedBootstrap(name);
    default:
      return exhaustedLadder(name);
  }
}

describe('kill -9 of the provisioner at every named point, then fresh ones', () => {
  test.each(KILL_POINTS)(
    '%s: a worker dies there',
    async (point) => {
      if (foreign.length === 0) {
        foreign = [
          await system.cloud.client.addForeign({ lane: 'runpod', name: 'crash/decided' }),
          await system.cloud.client.addForeign({ lane: 'runpod', name: 'somebody-elses' }),
        ];
      }
      const worker = await system.apps.startDoomed(point);
      stories.set(point, await storyAt(point));
      expect(await worker.untilEnded(KILLED_BOUND_MS)).toBe('SIGKILL');
      await system.cloud.client.behave({ lane: 'runpod', bootstrapEndsIn: 'complete' });
    },
    KILLED_BOUND_MS + 60_000,
  );

  test.each(PAUSE_POINTS)(
    '%s: a worker stands still there',
    async (point) => {
      const worker = await system.apps.startDoomed(point, 'SIGSTOP');
      paused.set(point, worker);
      stories.set(`paused ${point}`, await exhaustedLadder(`paused/${point}`));
      await waitUntil('the worker stands still', KILLED_BOUND_MS, () => isStopped(worker.pid));
    },
    KILLED_BOUND_MS + 60_000,
  );

  test(
    'two fresh workers at once bring each to one machine and one workload, under its own reason',
    async () => {
      await Promise.all([system.apps.startProvisioner(), system.apps.startProvisioner()]);
      for (const { location, reason } of stories.values()) {
        const result = await resultWhere(
          system,
          location,
          'the allocation runs on the terminal lane',
          outcomeIs('running_on_terminal'),
          SETTLED_BOUND_MS,
        );
        expect(at(result, 'reason')).toBe(reason);
      }
      const ledger = await system.cloud.client.ledger();
      expect(ledgerFaults(ledger)).toEqual([]);
      const runs = ledger.instances.filter(({ lane, goneAt, mark }) => {
        return lane === 'runpod' && goneAt === null && mark.deployment === 'test';
      });
      expect(runs).toHaveLength(stories.size);
      expect(new Set(ledger.starts.map(({ intent }) => intent)).size).toBe(stories.size);
      for (const id of foreign) {
        expect(ledger.instances.find((instance) => instance.id === id)).toMatchObject({ goneAt: null });
      }
    },
    SETTLED_BOUND_MS + 60_000,
  );

  test('workers that stood still beyond their lease and go on send nothing and record one id at most', async () => {
    for (const worker of paused.values()) worker.resume();
    await waitUntil('the late create is told', KILLED_BOUND_MS, async () =>
      (await eventTypes()).includes('LateInstanceSeen'),
    );
    await Promise.all([...paused.values()].map((worker) => worker.stop()));
    const ledger = await system.cloud.client.ledger();
    expect(ledgerFaults(ledger)).toEqual([]);
    expect(new Set(ledger.starts.map(({ intent }) => intent)).size).toBe(stories.size);
    const types = await eventTypes();
    expect(types.filter((type) => type === 'FailoverCompleted')).toHaveLength(stories.size);
  });
});

async function eventTypes(): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const row of wholeLog(system.log)) types.push(row.type);
  return types;
}

/** State T of the process, as the kernel tells it. */
function isStopped(pid: number | null): boolean {
  if (pid === null) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

afterAll(() => {
  stories.clear();
});
