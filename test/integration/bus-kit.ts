import { createHash } from 'node:crypto';
import { cp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll } from 'vitest';
import {
  type Command,
  type LogFollower,
  type LogHead,
  type LogReader,
  LogUnavailable,
  type Partition,
} from '#domain/log';
import { InMemoryLog } from '#event-log/in-memory-log';
import type { RecordedEvent } from '#events/envelope';
import { type Bus, type BusOptions, connectBus } from '#messaging/connect-bus';
import { Relay, type RelayLimits, type RelayPorts } from '#messaging/relay';
import { type Topology, type TopologyOptions, topologyOf } from '#messaging/topology';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { removeServerFolder } from '../../tools/up/infra/leftovers.ts';
import { startNats } from '../../tools/up/infra/nats.ts';
import type { RunningNats } from '../../tools/up/infra/running-nats.ts';
import { serverFolder } from '../support/server-folder.ts';

/** Waits until the condition holds; fails with what was waited for. */
export async function eventually(
  what: string | (() => string),
  holds: () => boolean | Promise<boolean>,
  boundMs = 20_000,
): Promise<void> {
  await waitUntil(what, boundMs, holds, 10);
}

/** A nats-server of a spec's own, to kill, freeze, wipe and roll back. */
export class OwnNats {
  private constructor(
    private readonly server: RunningNats,
    private readonly folder: string,
  ) {}

  static async start(): Promise<OwnNats> {
    const folder = serverFolder('nats');
    const started = await startNats({
      storeDir: folder,
      controllable: true,
      sources: ['local', 'download'],
    });
    if (started.status === 'unavailable') throw new Error(`${started.reason}: ${started.fix}`);
    return new OwnNats(started, folder);
  }

  get url(): string {
    return this.server.url;
  }

  get port(): number {
    return this.server.port;
  }

  kill(): Promise<void> {
    return this.server.kill();
  }

  /** Everything is on disk after it. */
  stop(): Promise<void> {
    return this.server.stop();
  }

  restart(): Promise<void> {
    return this.server.restart();
  }

  freeze(): Promise<void> {
    return this.server.freeze();
  }

  thaw(): Promise<void> {
    return this.server.thaw();
  }

