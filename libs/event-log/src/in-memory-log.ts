import type { AppendResult, Command, LogHead, Partition } from '#domain/log';
import type { Log } from '#domain/log-tables';
import { FORMAT, type RecordedEvent, slotOf, ZERO_HASH } from '#events/envelope';
import { hashOf } from './chain.ts';
import { encodeEvents, MAX_EVENTS_PER_COMMAND } from './encode-command.ts';
import { InMemoryAllocations, InMemorySealed } from './in-memory-beside.ts';
import {
  InMemoryCheckpoints,
  InMemoryDeadLetters,
  InMemoryLeases,
  InMemoryParked,
  InMemoryTries,
} from './in-memory-coordination.ts';
import { isoOf, type StoreClock } from './in-memory-rows.ts';

export interface InMemoryLogOptions {
  readonly logId: string;
  readonly now: StoreClock;
}

/** The same promises as the log on PostgreSQL, without a database: for the simulation and for pure specs. */
export class InMemoryLog implements Log {
  readonly checkpoints: InMemoryCheckpoints;
  readonly leases: InMemoryLeases;
  readonly parked: InMemoryParked;
  readonly tries = new InMemoryTries();
  readonly deadLetters: InMemoryDeadLetters;
  readonly sealed: InMemorySealed;
  readonly allocations = new InMemoryAllocations();
  readonly marks = this.allocations;
  readonly #logId: string;
  readonly #now: StoreClock;
  #lastRecordedMs = 0;
  readonly #events: RecordedEvent[] = [];
  readonly #byEventId = new Map<string, RecordedEvent>();
  readonly #byStream = new Map<string, RecordedEvent[]>();
  readonly #listeners = new Set<(pos: number) => void>();

