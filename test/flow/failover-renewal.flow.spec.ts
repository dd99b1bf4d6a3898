import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PostgresLog } from '#event-log/postgres-log';
import { plusSeconds } from '#events/instant';
import { type Reply, textAt, tokenOf } from '#support/calls';
import { LAUNCH_BODY } from '#support/launch-bodies';
import { openLog } from '#support/open-log';
import {
  appendAsProvisioner,
  instancePlaced,
  stopProvisioner,
  streamOfName,
} from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const BEGUN = '2026-01-05T00:00:00.000Z';
const LIFE_S = 1;

const system = withApps({ env: { SPILLWAY_TOKEN_LIFE_S: String(LIFE_S) } });
let log: PostgresLog;
beforeAll(async () => {
  await stopProvisioner(system.apps);
  log = await openLog(system.databaseUrl);
});
afterAll(() => log?.close());

const problemOf = (reply: Reply) => [reply.status, at(reply.json, 'type')];
const rowsOf = (name: string) => system.log.readStream(streamOfName(system.ring, name), 0, 200);

/** The question about an instance that waited for too long in its queue; answered under this message id. */
async function asked(name: string) {
  const launch = { ...LAUNCH_BODY, logical_allocation: name, failover: 'ask' };
  const location = textAt(await system.calls.launch(launch), 'location');
  const fact = instancePlaced({ instance: 'X1', rung: 'flex_a', createdAt: BEGUN });
  await appendAsProvisioner(log, streamOfName(system.ring, name), [fact], BEGUN);
  const poll = (after: number) => ({
    logical_allocation: name,
    instance: 'X1',
    lane: 'gcp',
    observed_at: plusSeconds(BEGUN, after),
    provider: 'queued',
    message_id: `${name} ${after}`,
  });
  await system.calls.observation(poll(60));
  const question = await system.calls.observation(poll(700));
  return { location, question, again: () => system.calls.observation(poll(700)) };
}

/** Accepting with its token is refused as expired. */
async function expired(name: string, token: string): Promise<void> {
  await waitUntil('the token has expired', 30_000, async () => {
    const [prompt] = (await rowsOf(name)).filter(({ type }) => type === 'FailoverPrompted');
    const { expiresAt } = JSON.parse(prompt?.body ?? '{}');
    return Date.now() > Date.parse(expiresAt);
  });
  const refused = await system.calls.consent({
    logical_allocation: name,
    accept: true,
    confirm_token: token,
  });
  expect(problemOf(refused)).toEqual([403, 'urn:spillway:problem:token-expired']);
}

test('an expired question stays open and can be declined', async () => {
  const name = 'team/declined-late';
  const { question } = await asked(name);
  await expired(name, tokenOf(question));
  const reply = await system.calls.consent({ logical_allocation: name, accept: false });
  expect(reply.json).toMatchObject({ outcome: 'blocked', reason: 'failover_declined' });
});

test('it is renewed when it is read again: same action, another token, by the observation and by the launch', async () => {
  const name = 'team/renewed';
  const { location, question, again } = await asked(name);
  await expired(name, tokenOf(question));
  const [byId, byLocation] = await Promise.all([again(), system.calls.get(location)]);
  expect(at(byId.json, 'proposed_action')).toEqual(at(question.json, 'proposed_action'));
  expect(at(byLocation.json, 'proposed_action')).toEqual(at(question.json, 'proposed_action'));
  for (const reply of [byId, byLocation]) expect(tokenOf(reply)).not.toBe(tokenOf(question));

  // It may have expired once more since: read it again until the answer is in time.
  await waitUntil('an acceptance is in time', 30_000, async () => {
    const shown = await system.calls.get(location);
    const body = { logical_allocation: name, accept: true, confirm_token: tokenOf(shown) };
    return (await system.calls.consent(body)).status === 200;
  });
  const types = (await rowsOf(name)).map(({ type }) => type);
  expect(types.filter((type) => type === 'FailoverPrompted')).toHaveLength(1);
  expect(types).toContain('PromptRenewed');
  expect(types.slice(-2)).toEqual(['FailoverAccepted', 'FailoverDecided']);
});
