import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { launch, observe, outcomeIs, resultWhere, STAND_IN_LAUNCH } from '#support/failover-calls';
import {
  happens,
  machinesOf,
  only,
  placed,
  secondsAhead,
  startsOf,
  storyOf,
  storyWhere,
} from '#support/failover-story';
import { ledgerFaults } from '#support/ledger-proof';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';

const system = withApps({
  nats: 'own',
  postgres: 'own',
  provisioners: 2,
  env: { SPILLWAY_PASS_EVERY_S: '1', SPILLWAY_RETRY_EVERY_S: '600', SPILLWAY_WATCH_EVERY_S: '600' },
});

const { terminal } = STAND_IN_LAUNCH.plan;
const FULL = { id: 'full', lane: 'kubernetes', pool: 'batch' };
/** A worker that is killed holds its leases for 60 s. */
const SETTLED_BOUND_MS = 150_000;
const AT_ONCE = 4;

interface Story {
  readonly name: string;
  readonly location: string;
}

let round = 0;
const names = () => Array.from({ length: AT_ONCE }, (_, index) => `faults/${round}/${index}`);

beforeAll(async () => {
  await system.cloud.client.script('kubernetes', 'create', { answer: 'quota' });
});
beforeEach(() => {
  round += 1;
});

/** Moves that are under way: some creates are lost though they made their pod, and each bootstrap takes a while. */
async function midway(): Promise<readonly Story[]> {
  const { client } = system.cloud;
  await client.behave({ lane: 'runpod', bootstrapS: 4 });
  await client.scriptOnce(
    'runpod',
    'create',
    { answer: 'ok' },
    { answer: 'hang', effect: 'done' },
    { answer: 'ok' },
  );
  const stories: Story[] = [];
  for (const name of names()) {
    stories.push({ name, location: await launch(system, name, { plan: { rungs: [FULL], terminal } }) });
  }
  for (const { name } of stories) {
    await storyWhere(system, name, 'a create is sent', (events) =>
      only(events, 'IntentRecorded').some(({ data }) => data.entry.kind === 'terminal'),
    );
  }
  return stories;
}

afterEach(async () => {
  await system.cloud.client.behave({ lane: 'runpod', bootstrapS: 0 });
});

/** Each got one pod and one workload start, under the reason that it began with. */
async function eachMovedOnce(stories: readonly Story[], reason: string): Promise<void> {
  for (const { name, location } of stories) {
    const running = outcomeIs('running_on_terminal');
    const result = await resultWhere(system, location, `${name} runs`, running, SETTLED_BOUND_MS);
    expect(result).toMatchObject({ reason });
    const pods = await machinesOf(system, name, 'runpod');
    expect(pods.filter(({ goneAt }) => goneAt === null)).toHaveLength(1);
    expect(only(await storyOf(system, name), 'FailoverDecided')).toHaveLength(1);
  }
  expect(ledgerFaults(await system.cloud.client.ledger())).toEqual([]);
}

/**
 * A pod whose bootstrap was cut off is half-built: ended, and one made afresh in the same attempt (failover 9.4). So
 * a second pod may come, but only after the first was reaped for that reason and had gone.
 */
async function neverTwoAtOnce(name: string): Promise<void> {
  const pods = (await machinesOf(system, name, 'runpod')).toSorted((a, b) =>
    a.createdAt < b.createdAt ? -1 : 1,
  );
  const events = await storyOf(system, name);
  const begun = only(events, 'BootstrapBegun').map(({ data }) => data.instance);
  const reaped = only(events, 'ResidueReaped').map(({ data }) => data.instance);
  for (const [index, next] of pods.slice(1).entries()) {
    const before = pods[index];
    expect(Date.parse(before?.goneAt ?? '')).toBeLessThanOrEqual(Date.parse(next.createdAt));
    expect([begun.includes(before?.id ?? ''), reaped.includes(before?.id ?? '')]).toEqual([true, true]);
  }
}