  async wipe(): Promise<void> {
    await rm(this.#store, { recursive: true, force: true });
  }

  async copyStoreTo(name: string): Promise<void> {
    await cp(this.#store, join(this.folder, name), { recursive: true });
  }

  async restoreStoreFrom(name: string): Promise<void> {
    await this.wipe();
    await cp(join(this.folder, name), this.#store, { recursive: true });
  }

  /** Cuts bytes off the newest message block: what a disk loses that answered too early. */
  async cutTailOf(stream: string, bytes: number): Promise<void> {
    const blocks = join(this.#store, '$G', 'streams', stream, 'msgs');
    const names = (await readdir(blocks)).filter((name) => name.endsWith('.blk'));
    const newest = names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).at(-1) ?? '';
    const { size } = await stat(join(blocks, newest));
    await truncate(join(blocks, newest), Math.max(0, size - bytes));
  }

  async remove(): Promise<void> {
    await this.server.stop();
    await removeServerFolder(this.folder);
  }

  get #store(): string {
    return join(this.folder, 'jetstream');
  }
}

/** A client of the test's own, beside those of the code under test. */
export async function withManager<T>(
  port: number,
  work: (manager: JetStreamManager) => Promise<T>,
): Promise<T> {
  const connection = await connect({ port, reconnect: false });
  try {
    return await work(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}

/** The ids of the messages that a stream holds, in its order. */
export async function messageIdsOn(port: number, stream: string): Promise<readonly string[]> {
  return withManager(port, async (manager) => {
    const { state } = await manager.streams.info(stream);
    const sequences = Array.from({ length: state.messages === 0 ? 0 : state.last_seq - state.first_seq + 1 });
    const messages = await Promise.all(
      sequences.map((_, index) => manager.streams.getMessage(stream, { seq: state.first_seq + index })),
    );
    return messages.flatMap((message) => (message === null ? [] : [message.header.get('Nats-Msg-Id')]));
  });
}

/** A log in memory that can lose its tail, as a restored backup does. */
export class TestLog implements Pick<LogReader, 'logId' | 'head' | 'at' | 'readAfter'>, LogFollower {
  rows: readonly RecordedEvent[] = [];
  /** Every read fails while this is true. */
  unreachable = false;
  #log: InMemoryLog;
  #written: Command[] = [];
  readonly #followers = new Set<(pos: number) => void>();

  constructor(
    readonly id: string,
    private readonly streams = 7,
  ) {
    this.#log = this.#empty();
  }

  async append(count: number, mark = 'a', text = ''): Promise<void> {
    const first = this.#written.length + 1;
    await this.#write(Array.from({ length: count }, (_, index) => this.#command(first + index, mark, text)));
    for (const follower of this.#followers) follower(this.rows.length);
  }

  /** An older backup was restored: the rows after `pos` never were. */
  async cutTo(pos: number): Promise<void> {
    const kept = this.#written.slice(0, pos);
    this.#written = [];
    this.#log = this.#empty();
    await this.#write(kept);
  }

  logId(): Promise<string> {
    return this.#reachable(() => this.#log.logId());
  }

  head(): Promise<LogHead> {
    return this.#reachable(() => this.#log.head());
  }

  at(pos: number): Promise<RecordedEvent | null> {
    return this.#reachable(() => this.#log.at(pos));
  }

  readAfter(pos: number, limit: number, partition?: Partition): Promise<readonly RecordedEvent[]> {
    return this.#reachable(() => this.#log.readAfter(pos, limit, partition));
  }

  follow(onHead: (pos: number) => void): () => void {
    this.#followers.add(onHead);
    return () => this.#followers.delete(onHead);
  }

  async #write(commands: readonly Command[]): Promise<void> {
    for (let at = 0; at < commands.length; at += 100) {
      const results = await this.#log.append(commands.slice(at, at + 100));
      if (results.some(({ outcome }) => outcome !== 'appended'))
        throw new Error('the test log refused a row');
    }
    this.#written.push(...commands);
    const fresh: RecordedEvent[] = [];
    const known = this.rows.length < this.#written.length ? this.rows : [];
    for (let pos = known.length; pos < this.#written.length; pos += 1_000) {
      fresh.push(...(await this.#log.readAfter(pos, 1_000)));
    }
    this.rows = [...known, ...fresh];
  }

  #command(serial: number, mark: string, text: string): Command {
    const event = {
      type: serial % 2 === 0 ? 'AttemptReported' : 'FailureClassified',
      version: 1,
      role: 'input' as const,
      data: { mark, serial, text },
    };
    return {
      commandId: `command-${mark}-${serial}`,
      digest: createHash('sha256').update(`${mark}\n${serial}`).digest('hex'),
      stream: `allocation-${(serial * 31) % this.streams}`,
      expected: 'any',
      occurredAt: '2026-01-05T00:00:00.000Z',
      events: [{ event, meta: { causedBy: null, saw: null } }],
    };
  }

  #empty(): InMemoryLog {
    return new InMemoryLog({ logId: this.id, now: () => 1_767_571_200_000 });
  }

  #reachable<T>(read: () => Promise<T>): Promise<T> {
    return this.unreachable ? Promise.reject(new LogUnavailable('the test log is away')) : read();
  }
}

export function idsOf(log: TestLog, from: number, to = log.rows.length): readonly string[] {
  return log.rows.slice(from - 1, to).map((row) => `${log.id}:${row.pos}:${row.hash.slice(0, 16)}`);
}

/** The NATS of one spec file, and what its tests make on it; all of it is gone after each test. */
export interface Bench {
  readonly nats: OwnNats;
  bus(more?: Partial<BusOptions>): Bus;
  topology(more?: Partial<TopologyOptions>): Topology;
  relay(log: TestLog, at: Topology, more?: Partial<RelayPorts>, limits?: Partial<RelayLimits>): Relay;
  /** Runs before what was registered earlier. */
  after(cleanUp: () => Promise<void> | void): void;
}

let serial = 0;

export function busBench(): Bench {
  let nats: OwnNats | null = null;
  let cleanUps: (() => Promise<void> | void)[] = [];
  beforeAll(async () => {
    nats = await OwnNats.start();
  });
  afterEach(async () => {
    const due = cleanUps.reverse();
    cleanUps = [];
    for (const cleanUp of due) await cleanUp();
  });
  afterAll(() => nats?.remove());
  const bench: Bench = {
    get nats() {
      if (nats === null) throw new Error('NATS exists only while tests and hooks run');
      return nats;
    },
    bus(more = {}) {
      const options = { servers: [bench.nats.url], clientName: 'spec', retryMinMs: 20, retryMaxMs: 100 };
      const bus = connectBus({ ...options, requestTimeoutMs: 1_000, ...more });
      cleanUps.push(() => bus.close(200));
      return bus;
    },
    topology(more = {}) {
      serial += 1;
      const limits = { partitions: 4, eventMaxBytes: 16 * 1024 ** 2, inputMaxBytes: 1024 ** 2 };
      return topologyOf({ prefix: `t${process.pid}-${serial}`, deployment: 'test', ...limits, ...more });
    },
    relay(log, at, more = {}, limits = {}) {
      const ports = { log, follower: log, topology: at, mayRun: () => true };
      const quick = { pollMs: 50, tailCheckMs: 100, refusedCheckMs: 100, ackTimeoutMs: 500, retryMaxMs: 200 };
      const bus = more.bus ?? bench.bus();
      const relay = new Relay(
        { ...ports, lowestCheckpoint: () => Promise.resolve(0), ...more, bus },
        { ...quick, ...limits },
      );
      cleanUps.push(() => relay.stop());
      return relay;
    },
    after: (cleanUp) => {
      cleanUps.push(cleanUp);
    },
  };
  return bench;
}

export function relayedAll(relay: Relay, log: TestLog, boundMs?: number): Promise<void> {
  const what = () =>
    `relayed ${log.rows.length}; is ${JSON.stringify(relay.status)} at ${relay.lastRelayedPos}`;
  return eventually(what, () => relay.lastRelayedPos === log.rows.length, boundMs);
}

/** Ids on the bus, or none while there is no stream or no broker. */
export async function idsNow(port: number, stream: string): Promise<readonly string[]> {
  return messageIdsOn(port, stream).catch(() => []);
}
