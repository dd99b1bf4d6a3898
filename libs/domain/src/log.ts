import type { NewEvent } from '#events/define-event';
import type { EventMeta, RecordedEvent } from '#events/envelope';

/**
 * What must be true of the stream for a command to be taken: `any` = nothing, `new` = no event yet, or the
 * exact number of decisions and facts in it. Inputs never move the decision version (fallback 3).
 */
export type Expected = 'any' | 'new' | { readonly decisionVersion: number };

/** A step of one consumer's partition: compare-and-set from `from` to `to`, whose row must have `hash`. */
export interface CheckpointStep {
  readonly consumer: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly hash: string;
}

/** A holder's claim on a lease row; an older fence than the row's is refused (design 8). */
export interface Fence {
  readonly lease: string;
  readonly fence: number;
}

/** One sealed text: AES-256-GCM under a record key, addressed by stream and digest. */
export interface SealedRow {
  readonly digest: string;
  readonly kind: 'name' | 'invariants' | 'failure' | 'launch' | 'person';
  readonly keyId: string;
  readonly nonce: Uint8Array;
  readonly ciphertext: Uint8Array;
  /** When the text may be dropped (retention); null = kept until its key is erased. */
  readonly expiresAt: string | null;
}

/** A record key, wrapped; destroying it erases every text sealed under it. */
export interface RecordKeyRow {
  readonly keyId: string;
  readonly wrappedBy: string;
  readonly nonce: Uint8Array;
  readonly wrapped: Uint8Array;
}

/**
 * Takes a lease in the append itself: the row's fence must be `from` (0 = no row yet) and the lease free, ended
 * or the holder's own. The new fence is `from` + 1; otherwise the command is `fenced` (failover 11). The lease
 * lasts `forMs` (1 ms to 24 h) from the store's time of taking. A `duplicate` takes nothing: it says that the
 * lease was taken then, not that it is still held. So the command id must name holder and fence, or a second
 * holder with the same command would take the first one's success for its own.
 */
export interface LeaseStep {
  /** Of an intent: the name of its stream. */
  readonly lease: string;
  readonly holder: string;
  readonly from: number;
  readonly forMs: number;
}

/** What the candidate list says of an allocation's record. Whoever acts folds the stream first (design 4). */
export interface AllocationRow {
  readonly status: string;
  readonly openQuestion: string | null;
  readonly questionExpiresAt: string | null;
}

/** What the candidate list says of an allocation's placement, beside its record: for passes and pages. */
export interface PlacementRow {
  readonly outcome: string;
  readonly reason: string | null;
  /** The lane of the current instance, and its id. */
  readonly lane: string | null;
  readonly instance: string | null;
  readonly openIntent: string | null;
  /** Whether a worker has something to do, and from when on; null = now. */
  readonly needsWorker: boolean;
  readonly wakeAt: string | null;
  /** When the capacity-retry pass may pick it up; null = never. */
  readonly retryAt: string | null;
  readonly bills: boolean;
  /** Open alerts; null = the row was written before they were counted, and nothing has changed since. */
  readonly alerts: number | null;
}

/**
 * The newest observation of an instance that changed nothing: it moves this row instead of adding an event
 * (design 4). A mark never goes back.
 */
export interface Mark {
  readonly instance: string;
  readonly observedAt: string;
}

/** An event to append, with what it says beside its body. */
export interface CommandEvent {
  readonly event: NewEvent;
  readonly meta: EventMeta;
}

/**
 * All or nothing: events, sealed rows, the two halves of the allocation row (a half that is not given stays as
 * it is), a mark, a lease and one checkpoint step. Checked in this order: checkpoint, fence or lease, command
 * id, version. What is recorded already is a `duplicate` whatever its fence: a resend after a lost reply finds
 * its own lease taken. A `duplicate` still moves its checkpoint: a consumer that was set back meets what it has
 * recorded already, and would stand there for ever otherwise.
 */
