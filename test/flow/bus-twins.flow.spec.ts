import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeadLetter } from '#domain/log-tables';
import { readTail } from '#messaging/bus-tail';
import { type BusCaller, busCaller } from '#support/bus-caller';
import { type Reply, tokenOf } from '#support/calls';
import { askedByFailures, capacityFailure, preflightProof } from '#support/failing-attempts';
import { withApps } from '#support/running-apps';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';

const system = withApps({ nats: 'own', postgres: 'own' });
const BOUND_MS = 60_000;
const PARTITIONS = 4;
const BODY_MAX_BYTES = 256 * 1024;
let bus: BusCaller;

beforeAll(async () => {
  bus = await busCaller(system.nats);
  // The queue and its consumers are made by the apps once they have reached the bus.
  await waitUntil('the apps take inputs', BOUND_MS, () =>
    Promise.all([bus.inputConsumer('attempt'), bus.inputConsumer('consent')]).then(
      () => true,
      () => false,
    ),
  );
});

afterAll(async () => {
  await bus?.close();
});

const parsed = (text: string | undefined): unknown => JSON.parse(text ?? 'null');
const countIn = (text: string | undefined) => at(parsed(text), 'allocation.qualifying_attempts');

/** Publishes and waits for the first answer. */
async function asked(input: 'attempt' | 'consent', body: object | Uint8Array, id?: string): Promise<string> {
  const sequence = await bus.publish(input, body, id);
  const [answer = ''] = await bus.answered(id ?? `seq-${sequence}`);
  return answer;
}

/** Every message of the queue is settled: an answer goes out just before its message is acknowledged. */
async function nothingWaits(): Promise<void> {
  await waitUntil('every message is acknowledged', BOUND_MS, async () => (await bus.waiting()) === 0);
}

async function deadLettersSince(before: number): Promise<readonly DeadLetter[]> {
  const count = await system.log.deadLetters.count();
  return system.log.deadLetters.list(count - before);
}

test('the worked example by the bus: three failures ask, an acceptance switches the pool', async () => {
  const name = 'team/by-bus';
  const first = await asked('attempt', capacityFailure(name), 'x-1');
  expect(at(parsed(first), 'decision.reason')).toBe('threshold_not_met');
  await asked('attempt', capacityFailure(name), 'x-2');
  const prompt = parsed(await asked('attempt', capacityFailure(name), 'x-3'));
  expect(at(prompt, 'decision.reason')).toBe('failed_attempt_threshold');

  const confirm_token = at(prompt, 'confirm_token');
  const accepted = await asked('consent', { logical_allocation: name, accept: true, confirm_token }, 'y-1');
  expect(at(parsed(accepted), 'allocation.consent')).toBe('accepted');
  // The same id with the same body repeats the first result.
  await bus.publish('consent', { logical_allocation: name, accept: true, confirm_token }, 'y-1');
  const answers = await bus.answered('y-1', 2);
  expect(answers).toEqual([accepted, accepted]);
  await nothingWaits();
});

test('one id once by HTTP and once by the bus counts once, with the same answer to the byte', async () => {
  for (const [place, name] of ['team/http-first', 'team/bus-first'].entries()) {
    const id = `twin-${place}`;
    const body = preflightProof(name);
    const byHttp = () => system.calls.attempt({ ...body, attempt_id: id }).then(({ text }) => text);
    const byBus = () => asked('attempt', body, id);
    const ways = place === 0 ? [byHttp, byBus] : [byBus, byHttp];
    const answers: string[] = [];
    for (const way of ways) answers.push(await way());
    expect(answers[1]).toBe(answers[0]);
    expect(countIn(answers[0])).toBe(1);
    expect(at(parsed(answers[0]), 'confirm_token')).toHaveLength(43);
  }
  await nothingWaits();
});

test('one id by both ways at once counts once', async () => {
  const body = preflightProof('team/both-ways');
  const [byBus, byHttp] = await Promise.all([
    asked('attempt', body, 'both-1'),
    system.calls.attempt({ ...body, attempt_id: 'both-1' }),
  ]);
  expect(byBus).toBe(byHttp.text);
  expect(countIn(byBus)).toBe(1);
});

test('the member attempt_id names a message that has no header', async () => {
  const body = capacityFailure('team/member', { attempt_id: 'member-1' });
  const sequence = await bus.publish('attempt', body);
  const [answer = ''] = await bus.answered(`seq-${sequence}`);
  expect((await system.calls.attempt(body)).text).toBe(answer);
});

