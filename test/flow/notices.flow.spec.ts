import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alertOnce } from '#domain/intent/blocked';
import { NOT_PLACED } from '#domain/placement';
import type { PostgresLog } from '#event-log/postgres-log';
import { tokenOf } from '#support/calls';
import { askedByFailures, preflightProof } from '#support/failing-attempts';
import { fresh } from '#support/log-builders';
import { openLog } from '#support/open-log';
import { appendAsProvisioner, streamOfName } from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import {
  type Behaviour,
  isSignedBy,
  startWebhookReceiver,
  type TakenNotice,
  type WebhookReceiver,
  webhookKey,
} from '#support/webhook-receiver';
import { AppProcess } from '../../tools/up/app-process.ts';
import { freePort, waitUntil } from '../../tools/up/infra/chain.ts';

const BOUND_MS = 60_000;
/** How long a receiver is down: a minute in a long run. */
const OUTAGE_MS = process.env.SPILLWAY_LONG_TESTS === undefined ? 6_000 : 60_000;
const TOKEN_LIFE_S = 12;

const KEYS = [webhookKey('new key'), webhookKey('old key')] as const;
const URL_SECRET = 'a-secret-of-the-address';
const [pager, chat, fickle] = await Promise.all([
  startWebhookReceiver(),
  startWebhookReceiver(),
  startWebhookReceiver(),
]);
const webhooks = [
  { name: 'pager', url: `${pager.url}?key=${URL_SECRET}` },
  { name: 'chat', url: chat.url },
  { name: 'fickle', url: fickle.url, events: ['alert.raised'] },
];
const secrets = { pager: KEYS, chat: [webhookKey('chat')], fickle: [webhookKey('fickle')] };

const env = {
  SPILLWAY_LOG_LEVEL: 'debug',
  SPILLWAY_TOKEN_LIFE_S: String(TOKEN_LIFE_S),
  SPILLWAY_PUBLIC_URL: 'https://spillway.test',
  SPILLWAY_WEBHOOKS: JSON.stringify(webhooks),
  SPILLWAY_WEBHOOK_SECRETS: JSON.stringify(secrets),
  SPILLWAY_NOTICE_BEFORE_EXPIRY_S: '8',
  SPILLWAY_NOTICE_TIMEOUT_MS: '400',
  SPILLWAY_NOTICE_FIRST_PAUSE_MS: '50',
  SPILLWAY_NOTICE_LONGEST_PAUSE_S: '1',
};
const system = withApps({ env });
let log: PostgresLog;
let second: AppProcess;

beforeAll(async () => {
  log = await openLog(system.databaseUrl);
  // A second process of the same app: both feed and send all the time.
  second = new AppProcess({
    app: 'consent',
    port: await freePort(),
    env: {
      PATH: process.env.PATH ?? '',
      SPILLWAY_DEPLOYMENT: 'test',
      SPILLWAY_DATABASE_URL: system.databaseUrl,
      SPILLWAY_KEY_RING_FILE: join(system.folder, 'keys', 'key-ring'),
      SPILLWAY_WRAP_KEYS_FILE: join(system.folder, 'keys', 'wrap-keys'),
      ...env,
    },
    logFile: join(system.folder, 'logs', 'consent-2.log'),
  });
  await second.start();
});
afterAll(async () => {
  await second?.stop();
  await log?.close();
  await Promise.all([pager, chat, fickle].map((receiver) => receiver.close()));
});

const refOf = (name: string) => streamOfName(system.ring, name).replace('allocation-', '');
const secretTexts: string[] = [];

/** A question about a name, with the token that must be told to nobody. */
async function asked(name: string): Promise<string> {
  const token = tokenOf(await askedByFailures(system.calls, name));
  secretTexts.push(name, token);
  return token;
}

async function answered(name: string, members: object): Promise<void> {
  const reply = await system.calls.consent({ logical_allocation: name, ...members });
  expect(reply.status, reply.text).toBe(200);
}

const ofName = (notices: readonly TakenNotice[], name: string) =>
  notices.filter(({ data }) => data.ref === refOf(name));
const delivered = ({ taken }: WebhookReceiver) => taken.filter(({ status }) => status === 204);
/** First arrivals only: a repeat has the id of an earlier one. */
const firstOf = (notices: readonly TakenNotice[]) => [
  ...new Map(notices.map((each) => [each.id, each])).values(),
];
const typesOf = (notices: readonly TakenNotice[]) =>
  firstOf(notices).map(({ type, data }) => (data.reason === undefined ? type : `${type} ${data.reason}`));

const OPENED = 'question.opened failed_attempt_threshold';
const EXPIRING = 'question.expiring failed_attempt_threshold';

