import type {
  AllocationRow,
  AppendPort,
  LogFollower,
  LogReader,
  Mark,
  Partition,
  PlacementRow,
  RecordKeyRow,
  SealedRow,
} from './log.ts';

/** How far a consumer has come in one partition. Only an append moves it. */
export interface ConsumerCheckpoint {
  readonly consumer: string;
  readonly partition: number;
  readonly partitionCount: number;
  /** The last position that is dealt with; 0 before the first. */
  readonly pos: number;
  /** Hash of the row at `pos`. */
  readonly hash: string;
  readonly updatedAt: string;
}

export interface ConsumerCheckpoints {
  read(consumer: string, partition: number): Promise<ConsumerCheckpoint | null>;
  /**
   * The row, made at `startAt` (0 = the beginning) when it is missing. Rejects with CheckpointLayout when the
   * consumer is laid out in another number of partitions: two layouts at once would skip events.
   */
  ensure(consumer: string, partition: Partition, startAt?: number): Promise<ConsumerCheckpoint>;
  all(): Promise<readonly ConsumerCheckpoint[]>;
  /** The lowest position of all consumers; null when there is none. */
  lowest(): Promise<number | null>;
}

/** The consumer's rows stand for another number of partitions. */
export class CheckpointLayout extends Error {
  override readonly name = 'CheckpointLayout';
}

/** A claim on the store's clock. The fence rises with every taking and never falls. */
export interface Lease {
  readonly name: string;
  readonly fence: number;
  readonly holder: string | null;
  readonly until: string;
}

export interface Leases {
  /** Takes a free or ended lease, or the holder's own again, with a new fence; null while another holds it. */
  take(name: string, holder: string, forMs: number): Promise<Lease | null>;
  /** False when the fence is no longer ours or the lease has ended: stop and take it again. */
  renew(name: string, fence: number, forMs: number): Promise<boolean>;
  /** Frees it at once for others. False when it was not ours any more. */
  release(name: string, fence: number): Promise<boolean>;
  read(name: string): Promise<Lease | null>;
  /** The store's clock: leases, send limits and listing graces run on it (failover 3.4). */
  clock(): Promise<string>;
}

/** Why a handler's event waits: a closed set, never an error's text. */
export type ParkReason = 'poison' | 'deadline' | 'newer_version' | 'operator';
export type ParkState = 'parked' | 'requeued' | 'skipped';

/** One allocation that waits for an operator while the others flow. */
export interface ParkedStream {
  readonly consumer: string;
  readonly stream: string;
  /** First event that was not handled; what follows in the stream waits behind it. */
  readonly firstPos: number;
  readonly reason: ParkReason;
  readonly tries: number;
  readonly parkedAt: string;
  readonly state: ParkState;
}

export interface ParkedStreams {
  /** Parks, or keeps the first position of a stream that is parked already. */
  park(row: Pick<ParkedStream, 'consumer' | 'stream' | 'firstPos' | 'reason' | 'tries'>): Promise<void>;
  /** A stream that is parked already now waits at this event, in one step. Nothing happens when it is not parked. */
  parkAgain(row: Pick<ParkedStream, 'consumer' | 'stream' | 'firstPos' | 'reason' | 'tries'>): Promise<void>;
  find(consumer: string, stream: string): Promise<ParkedStream | null>;
  list(consumer?: string): Promise<readonly ParkedStream[]>;
  /** The operator's word: `requeued` = try again, `skipped` = go on behind it. False when nothing is parked. */
  mark(consumer: string, stream: string, state: ParkState): Promise<boolean>;
  /** The consumer has caught up with the stream: the row goes. */
  clear(consumer: string, stream: string): Promise<void>;
}

/** Tries are counted before a redelivered handler runs, so that a handler that kills its process is counted too. */
export interface HandlerTries {
  /** Adds one and answers the count. */
  count(consumer: string, partition: number, pos: number): Promise<number>;
  /** Forgets the counts up to and including `pos`. */
  clear(consumer: string, partition: number, pos: number): Promise<void>;
}

/** Refused input: the durable record that it came, without anything of the caller's text (fallback 1.5). */
export interface DeadLetter {
  readonly id: string;
  readonly at: string;
  readonly subject: string;
  readonly idDigest: string | null;
  readonly bodyDigest: string;
  readonly sizeBytes: number;
  /** The problem body as JSON text: codes and pointers only. */
  readonly problem: string;
}

export interface DeadLetters {
  /** The same id again changes nothing: a redelivered refusal is one row. `at` is the store's clock. */
  add(row: Omit<DeadLetter, 'at'>): Promise<void>;
  /** Newest first. */
  list(limit: number): Promise<readonly DeadLetter[]>;
  count(): Promise<number>;
}

