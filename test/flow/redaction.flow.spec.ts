import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BusCaller, busCaller } from '#support/bus-caller';
import { textAt } from '#support/calls';
import { capacityFailure, preflightProof } from '#support/failing-attempts';
import { LAUNCH_BODY } from '#support/launch-bodies';
import { openLog, withClient } from '#support/open-log';
import { busMessages, databaseFiles, everyTable, hitsIn } from '#support/places-to-search';
import {
  appendAsProvisioner,
  instancePlaced,
  stopProvisioner,
  streamOfName,
} from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { loadCases } from '../conformance/fallback-cases.ts';
import { at } from '../conformance/fallback-expect.ts';
import { runFallbackCases } from '../conformance/fallback-runner.ts';
import { directoryHaystacks, type Haystack, searchForSecrets } from '../conformance/redaction-search.ts';
import { MIN_SECRET_CHARACTERS } from '../conformance/secret-forms.ts';
import { SentSecrets } from '../conformance/sent-secrets.ts';

const system = withApps({ nats: 'own', postgres: 'own', env: { SPILLWAY_LOG_LEVEL: 'debug' } });
const cases = loadCases('test/conformance/fallback/cases.json');
const secrets = new Set<string>();
let bus: BusCaller;

beforeAll(async () => {
  const report = await runFallbackCases(cases, { baseUrl: system.apps.url });
  expect(report.results.filter(({ passed }) => !passed)).toEqual([]);
  for (const secret of report.sentSecrets) secrets.add(secret);

  bus = await busCaller(system.nats);
  await waitUntil('the apps take inputs', 60_000, () =>
    bus.inputConsumer('consent').then(
      () => true,
      () => false,
    ),
  );
  for (const secret of await byTheBus(bus)) secrets.add(secret);
  for (const secret of await byOtherWays()) secrets.add(secret);
  for (const secret of await byLaunches(bus)) secrets.add(secret);
});

afterAll(async () => {
  await bus?.close();
});

/** Names, texts, ids and tokens by the bus: taken, refused, undecodable. */
async function byTheBus({ publish, answered, waiting }: BusCaller): Promise<readonly string[]> {
  const sent = new SentSecrets();
  const send = async (input: 'attempt' | 'consent', body: object | Uint8Array, id: string) => {
    sent.sent({ attempt_id: id });
    if (!(body instanceof Uint8Array)) sent.sent(body);
    await publish(input, body, id);
    const [answer = 'null'] = await answered(id);
    sent.received(JSON.parse(answer));
    return JSON.parse(answer);
  };
  const failure = { code: 'NotEnoughResources', message: 'bus-told-secret: no host in rack-zq17' };
  const prompt = await send('attempt', { ...preflightProof('bus-name-zq1'), failure }, 'bus-id-zq1');
  const confirm_token: unknown = at(prompt, 'confirm_token');
  await send('consent', { logical_allocation: 'bus-name-zq1', accept: true, confirm_token }, 'bus-id-zq2');
  await send('attempt', { ...capacityFailure('bus-name-zq3'), success: 'bus-value-zq3' }, 'bus-id-zq3');
  await send('attempt', capacityFailure('bus-name-zq4', { fingerprint: 'bus-print-zq4' }), 'bus-id-zq1');
  await send('consent', { logical_allocation: 'bus-name-zq5', accept: 'bus-value-zq5' }, 'bus-id-zq5');
  await send('attempt', new TextEncoder().encode('{"logical_allocation":"bus-name-zq6"'), 'bus-id-zq6');
  await waitUntil('every message is acknowledged', 60_000, async () => (await waiting()) === 0);
  return [...sent.all(), 'bus-value-zq3', 'bus-value-zq5', 'bus-name-zq6'];
}

/** What is refused over HTTP, what nobody knows, and paths. */
async function byOtherWays(): Promise<readonly string[]> {
  const { calls } = system;
  await calls.attempt({ ...capacityFailure('http-name-zq1'), 'http-member-zq1': 'http-value-zq1' });
  await calls.attempt({ ...capacityFailure('http-name-zq2'), request: { gpu_count: 'http-value-zq2' } });
  await calls.attempt(capacityFailure('http-name-zq3'), { 'idempotency-key': 'http-id-zq3' });
  await calls.attempt(capacityFailure('http-name-zq4'), { 'idempotency-key': 'http-id-zq3' });
  await calls.consent({ logical_allocation: 'http-name-zq3', accept: true, confirm_token: 'http-token-zq3' });
  await calls.send('/api/agent/gpu-allocation/attempt', { body: '{"http-broken-zq5' });
  await calls.get('/api/agent/gpu-allocation/results/http-path-zq6');
  await calls.get('/api/http-path-zq7?q=http-query-zq7');
  return [
    ...['http-name-zq1', 'http-member-zq1', 'http-value-zq1', 'http-name-zq2', 'http-value-zq2'],
    ...['http-name-zq3', 'http-id-zq3', 'http-name-zq4', 'http-token-zq3', 'http-broken-zq5'],
    ...['http-path-zq6', 'http-path-zq7', 'http-query-zq7'],
  ];
}

