import { headers } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';
import { Answers } from '#messaging/answers';
import {
  type HandleInput,
  Inbox,
  type InboxLimits,
  type InputFailure,
  type InputMessage,
  MESSAGE_ID_HEADER,
} from '#messaging/inbox';
import type { Topology } from '#messaging/topology';
import { busBench, eventually, withManager } from './bus-kit.ts';

const bench = busBench();
const text = (message: InputMessage) => Buffer.from(message.body).toString('utf8');

interface Taken {
  readonly inbox: Inbox;
  readonly messages: readonly InputMessage[];
  readonly failures: readonly InputFailure[];
}

function take(at: Topology, handle: HandleInput, limits: Partial<InboxLimits> = {}): Taken {
  const messages: InputMessage[] = [];
  const failures: InputFailure[] = [];
  const bus = bench.bus();
  const inbox = new Inbox(
    {
      bus,
      topology: at,
      app: 'ingest',
      name: 'attempt',
      answers: new Answers(bus, at),
      handle: (message, given) => {
        messages.push(message);
        return handle(message, given);
      },
      onFailure: (failure) => failures.push(failure),
    },
    { checkMs: 100, retryMaxMs: 200, retryMessageMinMs: 20, ackWaitMs: 1_000, ...limits },
  );
  bench.after(() => inbox.stop(200));
  return { inbox, messages, failures };
}

/** A caller on the bus: publishes inputs and keeps the answers. */
async function caller(at: Topology) {
  const connection = await connect({ port: bench.nats.port });
  const answers: { readonly subject: string; readonly body: unknown }[] = [];
  connection.subscribe(`${at.prefix}.out.>`, {
    callback: (_, message) => {
      answers.push({ subject: message.subject, body: message.json() });
    },
  });
  await connection.flush();
  bench.after(() => connection.close());
  const publish = (body: string, id?: string) =>
    withManager(bench.nats.port, (manager) => {
      const named = headers();
      if (id !== undefined) named.set(MESSAGE_ID_HEADER, id);
      return manager.jetstream().publish(`${at.prefix}.in.attempt`, body, { headers: named });
    });
  return { answers, publish };
}

const done: HandleInput = () => Promise.resolve({ kind: 'done', answer: { ok: true } });

function queued(at: Topology): Promise<number> {
  return withManager(bench.nats.port, async (manager) => {
    return (await manager.streams.info(at.inputStream)).state.messages;
  });
}

async function ready(taken: Taken): Promise<void> {
  await eventually('the queue is read', () => taken.inbox.consuming);
}

