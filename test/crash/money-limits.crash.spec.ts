import { expect, test } from 'vitest';
import { eachAtMost } from '#support/each-at-most';
import { launch, observe, STAND_IN_LAUNCH } from '#support/failover-calls';
import { happens, passesGoBy, secondsAhead } from '#support/failover-story';
import { ledgerFaults } from '#support/ledger-proof';
import { streamOfName } from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { type LedgerReport, liveOwn } from '../cloud/ledger-report.ts';

const CREATES_PER_HOUR = 6;
const BILLING_MAX = 4;
const MOVES = 200;
const CALLERS = 16;
const BOUND_MS = 90_000;

const system = withApps({
  provisioners: 0,
  env: {
    SPILLWAY_TERMINAL_CREATES_PER_HOUR: String(CREATES_PER_HOUR),
    SPILLWAY_TERMINAL_BILLING_MAX: String(BILLING_MAX),
    SPILLWAY_PASS_EVERY_S: '1',
    SPILLWAY_RETRY_EVERY_S: '600',
    SPILLWAY_WATCH_EVERY_S: '600',
    SPILLWAY_CALLS_PER_SECOND: '10000',
  },
});

const { terminal } = STAND_IN_LAUNCH.plan;
const FULL = { id: 'full', lane: 'kubernetes', pool: 'batch' };
const names = Array.from({ length: MOVES }, (_, index) => `limits/${index}`);
const move = (name: string) => launch(system, name, { plan: { rungs: [FULL], terminal } });
const ledger = () => system.cloud.client.ledger();
const count = (filter: { readonly outcome?: string; readonly hasAlerts?: boolean }) =>
  system.log.allocations.count(filter);

test(
  'two workers that die and stand still, then two at once on 200 moves: no limit is ever passed',
  async () => {
    const [first = '', second = '', ...others] = names;
    await system.cloud.client.script('kubernetes', 'create', { answer: 'quota' });
    const killed = await system.apps.startDoomed('create_in_flight');
    await move(first);
    expect(await killed.untilEnded(BOUND_MS)).toBe('SIGKILL');
    const still = await system.apps.startDoomed('created_unrecorded', 'SIGSTOP');
    await move(second);
    await waitUntil('two creates are out', BOUND_MS, async () => creates(await ledger()) === 2);

    const workers = await Promise.all([system.apps.startProvisioner(), system.apps.startProvisioner()]);
    await eachAtMost(CALLERS, others, async (name) => void (await move(name)));
    // What the two others sent is counted, though nobody has recorded what came of it.
    const waiting = MOVES - BILLING_MAX;
    // Those that have room are about to send while the others are told that they have none.
    await waitUntil('all others wait', BOUND_MS, async () => {
      return (await count({ hasAlerts: true })) === waiting && creates(await ledger()) === BILLING_MAX;
    });
    await neverPassed(BILLING_MAX);
    still.resume();

    for (const made of [BILLING_MAX + 1, CREATES_PER_HOUR]) {
      await oneEnds();
      await waitUntil('its room is taken', BOUND_MS, async () => creates(await ledger()) === made);
      await neverPassed(made);
    }
    // There is room for one more that bills, and the hour has none.
    await oneEnds();
    await passesGoBy(system, 2 * workers.length);
    await neverPassed(CREATES_PER_HOUR);
  },
  4 * BOUND_MS,
);

/** One of the runs loses its pod, and a poll tells of it. */
async function oneEnds(): Promise<void> {
  const running = () => system.log.allocations.list({ outcome: 'running_on_terminal' }, 1);
  await waitUntil('one runs', BOUND_MS, async () => (await running()).length > 0);
  const [row] = await running();
  const instance = row?.placement?.instance ?? '';
  const name = names.find((one) => streamOfName(system.ring, one) === row?.stream) ?? '';
  await happens(system, instance, { remove: 'provider' });
  await observe(system, name, instance, {
    lane: 'runpod',
    provider: 'not_found',
    create_operation: 'done',
    observed_at: secondsAhead(1),
  });
}

const creates = (report: LedgerReport): number =>
  new Set(report.creates.flatMap(({ lane, intent }) => (lane === 'runpod' ? [intent] : []))).size;

/** By what the cloud has billed: at no moment more than may, and none of it twice. */
async function neverPassed(made: number): Promise<void> {
  const report = await ledger();
  expect(creates(report)).toBe(made);
  expect(liveOwn(report).length).toBeLessThanOrEqual(BILLING_MAX);
  expect(ledgerFaults(report)).toEqual([]);
  const pods = report.instances.filter(({ lane }) => lane === 'runpod');
  for (const { createdAt } of pods) {
    const atOnce = pods.filter((pod) => pod.createdAt <= createdAt && (pod.goneAt ?? report.now) > createdAt);
    expect(atOnce.length).toBeLessThanOrEqual(BILLING_MAX);
  }
}