/** A sealed text with its wrapped key; `key` is null when the key was destroyed: the text is gone for good. */
export interface SealedText {
  readonly row: SealedRow;
  readonly key: RecordKeyRow | null;
}

/** A wrapped record key with the stream whose texts it seals. */
export interface StreamKey {
  readonly stream: string;
  readonly key: RecordKeyRow;
}

export interface ErasedCount {
  readonly keys: number;
  readonly texts: number;
}

/** Storage of what may be erased. It never sees a clear text. */
export interface SealedStore {
  /** All texts under a digest: more than one when two writers each made a key for the stream. */
  find(stream: string, digest: string): Promise<readonly SealedText[]>;
  ofStream(stream: string): Promise<readonly SealedText[]>;
  /** Wrapped keys of a stream, oldest first. */
  keysOf(stream: string): Promise<readonly RecordKeyRow[]>;
  /** Ring key under which the stream's ref was made. */
  ringKeyOf(stream: string): Promise<string | null>;
  /** The same of all streams, by stream name, after `afterStream`, at most `limit`. */
  ringKeys(
    afterStream: string,
    limit: number,
  ): Promise<readonly { readonly stream: string; readonly ringKeyId: string }[]>;
  /** Ids of ring keys and wrapping keys that stored rows need: a ring without one of them cannot read the log. */
  keyIdsInUse(): Promise<{ readonly ring: readonly string[]; readonly wrapping: readonly string[] }>;
  /** Some of the record keys that this wrapping key wraps, at most `limit`. */
  keysWrappedBy(wrapKeyId: string, limit: number): Promise<readonly StreamKey[]>;
  /** Stores a key that no command carries (a person's); the first one stays. */
  addKey(stream: string, key: RecordKeyRow): Promise<void>;
  /** Keys that another wrapping key than this one wraps, by key id behind `afterKeyId`, at most `limit`. */
  wrappedOtherwise(wrapKeyId: string, limit: number, afterKeyId?: string): Promise<readonly StreamKey[]>;
  /** How many there are. */
  countWrappedOtherwise(wrapKeyId: string): Promise<number>;
  /** Replaces the wrapping of a key. False when the key is gone or was re-wrapped by somebody else. */
  rewrap(keyId: string, from: string, to: Omit<RecordKeyRow, 'keyId'>): Promise<boolean>;
  /** Destroys the stream's keys and sealed texts. The log stays verifiable. */
  erase(stream: string): Promise<ErasedCount>;
  /** Destroys one key (a person's) and every text under it. */
  eraseKey(keyId: string): Promise<ErasedCount>;
  /** Drops texts whose retention has ended by the store's clock, at most `limit`; answers how many. */
  dropExpired(limit: number): Promise<number>;
}

/** One row of the candidate list. A half is null until a command has given it. */
export interface StoredAllocation {
  readonly stream: string;
  readonly decisionVersion: number;
  /** Position of the event that wrote the row last. */
  readonly pos: number;
  readonly record: AllocationRow | null;
  readonly placement: PlacementRow | null;
}

/** Every given member must hold. A half that is null has no question, no intent, no work, no bill and no alert. */
export interface AllocationFilter {
  readonly status?: string;
  readonly hasOpenQuestion?: boolean;
  readonly hasOpenIntent?: boolean;
  readonly bills?: boolean;
  /** Whether an alert about it is open. */
  readonly hasAlerts?: boolean;
  readonly outcome?: string;
  /** A worker has something to do at or before this instant. */
  readonly workDueAt?: string;
  /** A retry time at or before this instant. */
  readonly retryDueAt?: string;
  /** A question that ends at or before this instant. */
  readonly questionExpiresBy?: string;
  readonly partition?: Partition;
}

export interface AllocationTable {
  /** By stream name, after `afterStream`, at most `limit`. */
  list(filter: AllocationFilter, limit: number, afterStream?: string): Promise<readonly StoredAllocation[]>;
  get(stream: string): Promise<StoredAllocation | null>;
  count(filter: AllocationFilter): Promise<number>;
}

export interface Marks {
  of(stream: string): Promise<readonly Mark[]>;
}

/** The whole log with the tables beside it: what the adapter gives, and the simulation's stand-in too. */
export interface Log extends AppendPort, LogReader, LogFollower {
  readonly checkpoints: ConsumerCheckpoints;
  readonly leases: Leases;
  readonly parked: ParkedStreams;
  readonly tries: HandlerTries;
  readonly deadLetters: DeadLetters;
  readonly sealed: SealedStore;
  readonly allocations: AllocationTable;
  readonly marks: Marks;
  /** Milliseconds since the log was last read with success (readiness: at most 2000); Infinity before the first. */
  lastReadAgeMs(): number;
  /** False while the store takes no writes, and shortly after an append of this process had no answer (readiness). */
  takesAppends(): boolean;
}
