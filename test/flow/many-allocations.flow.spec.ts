import { beforeAll, expect, test } from 'vitest';
import { eachAtMost } from '#support/each-at-most';
import { launch, STAND_IN_LAUNCH } from '#support/failover-calls';
import { ledgerFaults } from '#support/ledger-proof';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { CLOUD_LANES } from '../cloud/scripts.ts';

const PASS_EVERY_S = 5;
/** Of V8's old generation: what is kept beyond it ends the process. The resident size alone tells how lazily it collects. */
const HEAP_MAX_MIB = 192;
const RSS_MAX_BYTES = 400 * 1024 * 1024;
const SETTLED_BOUND_MS = 150_000;
const CALLERS = 32;
const LOST_CREATES_MAX = 20;

const { terminal } = STAND_IN_LAUNCH.plan;
const FULL = { id: 'full', lane: 'kubernetes', pool: 'batch' };
const OPEN = { id: 'od_a', lane: 'gcp', pool: 'on-demand', machine: 'a3-highgpu-1g' };

/** Whereto each of ten launches goes: most are placed, some move to the terminal lane, some find nothing. */
const KINDS = [
  { outcome: 'placed_primary', count: 700, launch: { plan: { rungs: [FULL, OPEN], terminal } } },
  { outcome: 'running_on_terminal', count: 200, launch: { plan: { rungs: [FULL], terminal } } },
  { outcome: 'blocked', count: 100, launch: { plan: { rungs: [FULL], terminal }, failover: 'never' } },
] as const;

const system = withApps({
  nats: 'shared',
  provisioners: 0,
  // A create that runs into its deadline on a busy machine would be looked for, by a listing of its own.
  laneTiming: { createDeadlineMs: 30_000, listingGraceMs: 2_000 },
  env: {
    SPILLWAY_PASS_EVERY_S: String(PASS_EVERY_S),
    SPILLWAY_RETRY_EVERY_S: '600',
    SPILLWAY_WATCH_EVERY_S: '600',
    SPILLWAY_CALLS_PER_SECOND: '10000',
  },
});

beforeAll(async () => {
  await system.cloud.client.script('kubernetes', 'create', { answer: 'quota' });
  // A page is a call: one listing is to be one.
  await system.cloud.client.behave({ lane: 'gcp', pageSize: 10_000 });
  await system.apps.startProvisioner({ NODE_OPTIONS: `--max-old-space-size=${HEAP_MAX_MIB}` });
});

/** Listings of each lane, as one moment sees them. */
async function listingsSoFar(): Promise<readonly number[]> {
  const { calls } = await system.cloud.client.ledger();
  return CLOUD_LANES.map((lane) => calls[`${lane} list`] ?? 0);
}

/** What the provisioner says of its own process. */
async function processOf(): Promise<{ readonly rssBytes: number; readonly cpuS: number }> {
  const text = await (await fetch(`${system.apps.provisioners[0]?.url}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name}\\S* ([\\d.e+]+)$`, 'm').exec(text)?.[1]);
  return { rssBytes: value('process_resident_memory_bytes'), cpuS: value('process_cpu_seconds_total') };
}

test(
  '1,000 allocations at once: each placed or refused by name, one listing per lane and pass, within bounded memory',
  async () => {
    const names = KINDS.flatMap(({ outcome, count, launch: change }) =>
      Array.from({ length: count }, (_, index) => ({ name: `many/${outcome}/${index}`, change })),
    );
    const listsBefore = await listingsSoFar();
    const before = await processOf();
    const beganMs = performance.now();
    let rssMaxBytes = 0;
    await eachAtMost(CALLERS, names, async ({ name, change }) => {
      await launch(system, name, change);
    });
    const takenMs = performance.now() - beganMs;

    let counts: readonly number[] = [];
    await waitUntil(
      'every allocation is settled',
      SETTLED_BOUND_MS,
      async () => {
        rssMaxBytes = Math.max(rssMaxBytes, (await processOf()).rssBytes);
        counts = await Promise.all(KINDS.map(({ outcome }) => system.log.allocations.count({ outcome })));
        return counts.every((count, index) => count === KINDS[index]?.count);
      },
      500,
    ).catch((error: unknown) => {
      throw new Error(`settled were ${counts.join(', ')}`, { cause: error });
    });
    const settledMs = performance.now() - beganMs;
    const { cpuS } = await processOf();
    const lists = await listingsSoFar();
    const listed = lists.map((count, index) => count - (listsBefore[index] ?? 0));

    process.stdout.write(
      `many-allocations: launches taken in ${Math.round(takenMs)} ms, all settled in ${Math.round(settledMs)} ms, ` +
        `provisioner ${(cpuS - before.cpuS).toFixed(1)} s of CPU and at most ${Math.round(rssMaxBytes / 1024 / 1024)} MiB, ` +
        `listings ${listed.join('/')}\n`,
    );
    const passesMax = Math.ceil((performance.now() - beganMs) / 1_000 / PASS_EVERY_S) + 1;
    // A create whose answer is lost is looked for at once, by a listing of its own: a few of a thousand on a busy machine.
    expect(Math.max(...listed)).toBeLessThanOrEqual(passesMax + LOST_CREATES_MAX);
    expect(Math.max(...listed) - Math.min(...listed)).toBeLessThanOrEqual(2 + LOST_CREATES_MAX);
    expect(rssMaxBytes).toBeGreaterThan(0);
    expect(rssMaxBytes).toBeLessThan(RSS_MAX_BYTES);
  },
  SETTLED_BOUND_MS + 60_000,
);

test('each got one machine at most, and each workload began once', async () => {
  const report = await system.cloud.client.ledger();
  expect(ledgerFaults(report)).toEqual([]);
  const made = (lane: string) => report.instances.filter((one) => one.lane === lane).length;
  expect([made('gcp'), made('runpod'), made('kubernetes')]).toEqual([700, 200, 0]);
  expect(report.starts).toHaveLength(900);
  expect(await system.log.allocations.count({ hasOpenIntent: true })).toBe(0);
  const blocked = await system.log.allocations.list({ outcome: 'blocked' }, 500);
  expect(new Set(blocked.map(({ placement }) => placement?.reason))).toEqual(
    new Set(['no_compute_available']),
  );
});