/** Until the receiver has taken notices of a name that end with this one. */
async function untilTaken(receiver: WebhookReceiver, name: string, last: string): Promise<readonly string[]> {
  const types = () => typesOf(ofName(delivered(receiver), name));
  await waitUntil(`${last} of ${name} is taken`, BOUND_MS, () => types().includes(last)).catch(
    (error: unknown) => {
      throw new Error(`taken were ${types().join(', ')}`, { cause: error });
    },
  );
  return types();
}

async function raiseAlert(name: string): Promise<void> {
  const alert = alertOnce(NOT_PLACED, 'lane_unavailable', 'gcp', { text: 'secret evidence' });
  secretTexts.push('secret evidence');
  await appendAsProvisioner(log, streamOfName(system.ring, name), alert, new Date().toISOString());
}

function spillway(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly text: string }> {
  const options = { env: { PATH: process.env.PATH ?? '', SPILLWAY_DATABASE_URL: system.databaseUrl } };
  const child = spawn(process.execPath, ['bin/spillway.js', 'admin', 'notices', ...args], options);
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(String(chunk)));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, text: chunks.join('') })));
}

describe('notices', () => {
  test('tell of a question as it opens, is about to expire, and ends; with a link, signed under every key', async () => {
    const name = fresh('team/told');
    const token = await asked(name);
    await answered(name, { accept: true, confirm_token: token });
    const types = await untilTaken(pager, name, 'question.closed accepted');
    expect(types.filter((type) => type !== EXPIRING)).toEqual([OPENED, 'question.closed accepted']);

    const [opened] = ofName(pager.taken, name);
    const question = (await system.log.readStream(streamOfName(system.ring, name), 0, 100)).find(
      ({ type }) => type === 'FallbackPrompted',
    );
    expect(opened?.data).toMatchObject({
      ref: refOf(name),
      question_id: question?.eventId,
      kind: 'pool',
      url: `https://spillway.test/prompts/${question?.eventId}`,
    });
    expect(opened?.headers['content-type']).toBe('application/json');
    expect(opened?.headers['webhook-signature']?.split(' ')).toHaveLength(KEYS.length);
    for (const notice of ofName(pager.taken, name)) {
      expect(KEYS.map((key) => isSignedBy(notice, key))).toEqual([true, true]);
      expect(isSignedBy(notice, webhookKey('chat'))).toBe(false);
    }
  });

  test('warn of a question that nobody answers, and tell alerts to those who want only them', async () => {
    const name = fresh('team/forgotten');
    await asked(name);
    await raiseAlert(name);
    expect(await untilTaken(chat, name, EXPIRING)).toEqual([OPENED, 'alert.raised', EXPIRING]);
    await waitUntil('the alert is told', BOUND_MS, () => ofName(delivered(fickle), name).length > 0);
    expect(typesOf(ofName(fickle.taken, name))).toEqual(['alert.raised']);
  });

  test('all reach a receiver that hung, failed and answered 500 for a while, in order for each question', async () => {
    const names = [1, 2, 3, 4].map(() => fresh('team/down'));
    const kinds: readonly Behaviour[] = [
      500,
      'hang',
      'cut',
      { status: 503, headers: { 'retry-after': '1' } },
      { status: 302, headers: { location: chat.url } },
    ];
    let calls = 0;
    pager.behave(() => kinds[calls++ % kinds.length] ?? 500);
    const downAt = performance.now();
    try {
      for (const [index, name] of names.entries()) {
        const token = await asked(name);
        await answered(name, index % 2 === 0 ? { accept: true, confirm_token: token } : { accept: false });
      }
      // The other receiver waits for nobody: it has everything while this one is down.
      for (const [index, name] of names.entries()) {
        const end = `question.closed ${index % 2 === 0 ? 'accepted' : 'declined'}`;
        await untilTaken(chat, name, end);
        expect(ofName(delivered(pager), name)).toEqual([]);
      }
      await waitUntil(
        'the receiver has been down for long enough, in every way',
        OUTAGE_MS + BOUND_MS,
        () => calls >= 2 * kinds.length && performance.now() - downAt >= OUTAGE_MS,
      );
    } finally {
      pager.behave(204);
    }
    for (const [index, name] of names.entries()) {
      const end = `question.closed ${index % 2 === 0 ? 'accepted' : 'declined'}`;
      const types = await untilTaken(pager, name, end);
      expect([
        [OPENED, end],
        [OPENED, EXPIRING, end],
      ]).toContainEqual(types);
      expect(types.at(-1)).toBe(end);
      // Nothing arrives after the end of its question, repeats of earlier tries included.
      const arrived = ofName(pager.taken, name).map(({ type }) => type);
      expect(
        arrived.slice(arrived.indexOf('question.closed')).every((type) => type === 'question.closed'),
      ).toBe(true);
      const ids = (receiver: WebhookReceiver) =>
        firstOf(ofName(delivered(receiver), name))
          .filter(({ type }) => type !== 'question.expiring')
          .map(({ id, text }) => [id, text]);
      expect(ids(pager)).toEqual(ids(chat));
    }
    expect(delivered(pager).every((notice) => isSignedBy(notice, KEYS[0]))).toBe(true);
  });

  test('are sent again under the same id when the sender was killed before it wrote down that they were taken', async () => {
    const name = fresh('team/killed');
    const apps = [system.apps.processes.consent, second];
    let killed: Promise<unknown> | null = null;
    pager.behave((notice) => {
      if (notice.data.ref === refOf(name) && killed === null) {
        killed = Promise.all(apps.map((app) => app.kill()));
      }
      return 204;
    });
    await asked(name);
    await waitUntil('the notice has come', BOUND_MS, () => killed !== null);
    await killed;
    expect(ofName(pager.taken, name)).toHaveLength(1);
    await Promise.all(apps.map((app) => app.start()));
    await waitUntil('it has come again', BOUND_MS, () => ofName(pager.taken, name).length >= 2);
    const [first, again] = ofName(pager.taken, name);
    expect([again?.id, again?.text]).toEqual([first?.id, first?.text]);
    await answered(name, { accept: false });
    await untilTaken(pager, name, 'question.closed declined');
  });
});