test('without an id each message is an attempt, answered under its sequence', async () => {
  const body = capacityFailure('team/by-sequence');
  expect([await asked('attempt', body), await asked('attempt', body)].map(countIn)).toEqual([1, 2]);
});

test('Nats-Msg-Id names nothing', async () => {
  const name = 'team/nats-id';
  await bus.publish('attempt', capacityFailure(name), 'n-1', { 'Nats-Msg-Id': 'same-1' });
  // Two messages under way at once may be taken in either order.
  expect(countIn((await bus.answered('n-1'))[0])).toBe(1);
  const sequence = await bus.publish('attempt', capacityFailure(name), undefined, {
    'Nats-Msg-Id': 'same-2',
  });
  expect(countIn((await bus.answered(`seq-${sequence}`))[0])).toBe(2);
});

test('a redelivery without an id is no second attempt', async () => {
  const { classifier } = system.apps.processes;
  const name = 'team/redelivered';
  const durable = (await bus.inputConsumer('attempt')).name;
  const setAckWait = (ms: number) =>
    bus.manager.consumers.update(bus.inputStream, durable, { ack_wait: ms * 1_000_000 });
  // Undecided while the classifier stands still, so its message is not acknowledged and comes again.
  await setAckWait(1_000);
  classifier.pause();
  let sequence: number;
  try {
    sequence = await bus.publish('attempt', preflightProof(name));
    await waitUntil('the message comes again', BOUND_MS, async () => {
      return (await bus.inputConsumer('attempt')).num_redelivered > 0;
    });
  } finally {
    classifier.resume();
    await setAckWait(30_000);
  }
  const answers = await bus.answered(`seq-${sequence}`, 2);
  await nothingWaits();
  expect(new Set(answers.map((answer) => at(parsed(answer), 'attempt_event_id'))).size).toBe(1);
  const next = await system.calls.attempt(capacityFailure(name));
  expect(at(next.json, 'allocation.qualifying_attempts')).toBe(2);
});

test('a question that is answered over HTTP may have been asked over the bus, and the other way round', async () => {
  const prompt = parsed(await asked('attempt', preflightProof('team/asked-by-bus'), 'cross-1'));
  const overHttp = await system.calls.consent({
    logical_allocation: 'team/asked-by-bus',
    accept: true,
    confirm_token: at(prompt, 'confirm_token'),
  });
  expect(overHttp.status, overHttp.text).toBe(200);

  const confirm_token = tokenOf(await askedByFailures(system.calls, 'team/asked-by-http'));
  const answer = { logical_allocation: 'team/asked-by-http', accept: true, confirm_token };
  const overBus = parsed(await asked('consent', answer));
  expect(at(overBus, 'allocation.consent')).toBe('accepted');
});

const refusals: readonly {
  readonly what: string;
  readonly input: 'attempt' | 'consent';
  readonly body: () => object | Uint8Array;
  readonly id?: string;
  readonly problem: string;
  /** The same body by HTTP, where it has a like there. */
  readonly http?: () => Promise<Reply>;
}[] = [
  {
    what: 'bad members',
    input: 'attempt',
    body: () => ({ ...capacityFailure('team/refused-1'), success: 'no', attempt_id: 7 }),
    id: 'refused-1',
    problem: 'invalid-body',
    http: () => system.calls.attempt({ ...capacityFailure('team/refused-1'), success: 'no', attempt_id: 7 }),
  },
  {
    what: 'a member that differs from the header',
    input: 'attempt',
    body: () => capacityFailure('team/refused-2', { attempt_id: 'refused-2b' }),
    id: 'refused-2',
    problem: 'invalid-body',
  },
  {
    what: 'an id that is too long',
    input: 'attempt',
    body: () => capacityFailure('team/refused-3'),
    id: 'i'.repeat(201),
    problem: 'invalid-body',
  },
  {
    what: 'bytes that are no UTF-8',
    input: 'attempt',
    body: () => Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d),
    id: 'refused-4',
    problem: 'malformed-json',
  },
  { what: 'an empty body', input: 'attempt', body: () => new Uint8Array(), problem: 'malformed-json' },
  {
    what: 'a body above 256 KiB',
    input: 'attempt',
    body: () => ({ ...capacityFailure('team/refused-5'), more: ' '.repeat(BODY_MAX_BYTES) }),
    id: 'refused-5',
    problem: 'body-too-large',
  },
  {
    what: 'an answer to nothing',
    input: 'consent',
    body: () => ({ logical_allocation: 'team/refused-6', accept: false }),
    id: 'refused-6',
    problem: 'never-reported',
    http: () => system.calls.consent({ logical_allocation: 'team/refused-6', accept: false }),
  },
  {
    what: 'an answer that is no boolean',
    input: 'consent',
    body: () => ({ logical_allocation: 'team/refused-7', accept: 'yes' }),
    problem: 'invalid-body',
    http: () => system.calls.consent({ logical_allocation: 'team/refused-7', accept: 'yes' }),
  },
];