const restartPostgres = () =>
  waitUntil('PostgreSQL is up again', 60_000, () =>
    system.ownPostgres.restart().then(
      () => true,
      () => false,
    ),
  );

describe('in mid-failover', () => {
  test(
    'the bus is killed and its store wiped: no second create',
    async () => {
      const stories = await midway();
      await system.ownNats.kill();
      await rm(join(system.ownNats.folder, 'jetstream'), { recursive: true, force: true });
      await system.ownNats.restart();
      await eachMovedOnce(stories, 'auto_fallback_runpod');
      for (const { name } of stories) expect(await machinesOf(system, name, 'runpod')).toHaveLength(1);
    },
    SETTLED_BOUND_MS + 60_000,
  );

  test(
    'PostgreSQL is killed and comes back: what was sent and not recorded is found, not bought again',
    async () => {
      const stories = await midway();
      await system.ownPostgres.kill();
      await restartPostgres();
      await eachMovedOnce(stories, 'auto_fallback_runpod');
      for (const { name } of stories) await neverTwoAtOnce(name);
    },
    SETTLED_BOUND_MS + 60_000,
  );

  test(
    'pitfall 33: while the log cannot be read nothing is ended and nothing made, pass after pass',
    async () => {
      const stories = await midway();
      await system.ownPostgres.kill();
      const before = await system.cloud.client.ledger();
      const fails = passesFailed();
      await waitUntil('passes fail', 60_000, () => passesFailed() >= fails + 3, 200);
      const after = await system.cloud.client.ledger();
      expect(after.deletes).toEqual(before.deletes);
      // A create that was on its way may still land; none follows it.
      expect(after.creates.length - before.creates.length).toBeLessThanOrEqual(AT_ONCE);
      await restartPostgres();
      await eachMovedOnce(stories, 'auto_fallback_runpod');
      for (const { name } of stories) await neverTwoAtOnce(name);
    },
    SETTLED_BOUND_MS + 60_000,
  );

  test(
    'pitfall 36: two provisioners are killed and two others started: each run moves once',
    async () => {
      const stories: (Story & { readonly instance: string })[] = [];
      for (const name of names()) {
        const found = await placed(system, name);
        await observe(system, name, found.instance, { provider: 'queued', create_operation: 'done' });
        stories.push({ name, ...found });
      }
      await system.cloud.client.behave({ lane: 'runpod', bootstrapS: 2 });
      const gone = { provider: 'not_found', create_operation: 'done', delete_operation: 'none' };
      await Promise.all(
        stories.flatMap(({ name, instance }) => [
          happens(system, instance, { remove: 'provider' }),
          ...[1, 2, 3].map((at) =>
            observe(system, name, instance, { ...gone, observed_at: secondsAhead(at) }),
          ),
        ]),
      );
      await Promise.all(system.apps.provisioners.map((provisioner) => provisioner.kill()));
      await Promise.all(system.apps.provisioners.map((provisioner) => provisioner.start()));
      await eachMovedOnce(stories, 'gcp_queue_vanish_failover_runpod');
      for (const { name } of stories) expect(await startsOf(system, name)).toBe(1);
    },
    SETTLED_BOUND_MS + 60_000,
  );

  test('every app ends with code 0 while PostgreSQL is frozen and a provider answers nothing', async () => {
    const { client } = system.cloud;
    await client.script('runpod', 'list', { answer: 'hang' });
    const apps = [...system.apps.started, ...system.apps.provisioners];
    await system.ownPostgres.pause();
    expect(await Promise.all(apps.map((app) => app.stop()))).toEqual(apps.map(() => 'code 0'));
    await system.ownPostgres.resume();
    await client.script('runpod', 'list');
    await Promise.all(apps.map((app) => app.start()));
  });
});

/** How often a pass of a provisioner came to nothing, by what they write. */
function passesFailed(): number {
  return ['provisioner', 'provisioner-2'].reduce((sum, app) => {
    const text = readFileSync(join(system.apps.logFolder, `${app}.log`), 'utf8');
    return sum + text.split('pass_failed').length - 1;
  }, 0);
}