describe('the input queue', () => {
  test('hands over what was published, acknowledges it and answers', async () => {
    const at = bench.topology();
    const taken = take(at, done);
    await ready(taken);
    const { answers, publish } = await caller(at);
    await publish('{"a":1}', 'run-7#3');
    const { seq } = await publish('{"a":2}');
    await eventually('both answered', () => answers.length === 2);

    expect(taken.messages.map(text)).toEqual(['{"a":1}', '{"a":2}']);
    expect(taken.messages).toMatchObject([
      { name: 'attempt', messageId: 'run-7#3', sequence: 1, deliveries: 1, redelivered: false },
      { messageId: null, sequence: seq },
    ]);
    expect(new Set(answers.map(({ subject }) => subject))).toEqual(
      // SHA-256 of `run-7#3` and of `seq-2`, in base32.
      new Set([
        `${at.prefix}.out.local.2zo5g4ahvyltl7nze4zppzcoqd`,
        `${at.prefix}.out.local.ciqg44lqguy3zbng3ik274c6b4`,
      ]),
    );
    await eventually('the queue is empty', async () => (await queued(at)) === 0);
  });

  test('acknowledges only after the handler is done: killed before, the message comes again (pitfall 20)', async () => {
    const at = bench.topology();
    const first = take(at, () => new Promise(() => {}));
    await ready(first);
    const { publish } = await caller(at);
    await publish('x');
    await eventually('in the handler', () => first.messages.length === 1);
    expect(await queued(at)).toBe(1);
    await first.inbox.stop(50);

    const second = take(at, done);
    await eventually('comes again', () => second.messages.length === 1);
    expect(second.messages[0]).toMatchObject({
      sequence: first.messages[0]?.sequence,
      incarnation: first.messages[0]?.incarnation,
    });
    await eventually('the queue is empty', async () => (await queued(at)) === 0);
  });

  test('a refused message is answered with its problem, and is gone', async () => {
    const at = bench.topology();
    const written: string[] = [];
    const taken = take(at, async (message) => {
      written.push(text(message));
      return { kind: 'refused', problem: { status: 400 } };
    });
    await ready(taken);
    const { answers, publish } = await caller(at);
    await publish('not json', 'id-1');
    await eventually('answered', () => answers.length === 1);

    expect(answers[0]?.body).toEqual({ status: 400 });
    expect(written).toEqual(['not json']);
    await eventually('the queue is empty', async () => (await queued(at)) === 0);
  });

  test('a message to retry comes again, and is not answered until it is done', async () => {
    const at = bench.topology();
    const taken = take(at, async ({ deliveries }) =>
      deliveries < 3 ? { kind: 'retry', afterMs: 30 } : { kind: 'done', answer: { deliveries } },
    );
    await ready(taken);
    const { answers, publish } = await caller(at);
    await publish('x');
    await eventually('answered', () => answers.length === 1);

    expect(answers).toMatchObject([{ body: { deliveries: 3 } }]);
    expect(new Set(taken.messages.map(({ incarnation }) => incarnation)).size).toBe(1);
  });

  test('a handler that throws is reported by class, and its message comes again (pitfall 18)', async () => {
    const at = bench.topology();
    const taken = take(at, async ({ deliveries }) => {
      if (deliveries < 3) throw new TypeError('a secret of the caller');
      return { kind: 'done', answer: null };
    });
    await ready(taken);
    const { publish } = await caller(at);
    await publish('x');
    await eventually('the queue is empty', async () => (await queued(at)) === 0);

    expect(taken.failures).toMatchObject([
      { failure: 'threw', errorName: 'TypeError', deliveries: 1 },
      { failure: 'threw', errorName: 'TypeError', deliveries: 2 },
    ]);
    expect(JSON.stringify(taken.failures)).not.toContain('secret');
  });

  test('a handler that hangs is given up on although its keep-alive runs (pitfall 21)', async () => {
    const at = bench.topology();
    let signal: AbortSignal | null = null;
    const hangOnce: HandleInput = ({ deliveries }, given) => {
      if (deliveries > 1) return Promise.resolve({ kind: 'done', answer: null });
      signal = given;
      return new Promise(() => {});
    };
    const taken = take(at, hangOnce, { deadlineMs: 300, ackWaitMs: 200 });
    await ready(taken);
    const { publish } = await caller(at);
    await publish('x');
    await eventually('given up on', () => taken.failures.length === 1);
    expect(taken.failures).toMatchObject([{ failure: 'hung', deliveries: 1 }]);
    expect(taken.inbox.abandoned).toBe(1);
    expect(signal).toHaveProperty('aborted', true);
    await eventually('the queue is empty', async () => (await queued(at)) === 0);
  });

  test('a slow handler keeps its message while it works', async () => {
    const at = bench.topology();
    const ackWaitMs = 300;
    const slow: HandleInput = async () => {
      const beganMs = performance.now();
      await eventually('three ack waits are over', () => performance.now() - beganMs > 3 * ackWaitMs);
      return { kind: 'done', answer: null };
    };
    const taken = take(at, slow, { deadlineMs: 5_000, ackWaitMs });
    await ready(taken);
    const { publish } = await caller(at);
    await publish('x');
    await eventually('the queue is empty', async () => (await queued(at)) === 0);

    expect(taken.messages.length).toBe(1);
  });

  test('no more handlers run at once than allowed', async () => {
    const at = bench.topology();
    let running = 0;
    let most = 0;
    const counted: HandleInput = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return { kind: 'done', answer: null };
    };
    const taken = take(at, counted, { maxConcurrent: 4 });
    await ready(taken);
    await withManager(bench.nats.port, (manager) =>
      Promise.all(
        Array.from({ length: 200 }, () => manager.jetstream().publish(`${at.prefix}.in.attempt`, 'x')),
      ),
    );
    await eventually('the queue is empty', async () => (await queued(at)) === 0);

    expect(taken.messages.length).toBe(200);
    expect(most).toBe(4);
  });

  test('after the store was wiped sequence 1 is another message (pitfall 16)', async () => {
    const at = bench.topology();
    const taken = take(at, done);
    await ready(taken);
    const { publish } = await caller(at);
    await publish('first');
    await eventually('taken', () => taken.messages.length === 1);
    await bench.nats.kill();
    await bench.nats.wipe();
    await bench.nats.restart();
    await eventually('the queue is made again', () =>
      queued(at).then(
        () => true,
        () => false,
      ),
    );
    await publish('second');
    await eventually('taken', () => taken.messages.length === 2);

    const [first, second] = taken.messages;
    expect(second?.sequence).toBe(first?.sequence);
    expect(second?.incarnation).not.toBe(first?.incarnation);
  });

  test('the same publisher’s id with another body reaches the handler, too', async () => {
    const at = bench.topology();
    const taken = take(at, done);
    await ready(taken);
    const { publish } = await caller(at);
    await publish('one', 'same');
    await publish('two', 'same');
    await eventually('both taken', () => taken.messages.length === 2);
  });
});