export interface Command {
  /** Idempotency key of the whole command; unguessable, since event ids derive from it. At most 200 characters. */
  readonly commandId: string;
  /** Of the command's known content, never of time, trace or nonce: tells a repeat from a conflict. */
  readonly digest: string;
  readonly stream: string;
  readonly expected: Expected;
  readonly occurredAt: string;
  readonly events: readonly CommandEvent[];
  /** Ring key under which the stream's ref was made; written once per stream. */
  readonly ringKeyId?: string;
  readonly recordKey?: RecordKeyRow;
  readonly sealed?: readonly SealedRow[];
  readonly allocation?: AllocationRow;
  readonly placement?: PlacementRow;
  readonly mark?: Mark;
  readonly checkpoint?: CheckpointStep;
  readonly fence?: Fence;
  readonly lease?: LeaseStep;
}

/** Where a command's events stand. `decisionVersion` is that of its last event (without events: the stream's). */
export interface Appended {
  readonly outcome: 'appended' | 'duplicate';
  /** Position of the command's first event, also when it was appended long ago; 0 for a command without events. */
  readonly firstPos: number;
  readonly decisionVersion: number;
  readonly recordedAt: string;
}

/** A closed union: each is the caller's to handle, none is an exception. */
export type AppendResult =
  | Appended
  /** The command id is taken by another content. */
  | { readonly outcome: 'id_conflict'; readonly firstPos: number }
  | { readonly outcome: 'wrong_version'; readonly decisionVersion: number }
  /** The checkpoint stands elsewhere (or `hash` is not the log's): nothing was written. */
  | { readonly outcome: 'stale_consumer'; readonly at: number }
  | { readonly outcome: 'fenced' };

/** The log cannot be reached, or did not answer in time: whether the command was recorded is unproven. */
export class LogUnavailable extends Error {
  override readonly name: string = 'LogUnavailable';
}

/**
 * A text stands there and is not erased: its key is wrapped by a key that this process was not given (fallback 5).
 * A person has to give it; until then whoever needs the text waits, since taking it for erased would be decided for
 * good.
 */
export class WrapKeyMissing extends LogUnavailable {
  override readonly name = 'WrapKeyMissing';

  constructor(readonly wrapKeyId: string) {
    super(`SPILLWAY_WRAP_KEYS lacks the key "${wrapKeyId}", which wraps what is to be read`);
  }
}

/** The log's own queue is full: nothing was sent. */
export class LogBusy extends Error {
  override readonly name = 'LogBusy';
}

/** The command itself can never be stored (too large, a NUL character in an id): nothing was sent. */
export class InvalidCommand extends Error {
  override readonly name = 'InvalidCommand';
}

export interface AppendPort {
  /**
   * Appends in the order given; later commands see earlier ones. One result per command: a bad neighbour
   * fails nobody else. Resends after a lost connection by itself (a repeat answers `duplicate`). Rejects
   * with LogUnavailable, LogBusy or InvalidCommand.
   */
  append(commands: readonly Command[]): Promise<readonly AppendResult[]>;
}

/** A share of the streams: slot modulo `count` = `index`. */
export interface Partition {
  readonly index: number;
  readonly count: number;
}

export interface LogHead {
  /** 0 when empty. */
  readonly pos: number;
  readonly hash: string;
}

export interface LogReader {
  /** Identity of this log; another database is another log. */
  logId(): Promise<string>;
  head(): Promise<LogHead>;
  at(pos: number): Promise<RecordedEvent | null>;
  /** Events after `pos` in order, at most `limit`, of all streams or of one partition. */
  readAfter(pos: number, limit: number, partition?: Partition): Promise<readonly RecordedEvent[]>;
  /** Events of one stream with a stream version above `version`, in order. */
  readStream(stream: string, version: number, limit: number): Promise<readonly RecordedEvent[]>;
  byEventId(eventId: string): Promise<RecordedEvent | null>;
  /**
   * The newest rows of a stream that are decisions of one of `types`, newest first, not newer than
   * `upToDecisionVersion`. Cost does not grow with the length of the stream.
   */
  newestDecisions(
    stream: string,
    types: readonly string[],
    limit: number,
    upToDecisionVersion?: number,
  ): Promise<readonly RecordedEvent[]>;
  /** Current decision version of a stream; 0 when it has no decision; null when the stream does not exist. */
  decisionVersion(stream: string): Promise<number | null>;
}

/** Tells when the log has grown. A missed notice is made good by polling. */
export interface LogFollower {
  /** Calls back with the newest known head position, at least every `pollIntervalMs` while it grows. Returns the end. */
  follow(onHead: (pos: number) => void): () => void;
}