test.each(refusals)('refused by a problem and one dead letter of digests: $what', async (refusal) => {
  const { input, body, id, problem, http } = refusal;
  const before = await system.log.deadLetters.count();
  const head = await system.log.head();
  const sent = body();
  const answer = await asked(input, sent, id);
  await nothingWaits();
  expect(parsed(answer)).toMatchObject({ type: `urn:spillway:problem:${problem}` });
  if (http !== undefined) expect(answer).toBe((await http()).text);

  const rows = await deadLettersSince(before);
  expect(rows).toHaveLength(1);
  const sizeBytes = sent instanceof Uint8Array ? sent.length : Buffer.byteLength(JSON.stringify(sent));
  expect(rows[0]).toEqual({
    id: expect.stringMatching(DIGEST),
    at: expect.any(String),
    subject: `${system.nats.prefix}.in.${input}`,
    idDigest: id === undefined ? null : expect.stringMatching(DIGEST),
    bodyDigest: expect.stringMatching(DIGEST),
    sizeBytes,
    problem: answer,
  });
  expect(await system.log.head()).toEqual(head);
});

const DIGEST = /^[0-9a-f]{64}$/;

test('an id with another body is refused, by whichever way it came first', async () => {
  const before = await system.log.deadLetters.count();
  await system.calls.attempt(capacityFailure('team/conflict', { attempt_id: 'conflict-1' }));
  const answer = await asked(
    'attempt',
    capacityFailure('team/conflict', { fingerprint: 'f2' }),
    'conflict-1',
  );
  await nothingWaits();
  expect(parsed(answer)).toMatchObject({ type: 'urn:spillway:problem:id-reused', status: 409 });
  expect(await deadLettersSince(before)).toHaveLength(1);
});

test('a message that comes while the log cannot be reached comes again, and is counted once', async () => {
  const name = 'team/log-down';
  await system.ownPostgres.stop();
  const sequence = await bus.publish('attempt', capacityFailure(name));
  await bus.publish('attempt', { ...capacityFailure(name), success: 'no' }, 'down-refused');
  await waitUntil('both messages come again', BOUND_MS, async () => {
    return (await bus.inputConsumer('attempt')).num_redelivered > 1;
  });
  expect(bus.answersTo(`seq-${sequence}`)).toEqual([]);
  expect(bus.answersTo('down-refused')).toEqual([]);

  await system.ownPostgres.restart();
  const [answer] = await bus.answered(`seq-${sequence}`);
  expect(countIn(answer)).toBe(1);
  expect(parsed((await bus.answered('down-refused'))[0])).toMatchObject({ status: 400 });
  await nothingWaits();
  const next = await system.calls.attempt(capacityFailure(name));
  expect(at(next.json, 'allocation.qualifying_attempts')).toBe(2);
});

test('the bus carries each event of the log once', async () => {
  await system.calls.attempt(capacityFailure('team/relayed'));
  const { pos } = await system.log.head();
  for await (const name of bus.manager.streams.names(`${system.nats.prefix}.ev.>`)) {
    const stateOf = async () => (await bus.manager.streams.info(name)).state;
    await waitUntil('the relay has come so far', BOUND_MS, async () => (await stateOf()).last_seq >= pos);
    expect((await stateOf()).messages).toBe(pos);
  }
});

