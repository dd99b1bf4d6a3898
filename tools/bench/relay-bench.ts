import { jetstream } from '@nats-io/jetstream';
import pLimit from 'p-limit';
import type { LogFollower } from '#domain/log';
import type { PostgresLog } from '#event-log/postgres-log';
import { type Bus, connectBus } from '#messaging/connect-bus';
import { RELAY_LIMITS, Relay } from '#messaging/relay';
import { eventStreamSettings, type Topology, topologyOf } from '#messaging/topology';
import { waitUntil } from '../up/infra/chain.ts';
import type { BenchRounds } from './append-bench.ts';
import { openBenchLog } from './connections.ts';
import { measuredInTurns, type Ratio } from './ratio.ts';

/** So many of the newest rows are published in each round. */
const MESSAGES = 20_000;
const ROUND_BOUND_MS = 120_000;
const LOOK_MS = 2;
const READ_ROWS = 1_000;
const STREAM_BYTES_MAX = 128 * 1024 ** 2;

/**
 * The relay from the log to the bus (reading, chain of ids and all) beside a plain `js.publish` of the same bodies
 * with as many in flight, each into an empty stream of the same settings. After each round every message is there.
 */
export async function benchRelay(
  databaseUrl: string,
  natsUrl: string,
  { rounds, say }: Pick<BenchRounds, 'rounds' | 'say'>,
): Promise<Ratio> {
  const log = await openBenchLog(databaseUrl);
  const bus = connectBus({ servers: [natsUrl], clientName: 'spillway-bench' });
  try {
    await waitUntil('a connection to NATS', ROUND_BOUND_MS, () => bus.connected, LOOK_MS);
    const head = (await log.head()).pos;
    const from = Math.max(0, head - MESSAGES);
    const bodies = await bodiesAfter(log, from, head);
    const counted = (publish: (at: Topology) => Promise<void>) => intoNewStream(bus, bodies.length, publish);
    return await measuredInTurns({
      what: 'relay, log to bus',
      besideWhat: `plain js.publish, ${RELAY_LIMITS.maxInFlight} in flight,`,
      target: '≥ 0.9',
      unit: '/s',
      rounds,
      say,
      ours: () => counted((at) => relayed({ log, bus, at, from, head })),
      beside: () => counted((at) => published(bus, at, bodies)),
    });
  } finally {
    await bus.close();
    await log.close();
  }
}

async function bodiesAfter(log: PostgresLog, from: number, head: number): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (let last = from; last < head; ) {
    const rows = await log.readAfter(last, Math.min(READ_ROWS, head - last));
    bodies.push(...rows.map((row) => JSON.stringify(row)));
    last += rows.length;
  }
  return bodies;
}

/** Messages per second into a stream that is made before and removed after. */
async function intoNewStream(
  bus: Bus,
  messages: number,
  publish: (at: Topology) => Promise<void>,
): Promise<number> {
  const at = topologyOf({
    prefix: 'bench',
    deployment: 'bench',
    partitions: 4,
    eventMaxBytes: STREAM_BYTES_MAX,
  });
  const manager = bus.manager();
  await manager.streams.add(eventStreamSettings(at));
  try {
    const beganMs = performance.now();
    await publish(at);
    const seconds = (performance.now() - beganMs) / 1_000;
    const { state } = await manager.streams.info(at.eventStream);
    if (state.messages !== messages) {
      throw new Error(`${state.messages} messages of ${messages} on the bus: the figure is void`);
    }
    return messages / seconds;
  } finally {
    await manager.streams.delete(at.eventStream);
  }
}

/** Nothing is appended meanwhile. */
const NO_NEWS: LogFollower = { follow: () => () => {} };

interface Relayed {
  readonly log: PostgresLog;
  readonly bus: Bus;
  readonly at: Topology;
  readonly from: number;
  readonly head: number;
}

async function relayed({ log, bus, at, from, head }: Relayed): Promise<void> {
  const relay = new Relay({
    bus,
    log,
    follower: NO_NEWS,
    topology: at,
    lowestCheckpoint: async () => from,
    mayRun: () => true,
  });
  try {
    const what = () => `relayed ${head}; is ${relay.status.state} at ${relay.lastRelayedPos}`;
    await waitUntil(what, ROUND_BOUND_MS, () => relay.lastRelayedPos === head, LOOK_MS);
  } finally {
    await relay.stop();
  }
}

async function published(bus: Bus, at: Topology, bodies: readonly string[]): Promise<void> {
  const client = jetstream(bus.connection());
  const limit = pLimit(RELAY_LIMITS.maxInFlight);
  const subject = at.eventSubjects.replace('>', '0.plain');
  await Promise.all(bodies.map((body) => limit(() => client.publish(subject, body))));
}
