import { afterEach, expect, test } from 'vitest';
import { decisionIdOf } from '#domain/attempt/attempt-ids';
import { type Reply, textAt } from '#support/calls';
import { type EventStream, openStream } from '#support/event-stream';
import { askedByFailures, capacityFailure, preflightProof } from '#support/failing-attempts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const PAGES_MAX = 200;

const system = withApps();
const streams: EventStream[] = [];
afterEach(async () => {
  await Promise.all(streams.splice(0).map((stream) => stream.close()));
});

async function connected(origin = system.apps.url): Promise<EventStream> {
  const stream = await openStream(`${origin}/api/prompts/stream`);
  streams.push(stream);
  return stream;
}
const questionOf = (asked: Reply) => decisionIdOf(textAt(asked, 'attempt_event_id'));
const told = (stream: EventStream, id: string, state: string) =>
  stream.where(`question ${id} is ${state}`, ({ type, data }) => {
    return type === 'prompt' && at(data, 'originId') === id && at(data, 'state') === state;
  });
const pagesConnected = async () => {
  const text = await (await fetch(`${system.apps.processes.consent.url}/metrics`)).text();
  return Number(/^spillway_pages_connected\{[^}]*\} (\d+)$/m.exec(text)?.[1]);
};

test('is not held back on its way, and says at once that it is there', async () => {
  const stream = await connected();
  expect(stream.status).toBe(200);
  expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(stream.headers.get('cache-control')).toBe('no-store');
  expect(stream.headers.get('x-accel-buffering')).toBe('no');
  expect(stream.headers.get('x-content-type-options')).toBe('nosniff');
  await stream.where('a ping', ({ type }) => type === 'ping');
});

test('a question is on every page within a second of its attempt, with all that the list has', async () => {
  const pages = [await connected(), await connected(), await connected(system.apps.processes.consent.url)];
  const times: number[] = [];
  // The best of three: the promise is the product's, the pauses are the machine's.
  for (const name of ['team/live-1', 'team/live-2', 'team/live-3']) {
    const sentMs = performance.now();
    const id = questionOf(await system.calls.attempt(preflightProof(name)));
    const events = await Promise.all(pages.map((page) => told(page, id, 'open')));
    times.push(Math.max(...events.map(({ atMs }) => atMs)) - sentMs);
    const shown = await system.calls.get(`/api/prompts/${id}`);
    for (const { data, id: pos } of events) {
      expect(data).toEqual(shown.json);
      expect(pos).toMatch(/^\d+$/);
    }
  }
  expect(Math.min(...times)).toBeLessThan(1_000);
});

test('an answer closes it on every page, whoever gave it', async () => {
  const pages = [await connected(), await connected()];
  const id = questionOf(await askedByFailures(system.calls, 'team/live-answer'));
  await Promise.all(pages.map((page) => told(page, id, 'open')));
  const agent = await system.calls.consent({ logical_allocation: 'team/live-answer', accept: false });
  expect(agent.status).toBe(200);
  for (const page of pages) {
    const { data } = await told(page, id, 'closed');
    expect(at(data, 'closed')).toMatchObject({ how: 'declined', by: 'local' });
  }
});

test('of a question that takes the place of another both are told, the closed one first', async () => {
  const page = await connected();
  const name = 'team/live-superseded';
  const old = questionOf(await askedByFailures(system.calls, name));
  const newer = questionOf(await system.calls.attempt(capacityFailure(name, { fingerprint: 'f2' })));
  await told(page, newer, 'open');
  const order = page.events
    .filter(({ type, data }) => type === 'prompt' && [old, newer].includes(String(at(data, 'originId'))))
    .map(({ data }) => [at(data, 'originId') === old ? 'old' : 'newer', at(data, 'state')]);
  // Read when the next one is there already, the old one may be told closed twice.
  expect(order.at(-2)).toEqual(['old', 'closed']);
  expect(order.at(-1)).toEqual(['newer', 'open']);
});

test('attempts that ask nothing are not told', async () => {
  const page = await connected();
  await system.calls.attempt(capacityFailure('team/quiet'));
  const id = questionOf(await system.calls.attempt(preflightProof('team/loud')));
  await told(page, id, 'open');
  expect(page.events.filter(({ type }) => type === 'prompt')).toHaveLength(1);
});

test('pages that go are forgotten, and more than are taken are told to come again', async () => {
  const here = system.apps.processes.consent.url;
  await waitUntil('no page is connected', 10_000, async () => (await pagesConnected()) === 0);
  await Promise.all(Array.from({ length: PAGES_MAX }, () => connected(here)));
  const refused = await openStream(`${here}/api/prompts/stream`);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  await refused.close();
  await Promise.all(streams.splice(0).map((stream) => stream.close()));
  await waitUntil('all are forgotten', 10_000, async () => (await pagesConnected()) === 0);

  const byOrigin = await connected();
  await byOrigin.where('a ping', ({ type }) => type === 'ping');
  await byOrigin.close();
  await waitUntil('also the one behind the proxy', 10_000, async () => (await pagesConnected()) === 0);
});

test('a restart ends the streams at once, and the next one goes on', async () => {
  const page = await connected();
  const { consent } = system.apps.processes;
  const startedMs = performance.now();
  expect(await consent.stop()).toBe('code 0');
  expect(performance.now() - startedMs).toBeLessThan(8_000);
  await waitUntil('the stream has ended', 10_000, () => page.ended);
  await consent.start();
  const again = await connected();
  const id = questionOf(await system.calls.attempt(preflightProof('team/after-restart')));
  await told(again, id, 'open');
});
