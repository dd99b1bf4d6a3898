import { expect, test } from 'vitest';
import { launch, outcomeIs, resultWhere } from '#support/failover-calls';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({
  nats: 'shared',
  provisioners: 1,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_WATCH_EVERY_S: '1' },
});

const BOUND_MS = 60_000;

/** The provider's own id of a machine is the last part of the lane's. */
const cloudIdOf = (result: unknown) => String(at(result, 'instance.id')).split('/').at(-1) ?? '';

test('nobody reports anything: the watcher sees the queued instance vanish, and the run moves on', async () => {
  await system.cloud.client.behave({ lane: 'gcp', queueS: 3_600 });
  const location = await launch(system, 'watched/vanish');
  const placed = await resultWhere(system, location, 'it is queued', outcomeIs('placed_primary'), BOUND_MS);
  await system.cloud.client.change(cloudIdOf(placed), { remove: 'provider' });
  const moved = await resultWhere(system, location, 'it moves', outcomeIs('running_on_terminal'), BOUND_MS);
  expect(at(moved, 'reason')).toBe('gcp_queue_vanish_failover_runpod');
});

test('pitfall 40: a person deletes the queued machine, and the service buys no new one', async () => {
  await system.cloud.client.behave({ lane: 'gcp', queueS: 3_600 });
  const location = await launch(system, 'watched/deleted');
  const placed = await resultWhere(system, location, 'it is queued', outcomeIs('placed_primary'), BOUND_MS);
  await system.cloud.client.change(cloudIdOf(placed), { remove: 'person' });
  const blocked = await resultWhere(system, location, 'it stops', outcomeIs('blocked'), BOUND_MS);
  expect(at(blocked, 'reason')).toBe('instance_deleted_externally');
});

test('a workload that ends well on the terminal lane is done', async () => {
  await system.cloud.client.script('gcp', 'create', { answer: 'capacity' });
  const location = await launch(system, 'watched/done');
  const running = await resultWhere(system, location, 'it runs', outcomeIs('running_on_terminal'), BOUND_MS);
  await system.cloud.client.change(cloudIdOf(running), { workload: 'done' });
  await resultWhere(system, location, 'it is done', outcomeIs('done'), BOUND_MS);
  await system.cloud.client.script('gcp', 'create');
});

test('pitfall 35: a provider that answers no read causes nothing', async () => {
  await system.cloud.client.behave({ lane: 'gcp', queueS: 0 });
  const location = await launch(system, 'watched/unreadable');
  await resultWhere(system, location, 'it is placed', outcomeIs('placed_primary'), BOUND_MS);
  await system.cloud.client.script('gcp', 'get', { answer: 'unavailable' });
  const before = (await system.cloud.client.ledger()).calls['gcp get'] ?? 0;
  await waitUntil('it was asked 25 times in vain', BOUND_MS, async () => {
    const { calls } = await system.cloud.client.ledger();
    return (calls['gcp get'] ?? 0) - before >= 25;
  });
  await system.cloud.client.script('gcp', 'get');
  expect(at((await system.calls.get(location)).json, 'outcome')).toBe('placed_primary');
});
