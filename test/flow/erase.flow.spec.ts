import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PostgresLog } from '#event-log/postgres-log';
import { plusSeconds } from '#events/instant';
import { type BusCaller, busCaller } from '#support/bus-caller';
import { textAt, tokenOf } from '#support/calls';
import { preflightProof } from '#support/failing-attempts';
import { LAUNCH_BODY } from '#support/launch-bodies';
import { openLog } from '#support/open-log';
import { busMessages, everyTable, hitsIn } from '#support/places-to-search';
import {
  appendAsProvisioner,
  instancePlaced,
  stopProvisioner,
  streamOfName,
} from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';
import { directoryHaystacks } from '../conformance/redaction-search.ts';

const BOUND_MS = 60_000;
const BEGUN = '2026-01-05T00:00:00.000Z';
const BIN = fileURLToPath(new URL('../../bin/spillway.js', import.meta.url));

const system = withApps({ nats: 'shared', env: { SPILLWAY_LOG_LEVEL: 'debug' } });
let log: PostgresLog;
let bus: BusCaller;

beforeAll(async () => {
  await stopProvisioner(system.apps);
  log = await openLog(system.databaseUrl);
  bus = await busCaller(system.nats);
});
afterAll(async () => {
  await bus?.close();
  await log?.close();
});

const streamOf = (name: string) => streamOfName(system.ring, name);
const consent = (name: string, accept: boolean, confirm_token?: string) =>
  system.calls.consent({ logical_allocation: name, accept, confirm_token });

/** The command line beside the running apps, as an operator has it. */
async function spillway(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [BIN, ...args], {
    cwd: system.folder,
    env: {
      PATH: process.env.PATH ?? '',
      SPILLWAY_DATABASE_URL: system.databaseUrl,
      SPILLWAY_KEY_RING_FILE: join(system.folder, 'keys', 'key-ring'),
      SPILLWAY_WRAP_KEYS_FILE: join(system.folder, 'keys', 'wrap-keys'),
    },
  });
  return stdout;
}

/** Nothing of these texts is in a table, on the bus, or in what any process wrote. */
async function expectNowhere(...texts: readonly string[]): Promise<void> {
  expect(await hitsIn(await everyTable(system), texts)).toEqual([]);
  expect(await hitsIn(await busMessages(bus, system.nats.prefix), texts)).toEqual([]);
  expect(await hitsIn(directoryHaystacks(system.apps.logFolder), texts)).toEqual([]);
}

/** The tools say so, and the log is as sound as before. */
async function expectProven(name: string): Promise<void> {
  const told = await spillway('audit', 'timeline', streamOf(name).replace('allocation-', ''), '--unseal');
  expect(told).toMatch(/operator erased the name and the texts/);
  expect(told).toMatch(/^Name .*erased/m);
  expect(told).not.toContain(name);
  expect(await spillway('audit', 'verify')).toMatch(/^sound/);
  expect(await spillway('audit', 'replay')).toMatch(/^same/);
  expect(await spillway('audit', 'replay', '--compare')).toMatch(/^same/);
}

test('an erased pool question is shown no more, its token is dead, and the name is nowhere', async () => {
  const name = 'zq-team/erased-pool-question';
  const body = preflightProof(name, { attempt_id: 'zq-attempt-1' });
  const asked = await system.calls.attempt(body);
  const token = tokenOf(asked);
  expect(await spillway('admin', 'erase', '--name', name, '--yes')).toMatch(
    /^Erased: 1 key and 3 sealed texts are destroyed/,
  );
  await expectNowhere(name, 'zq-attempt-1', token);
  await expectProven(name);

  const isErased = async () => {
    const reply = await system.calls.attempt(body);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.text).toContain('prompt_erased');
    for (const member of ['confirm_token', 'decision.message', 'decision.proposed_action']) {
      expect(at(reply.json, member), member).toBeUndefined();
    }
  };
  await isErased();
  expect((await consent(name, true, token)).status).toBe(409);

  // Reported again, the same is sealed anew: under another token, and the question of then stays erased.
  const again = await system.calls.attempt(preflightProof(name, { attempt_id: 'zq-attempt-2' }));
  expect(tokenOf(again)).not.toBe(token);
  expect(at(again.json, 'decision.proposed_action.invariants.gpu_count')).toBe(4);
  await isErased();
  expect((await consent(name, true, token)).status).toBe(403);
  expect((await consent(name, true, tokenOf(again))).status).toBe(200);
});

test('an erased failover question too: the move has nothing to run any more', async () => {
  const name = 'zq-team/erased-failover-question';
  const launched = await system.calls.launch({
    ...LAUNCH_BODY,
    logical_allocation: name,
    failover: 'ask',
    workload: { command: 'zq-workload-command' },
  });
  const placed = instancePlaced({ instance: 'X1', rung: 'flex_a', createdAt: BEGUN });
  await appendAsProvisioner(log, streamOf(name), [placed], BEGUN);
  const poll = { logical_allocation: name, instance: 'X1', lane: 'gcp', provider: 'queued' };
  const poll1 = { ...poll, observed_at: plusSeconds(BEGUN, 60), create_operation: 'done' };
  const poll2 = { ...poll, observed_at: plusSeconds(BEGUN, 700), message_id: 'zq-observation' };
  await system.calls.observation(poll1);
  const asked = await system.calls.observation(poll2);
  expect(at(asked.json, 'outcome'), asked.text).toBe('awaiting_consent');
  const token = tokenOf(asked);

  expect(await spillway('admin', 'erase', '--name', name, '--yes')).toMatch(/its token is dead\.\n$/);
  await expectNowhere(name, 'zq-workload-command', token);
  await expectProven(name);
  expect((await consent(name, true, token)).status).toBe(409);
  expect((await consent(name, false)).status).toBe(409);

  const replay = await system.calls.observation(poll2);
  expect(at(replay.json, 'explanation.0.code'), replay.text).toBe('prompt_erased');
  for (const member of ['needs_confirmation', 'confirm_token', 'question', 'proposed_action']) {
    expect(at(replay.json, member), member).toBeUndefined();
  }
  await waitUntil('the launch says that it is blocked', BOUND_MS, async () => {
    const result = await system.calls.get(textAt(launched, 'location'));
    return (
      at(result.json, 'reason') === 'relaunch_spec_missing' && at(result.json, 'confirm_token') === undefined
    );
  });
});