/** A run from its launch to its failover: what is sealed of it, what is refused, and its tokens. */
async function byLaunches({ publish, answered }: BusCaller): Promise<readonly string[]> {
  await stopProvisioner(system.apps);
  const name = 'launch-name-zq1';
  const body = {
    ...LAUNCH_BODY,
    logical_allocation: name,
    failover: 'ask',
    request: { gpu_family: 'launch-family-zq1', image: 'launch-invariant-zq1' },
    workload: {
      arguments: ['launch-argument-zq1', '--key=launch-option-zq1'],
      image: 'launch-image-zq1',
      branch: 'launch-branch-zq1',
      env: { LAUNCH_VARIABLE_ZQ1: 'launch-variable-zq1' },
      outputs: ['launch-output-zq1'],
    },
    'launch-member-zq1': 'launch-value-zq1',
  };
  const launched = await system.calls.launch({ ...body, message_id: 'launch-id-zq1' });
  expect(launched.status).toBe(202);
  await publish('launch', { ...body, logical_allocation: 'launch-name-zq2' }, 'launch-id-zq2');
  await answered('launch-id-zq2');
  await system.calls.launch({ ...body, logical_allocation: 'launch-name-zq3', failover: 'launch-bad-zq3' });
  await publish('launch', { ...body, workload: { env: { 'launch-key-zq4': 4 } } }, 'launch-id-zq4');
  await answered('launch-id-zq4');

  const log = await openLog(system.databaseUrl);
  const begun = '2026-01-05T00:00:00.000Z';
  const fact = instancePlaced({ instance: 'X1', rung: 'flex_a', createdAt: begun });
  await appendAsProvisioner(log, streamOfName(system.ring, name), [fact], begun);
  await log.close();
  const poll = (minute: number, change: object = {}) => ({
    logical_allocation: name,
    instance: 'X1',
    lane: 'gcp',
    observed_at: `2026-01-05T00:${minute}:00Z`,
    provider: 'queued',
    create_operation: 'done',
    'poll-member-zq1': 'poll-value-zq1',
    ...change,
  });
  await system.calls.observation(poll(10, { message_id: 'poll-id-zq1' }));
  const asked = await system.calls.observation(poll(30, { message_id: 'poll-id-zq2' }));
  const token = textAt(asked, 'confirm_token');
  await system.calls.get(textAt(launched, 'location'));
  await system.calls.consent({ logical_allocation: name, accept: true, confirm_token: token });
  const create_error = { code: 'poll-code-zq3', message: 'no room: poll-text-zq3' };
  await system.calls.observation(poll(40, { create_operation: 'failed', create_error }));
  await publish('observation', poll(41, { provider: 'poll-bad-zq4' }), 'poll-id-zq4');
  await answered('poll-id-zq4');
  return [
    ...[name, 'launch-family-zq1', 'launch-invariant-zq1', 'launch-argument-zq1', 'launch-option-zq1'],
    ...['launch-image-zq1', 'launch-branch-zq1', 'LAUNCH_VARIABLE_ZQ1', 'launch-variable-zq1'],
    ...['launch-output-zq1', 'launch-member-zq1', 'launch-value-zq1', 'launch-id-zq1', 'launch-name-zq2'],
    ...['launch-id-zq2', 'launch-name-zq3', 'launch-bad-zq3', 'launch-key-zq4', 'launch-id-zq4'],
    ...['poll-member-zq1', 'poll-value-zq1', 'poll-id-zq1', 'poll-id-zq2', 'poll-code-zq3'],
    ...['poll-text-zq3', 'poll-bad-zq4', 'poll-id-zq4', token, textAt(launched, 'location')],
  ];
}

const search = (haystacks: readonly Haystack[]) => hitsIn(haystacks, secrets);

describe('of everything that was sent, nothing is found in clear', () => {
  test('the run has sent enough to look for', () => {
    const long = [...secrets].filter((secret) => secret.length >= MIN_SECRET_CHARACTERS);
    expect(long.length).toBeGreaterThan(250);
  });

  test('in any table', async () => {
    const haystacks = await everyTable(system);
    expect(haystacks.map(({ name }) => name)).toContain('spillway.event');
    expect(await search(haystacks)).toEqual([]);
  });

  test('in what the bus carries', async () => {
    expect(await search(await busMessages(bus, system.nats.prefix))).toEqual([]);
  });

  test("in the bus's files", async () => {
    const haystacks = directoryHaystacks(system.ownNats.folder);
    expect(haystacks.some(({ name }) => name.includes('jetstream'))).toBe(true);
    expect(await search(haystacks)).toEqual([]);
  });

  test('in what any process writes', async () => {
    const haystacks = directoryHaystacks(system.apps.logFolder);
    expect(haystacks.length).toBe(3);
    expect(await search(haystacks)).toEqual([]);
  });

  test("in the database's files, its write-ahead log and its messages", async () => {
    const haystacks = await databaseFiles(system);
    expect(haystacks.some(({ name }) => name.includes('/pg_wal/'))).toBe(true);
    expect(await search(haystacks)).toEqual([]);
  });
});

test('the search finds what is there: planted in a row, in a message and in a line', async () => {
  const [planted = ''] = [...secrets].filter((secret) => secret.includes('-zq'));
  await withClient(system.databaseUrl, (client) =>
    client.query(
      `insert into spillway.dead_letter (id, subject, body_digest, size_bytes, problem) values ($1, $2, $3, $4, $5)`,
      ['planted', 'planted', 'planted', 1, JSON.stringify({ detail: planted })],
    ),
  );
  appendFileSync(join(system.apps.logFolder, 'ingest.log'), `${Buffer.from(planted).toString('base64')}\n`);
  await bus.publish('attempt', { logical_allocation: planted }, 'planted');
  await bus.answered('planted');

  const files = await searchForSecrets(await databaseFiles(system), [planted]);
  expect(files.length).toBeGreaterThan(0);
  expect(await search(await everyTable(system))).toEqual([`spillway.dead_letter: plain ${planted} (1)`]);
  expect(await search(directoryHaystacks(system.apps.logFolder))).toEqual([
    expect.stringContaining(`base64 ${planted} (1)`),
  ]);
});