  constructor({ logId, now }: InMemoryLogOptions) {
    this.#logId = logId;
    this.#now = now;
    this.checkpoints = new InMemoryCheckpoints(now, (pos) => this.#events[pos - 1]?.hash ?? null);
    this.leases = new InMemoryLeases(now);
    this.parked = new InMemoryParked(now);
    this.deadLetters = new InMemoryDeadLetters(now);
    this.sealed = new InMemorySealed(now);
  }

  async append(commands: readonly Command[]): Promise<readonly AppendResult[]> {
    // Everything is refused before anything is written: a call is one statement.
    const encoded = commands.map((command) => ({ command, events: encodeEvents(command) }));
    const before = this.#events.length;
    const recordedAt = this.#recordedAt();
    const results = encoded.map(({ command, events }) => this.#appendOne(command, events, recordedAt));
    if (this.#events.length > before) this.#tellListeners();
    return results;
  }

  #appendOne(command: Command, encoded: ReturnType<typeof encodeEvents>, recordedAt: string): AppendResult {
    const { commandId, stream, checkpoint } = command;
    if (checkpoint) {
      const row = this.checkpoints.current(checkpoint.consumer, checkpoint.partition);
      const isNext = row?.pos === checkpoint.from && checkpoint.from <= checkpoint.to;
      if (!isNext || this.#events[checkpoint.to - 1]?.hash !== checkpoint.hash) {
        return { outcome: 'stale_consumer', at: row?.pos ?? 0 };
      }
    }

    const known = encoded[0] && this.#byEventId.get(encoded[0].eventId);
    if (known?.commandDigest === command.digest) {
      this.#step(command);
      const last = this.#events
        .slice(known.pos - 1, known.pos - 1 + MAX_EVENTS_PER_COMMAND)
        .findLast((event) => event.commandId === commandId);
      return {
        outcome: 'duplicate',
        firstPos: known.pos,
        decisionVersion: last?.decisionVersion ?? known.decisionVersion,
        recordedAt: known.recordedAt,
      };
    }
    if (!this.#isHolder(command)) return { outcome: 'fenced' };
    if (known) return { outcome: 'id_conflict', firstPos: known.pos };

    const tail = this.#byStream.get(stream)?.at(-1);
    const before = tail?.decisionVersion ?? 0;
    if (!isExpected(command, tail !== undefined, before)) {
      return { outcome: 'wrong_version', decisionVersion: before };
    }
    const firstPos = encoded.length === 0 ? 0 : this.#events.length + 1;
    encoded.forEach((event, index) => {
      this.#write(command, event, index, recordedAt);
    });
    const decisionVersion = this.#byStream.get(stream)?.at(-1)?.decisionVersion ?? 0;
    this.sealed.write(command);
    this.allocations.write(command, decisionVersion, this.#events.length);
    if (command.lease) this.leases.step(command.lease);
    this.#step(command);
    return { outcome: 'appended', firstPos, decisionVersion, recordedAt };
  }

  #write(
    command: Command,
    encoded: ReturnType<typeof encodeEvents>[number],
    commandIndex: number,
    recordedAt: string,
  ): void {
    const { stream } = command;
    const inStream = this.#byStream.get(stream) ?? [];
    this.#byStream.set(stream, inStream);
    const before = inStream.at(-1)?.decisionVersion ?? 0;
    const unhashed = {
      pos: this.#events.length + 1,
      stream,
      streamVersion: inStream.length + 1,
      decisionVersion: encoded.role === 'decision' ? before + 1 : before,
      eventId: encoded.eventId,
      commandId: command.commandId,
      commandIndex,
      commandDigest: command.digest,
      type: encoded.type,
      schemaVersion: encoded.schemaVersion,
      role: encoded.role,
      slot: slotOf(stream),
      occurredAt: command.occurredAt,
      recordedAt,
      body: encoded.body,
      meta: encoded.meta,
      format: FORMAT,
      prevHash: this.#events.at(-1)?.hash ?? ZERO_HASH,
    };
    const event: RecordedEvent = { ...unhashed, hash: hashOf(this.#logId, unhashed) };
    this.#events.push(event);
    inStream.push(event);
    this.#byEventId.set(event.eventId, event);
  }

  /** The command's fence is its lease's, and the lease that it takes can be taken. */
  #isHolder({ fence, lease }: Command): boolean {
    if (fence && !this.leases.isCurrent(fence.lease, fence.fence)) return false;
    return lease === undefined || this.leases.isTakeable(lease);
  }

  #step({ checkpoint }: Command): void {
    if (!checkpoint) return;
    this.checkpoints.move(checkpoint.consumer, checkpoint.partition, checkpoint.to, checkpoint.hash);
  }

  /** The clock, but never before the last row: a clock that jumps back must not change the recorded order. */
  #recordedAt(): string {
    this.#lastRecordedMs = Math.max(this.#lastRecordedMs, this.#now());
    return isoOf(this.#lastRecordedMs);
  }

  #tellListeners(): void {
    const head = this.#events.length;
    // Later, as a notice is: a listener that appends must not do so inside the append that woke it.
    for (const listener of this.#listeners) {
      queueMicrotask(() => {
        if (this.#listeners.has(listener)) listener(head);
      });
    }
  }

  follow(onHead: (pos: number) => void): () => void {
    const listener = (pos: number): void => onHead(pos);
    this.#listeners.add(listener);
    if (this.#events.length > 0) onHead(this.#events.length);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  takesAppends(): boolean {
    return true;
  }

  lastReadAgeMs(): number {
    return 0;
  }

  async logId(): Promise<string> {
    return this.#logId;
  }

  async head(): Promise<LogHead> {
    return { pos: this.#events.length, hash: this.#events.at(-1)?.hash ?? ZERO_HASH };
  }

  async at(pos: number): Promise<RecordedEvent | null> {
    return this.#events[pos - 1] ?? null;
  }

  async readAfter(pos: number, limit: number, partition?: Partition): Promise<readonly RecordedEvent[]> {
    if (partition === undefined) return this.#events.slice(pos, pos + limit);
    const found: RecordedEvent[] = [];
    for (let index = pos; index < this.#events.length && found.length < limit; index++) {
      const event = this.#events[index];
      if (event && event.slot % partition.count === partition.index) found.push(event);
    }
    return found;
  }

  async readStream(stream: string, version: number, limit: number): Promise<readonly RecordedEvent[]> {
    return this.#byStream.get(stream)?.slice(version, version + limit) ?? [];
  }

  async byEventId(eventId: string): Promise<RecordedEvent | null> {
    return this.#byEventId.get(eventId) ?? null;
  }

  async newestDecisions(
    stream: string,
    types: readonly string[],
    limit: number,
    upToDecisionVersion = Number.POSITIVE_INFINITY,
  ): Promise<readonly RecordedEvent[]> {
    return (this.#byStream.get(stream) ?? [])
      .filter(
        (event) =>
          event.role === 'decision' &&
          types.includes(event.type) &&
          event.decisionVersion <= upToDecisionVersion,
      )
      .slice(-limit)
      .reverse();
  }

  async decisionVersion(stream: string): Promise<number | null> {
    return this.#byStream.get(stream)?.at(-1)?.decisionVersion ?? null;
  }
}

function isExpected({ expected }: Command, exists: boolean, decisionVersion: number): boolean {
  if (expected === 'any') return true;
  if (expected === 'new') return !exists;
  return expected.decisionVersion === decisionVersion;
}