describe('garbage on the bus', () => {
  const SECRET = 'garbage-zq17-secret';
  const COUNT = 40;
  let connection: NatsConnection;
  beforeAll(async () => {
    connection = await connect({ servers: new URL(system.nats.url).host });
  });
  afterAll(() => connection.close());

  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const garbage: readonly (string | Uint8Array)[] = [
    '',
    SECRET,
    'null',
    `"${SECRET}"`,
    nested(100_000),
    `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`,
    `{"logical_allocation":${nested(50_000)}}`,
    `{"__proto__":{"logical_allocation":"${SECRET}"}}`,
    `{"logical_allocation":"${SECRET}\\u0000"}`,
    `{"logical_allocation":"\\ud800${SECRET}"}`,
    'x'.repeat(900_000),
    new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
  ];

  test.each(['attempt', 'launch', 'observation', 'consent'] as const)(
    'each piece of it to %s is refused and one dead letter; nothing is decided by it',
    async (input) => {
      const before = await system.log.deadLetters.count();
      const head = await system.log.head();
      for (const [index, body] of garbage.entries()) {
        const bytes = typeof body === 'string' ? Buffer.from(body) : body;
        const id = index % 2 === 0 ? `${SECRET}-${input}-${index}` : 'x'.repeat(10_000);
        await bus.publish(input, bytes, id, { 'Nats-Msg-Id': `${input}-${index}`, traceparent: SECRET });
      }
      await nothingWaits();
      expect(await deadLettersSince(before)).toHaveLength(garbage.length);
      expect(await system.log.head()).toEqual(head);
    },
  );

  test('a message to an input that there is not is refused to its sender', async () => {
    const subject = `${system.nats.prefix}.in.atempt`;
    await expect(jetstream(connection).publish(subject, '{}')).rejects.toThrow();
  });

  test('among the events it is counted, few lines tell of it, and relay and consumers go on', async () => {
    await system.calls.attempt(capacityFailure('team/before-garbage'));
    const row = (await system.log.readAfter(0, 100)).find(({ type }) => type === 'AttemptReported');
    if (row === undefined) throw new Error('an attempt is recorded');
    const partition = row.slot % PARTITIONS;
    const genuine = {
      'Nats-Msg-Id': `${await system.log.logId()}:${row.pos}:${row.hash.slice(0, 16)}`,
      'Spillway-Previous': '0',
      'Spillway-Partition': `${partition}/${PARTITIONS}`,
      'Spillway-Hash': row.hash,
    };
    const counted = await foreignCount();
    for (let index = 0; index < COUNT; index += 1) await toEvents(index % PARTITIONS, SECRET, {});
    await waitUntil('all of it is counted', BOUND_MS, async () => (await foreignCount()) >= counted + COUNT);
    // Under the id of a genuine one, so that the relay takes it for the end of the stream.
    await toEvents(partition, JSON.stringify({ ...row, body: `{"x":"${SECRET}"}` }), genuine);
    await toEvents((partition + 1) % PARTITIONS, JSON.stringify(row), genuine);
    await toEvents(partition, nested(10_000), genuine);

    const next = await system.calls.attempt(capacityFailure('team/before-garbage'));
    expect(at(next.json, 'allocation.qualifying_attempts')).toBe(2);
    await waitUntil('the relay is at the end of the log', BOUND_MS, async () => {
      const tail = await readTail(bus.manager, eventStream());
      return tail.kind === 'at' && tail.id.pos === (await system.log.head()).pos;
    });
  });

  test('nothing of it is in the log of an app, and the lines are few', () => {
    for (const app of ['ingest', 'classifier', 'consent']) {
      const text = readFileSync(join(system.folder, 'logs', `${app}.log`), 'utf8');
      expect(text).not.toContain('zq17');
      expect(text.match(/foreign_bus_message/g)?.length ?? 0).toBeLessThan(COUNT / 2);
    }
  });

  const eventStream = () => `${system.nats.prefix.toUpperCase()}_EV_test`;

  async function toEvents(partition: number, body: string, more: Readonly<Record<string, string>>) {
    const sent = headers();
    for (const [name, value] of Object.entries(more)) sent.set(name, value);
    const subject = `${system.nats.prefix}.ev.${partition}.AttemptReported`;
    // Refused as a repeat or not: both are well.
    await jetstream(connection).publish(subject, body, { headers: sent });
  }

  async function foreignCount(): Promise<number> {
    const text = await (await fetch(`${system.apps.processes.classifier.url}/metrics`)).text();
    return Number(/^spillway_bus_foreign_total\{.*\} (\d+)$/m.exec(text)?.[1]);
  }
});
