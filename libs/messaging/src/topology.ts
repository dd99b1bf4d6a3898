import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';

/** The inputs that callers may publish (fallback 1.5, failover 2): a durable each. */
export const INPUT_NAMES = ['attempt', 'consent', 'launch', 'observation'] as const;
export type InputName = (typeof INPUT_NAMES)[number];

/** Names and limits of one deployment on the bus (design 6). Made by `topologyOf`. */
export interface Topology {
  readonly prefix: string;
  readonly deployment: string;
  /** Number of shares that the slots are dealt to; the same in all processes of a deployment. */
  readonly partitions: number;
  readonly eventStream: string;
  readonly eventSubjects: string;
  readonly eventMaxBytes: number;
  readonly inputStream: string;
  /** Those that somebody takes from: what is sent to another one is refused at once, not kept unread for a day. */
  readonly inputSubjects: readonly string[];
  readonly inputMaxBytes: number;
}

export interface TopologyOptions {
  /** First token of every subject; lower-case letters, digits, hyphens; default `spillway`. */
  readonly prefix?: string;
  readonly deployment: string;
  readonly partitions: number;
  /**
   * Of the event stream, default 256 MiB; a full one pushes back on the relay, never on appends. The broker
   * sets the room aside: its own `max_file` must be above the sum of both streams.
   */
  readonly eventMaxBytes?: number;
  /** Default 64 MiB. */
  readonly inputMaxBytes?: number;
}

/** Input bodies are in clear in the queue: never longer than this (fallback 7). */
const INPUT_MAX_AGE_MS = 24 * 3_600_000;

/**
 * Order and singleness come from the chain of expected ids, whatever this window is. It is short because a
 * broker answers `duplicate` for what it remembers, also when that was purged since.
 */
const DUPLICATE_WINDOW_MS = 1_000;

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;

/** Throws RangeError for a prefix or deployment that cannot stand in a subject and a stream name. */
export function topologyOf(options: TopologyOptions): Topology {
  const prefix = options.prefix ?? 'spillway';
  for (const name of [prefix, options.deployment]) {
    if (!NAME.test(name)) throw new RangeError('prefix and deployment: 1-32 of a-z, 0-9, inner hyphens');
  }
  if (!Number.isInteger(options.partitions) || options.partitions < 1 || options.partitions > 256) {
    throw new RangeError('partitions: a whole number from 1 to 256');
  }
  const upper = prefix.toUpperCase();
  return {
    prefix,
    deployment: options.deployment,
    partitions: options.partitions,
    eventStream: `${upper}_EV_${options.deployment}`,
    eventSubjects: `${prefix}.ev.>`,
    eventMaxBytes: options.eventMaxBytes ?? 256 * 1024 ** 2,
    inputStream: `${upper}_IN`,
    inputSubjects: INPUT_NAMES.map((name) => `${prefix}.in.${name}`),
    inputMaxBytes: options.inputMaxBytes ?? 64 * 1024 ** 2,
  };
}

export function partitionOf(slot: number, partitions: number): number {
  return slot % partitions;
}

export function eventSubject(topology: Topology, partition: number, type: string): string {
  return `${topology.prefix}.ev.${partition}.${type}`;
}

export type StreamSettings = Pick<
  StreamConfig,
  | 'name'
  | 'subjects'
  | 'retention'
  | 'storage'
  | 'discard'
  | 'max_bytes'
  | 'max_age'
  | 'duplicate_window'
  | 'allow_direct'
>;

/** A window on the log: dropped and rebuilt without loss at any time. */
export function eventStreamSettings(topology: Topology): StreamSettings {
  return {
    name: topology.eventStream,
    subjects: [topology.eventSubjects],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    // Old would drop the start of the run unseen; new makes a full bus the relay's matter.
    discard: DiscardPolicy.New,
    max_bytes: topology.eventMaxBytes,
    max_age: 0,
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    allow_direct: true,
  };
}

/** What callers published and nobody has appended yet. */
export function inputStreamSettings(topology: Topology): StreamSettings {
  return {
    name: topology.inputStream,
    subjects: [...topology.inputSubjects],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_bytes: topology.inputMaxBytes,
    max_age: nanos(INPUT_MAX_AGE_MS),
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    allow_direct: false,
  };
}

export type DurableSettings = Partial<ConsumerConfig> & {
  readonly durable_name: string;
  readonly filter_subject: string;
};

export interface DurableLimits {
  /** Time until a message that nobody settled comes again. */
  readonly ackWaitMs: number;
  /** Delivered and not settled, of all processes together. */
  readonly maxUnsettled: number;
}

/** Where a consumer's partition reads. `startSequence` null = all that the stream holds. */
export function eventDurable(
  topology: Topology,
  consumer: string,
  partition: number,
  startSequence: number | null,
  limits: DurableLimits,
): DurableSettings {
  return {
    durable_name: `${consumer}-${partition}`,
    filter_subject: `${topology.prefix}.ev.${partition}.>`,
    ...ordinary(limits),
    // One for all that a batch has settled: an acknowledgement costs the broker as much as a message does.
    ack_policy: AckPolicy.All,
    ...(startSequence === null
      ? { deliver_policy: DeliverPolicy.All }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: startSequence }),
  };
}

export function inputDurable(
  topology: Topology,
  app: string,
  name: InputName,
  limits: DurableLimits,
): DurableSettings {
  return {
    durable_name: `${app}-${name}`,
    filter_subject: `${topology.prefix}.in.${name}`,
    ...ordinary(limits),
    deliver_policy: DeliverPolicy.All,
  };
}

function ordinary(limits: DurableLimits): Partial<ConsumerConfig> {
  return {
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(limits.ackWaitMs),
    max_ack_pending: limits.maxUnsettled,
    // With a budget the broker skips a message silently once it is used up: tries are counted in Postgres.
    max_deliver: -1,
  };
}