describe('operators', () => {
  test('test a receiver through the running app, and see how it went', async () => {
    const good = await spillway('test', 'chat');
    expect(good).toMatchObject({ code: 0, text: expect.stringContaining('204') });
    const sent = chat.taken.at(-1);
    expect([sent?.type, sent && isSignedBy(sent, webhookKey('chat'))]).toEqual(['notice.test', true]);

    chat.behave(418);
    const bad = await spillway('test', 'chat');
    chat.behave(204);
    expect(bad).toMatchObject({ code: 1, text: expect.stringContaining('418') });
    expect(await spillway('test', 'nobody')).toMatchObject({
      code: 2,
      text: expect.stringMatching(/chat, fickle, pager/),
    });
  });

  test('see a receiver that wants nothing more, and let it come back: it is told what it missed', async () => {
    const name = fresh('team/gone');
    await system.calls.attempt(preflightProof(name));
    secretTexts.push(name);
    fickle.behave(410);
    await raiseAlert(name);
    await waitUntil('it is disabled', BOUND_MS, async () =>
      (await system.log.notices.standing()).some((each) => each.name === 'fickle' && each.state === 'gone'),
    );
    const listed = await spillway('--failed');
    expect(listed).toMatchObject({ code: 0, text: expect.stringMatching(/fickle +gone/) });
    expect(listed.text).toContain('alert.raised');
    fickle.behave(204);
    expect(await spillway('retry', 'fickle')).toMatchObject({
      code: 0,
      text: expect.stringContaining('1 notice'),
    });
    await waitUntil('it is told', BOUND_MS, () => ofName(delivered(fickle), name).length === 1);
  });

  test('measure them by receiver', async () => {
    const metrics = await (await fetch(`${system.apps.processes.consent.url}/metrics`)).text();
    expect(metrics).toMatch(
      /spillway_notice_tries_total\{receiver="pager",outcome="delivered",app="consent"\} \d/,
    );
    await waitUntil('the ages are measured', BOUND_MS, async () =>
      /spillway_notice_oldest_age_seconds\{receiver="chat"/.test(
        await (await fetch(`${system.apps.processes.consent.url}/metrics`)).text(),
      ),
    );
  });
});

test('no notice, no log line and no metric says a name, a text, a token, a key or the address of a receiver', async () => {
  const logs = ['consent.log', 'consent-2.log'].map((file) =>
    readFileSync(join(system.folder, 'logs', file), 'utf8'),
  );
  const metrics = await (await fetch(`${system.apps.processes.consent.url}/metrics`)).text();
  const told = [pager, chat, fickle].flatMap(({ taken }) => taken.map(({ text }) => text));
  const keys = [...KEYS, ...secrets.chat, ...secrets.fickle].map((key) => key.replace('whsec_', ''));
  for (const secret of [...secretTexts, ...keys, URL_SECRET]) {
    for (const place of [...told, ...logs, metrics]) expect(place.includes(secret)).toBe(false);
  }
  expect(secretTexts.length).toBeGreaterThan(10);
  expect(told.length).toBeGreaterThan(20);
});
