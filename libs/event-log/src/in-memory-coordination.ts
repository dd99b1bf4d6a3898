import type { LeaseStep } from '#domain/log';
import {
  CheckpointLayout,
  type ConsumerCheckpoint,
  type ConsumerCheckpoints,
  type DeadLetter,
  type DeadLetters,
  type HandlerTries,
  type Lease,
  type Leases,
  type ParkedStream,
  type ParkedStreams,
} from '#domain/log-tables';
import { ZERO_HASH } from '#events/envelope';
import { compareText, isoOf, keyOf, type StoreClock } from './in-memory-rows.ts';

export class InMemoryCheckpoints implements ConsumerCheckpoints {
  readonly #rows = new Map<string, ConsumerCheckpoint>();
  readonly #now: StoreClock;
  readonly #hashAt: (pos: number) => string | null;

  constructor(now: StoreClock, hashAt: (pos: number) => string | null) {
    this.#now = now;
    this.#hashAt = hashAt;
  }

  async read(consumer: string, partition: number): Promise<ConsumerCheckpoint | null> {
    return this.current(consumer, partition);
  }

  async ensure(
    consumer: string,
    partition: { readonly index: number; readonly count: number },
    startAt = 0,
  ): Promise<ConsumerCheckpoint> {
    const other = (await this.all()).find(
      (row) => row.consumer === consumer && row.partitionCount !== partition.count,
    );
    if (other) {
      throw new CheckpointLayout(`consumer ${consumer} is laid out in ${other.partitionCount} partitions`);
    }
    const present = this.current(consumer, partition.index);
    if (present) return present;

    const hash = startAt === 0 ? ZERO_HASH : this.#hashAt(startAt);
    if (hash === null) throw new Error(`no event at ${startAt} to start at`);
    const row: ConsumerCheckpoint = {
      consumer,
      partition: partition.index,
      partitionCount: partition.count,
      pos: startAt,
      hash,
      updatedAt: isoOf(this.#now()),
    };
    this.#rows.set(keyOf(consumer, partition.index), row);
    return row;
  }

  async all(): Promise<readonly ConsumerCheckpoint[]> {
    return [...this.#rows.values()].sort(
      (a, b) => compareText(a.consumer, b.consumer) || a.partition - b.partition,
    );
  }

  async lowest(): Promise<number | null> {
    const positions = [...this.#rows.values()].map((row) => row.pos);
    return positions.length === 0 ? null : Math.min(...positions);
  }

  current(consumer: string, partition: number): ConsumerCheckpoint | null {
    return this.#rows.get(keyOf(consumer, partition)) ?? null;
  }

  move(consumer: string, partition: number, pos: number, hash: string): void {
    const row = this.current(consumer, partition);
    if (!row) throw new Error('a step was taken of a checkpoint that does not exist');
    this.#rows.set(keyOf(consumer, partition), { ...row, pos, hash, updatedAt: isoOf(this.#now()) });
  }
}

interface InMemoryLease {
  readonly fence: number;
  holder: string | null;
  untilMs: number;
}

export class InMemoryLeases implements Leases {
  readonly #rows = new Map<string, InMemoryLease>();
  readonly #now: StoreClock;

  constructor(now: StoreClock) {
    this.#now = now;
  }

  async take(name: string, holder: string, forMs: number): Promise<Lease | null> {
    const row = this.#rows.get(name);
    if (row && !this.#isFreeFor(holder, row)) return null;
    this.step({ lease: name, holder, from: row?.fence ?? 0, forMs });
    return this.read(name);
  }

  async renew(name: string, fence: number, forMs: number): Promise<boolean> {
    const row = this.#rows.get(name);
    if (!row || row.fence !== fence || row.holder === null || row.untilMs <= this.#now()) return false;
    row.untilMs = this.#now() + forMs;
    return true;
  }

  async release(name: string, fence: number): Promise<boolean> {
    const row = this.#rows.get(name);
    if (!row || row.fence !== fence || row.holder === null) return false;
    row.holder = null;
    row.untilMs = this.#now();
    return true;
  }

  async read(name: string): Promise<Lease | null> {
    const row = this.#rows.get(name);
    return row ? { name, fence: row.fence, holder: row.holder, until: isoOf(row.untilMs) } : null;
  }

  async clock(): Promise<string> {
    return isoOf(this.#now());
  }

  isCurrent(name: string, fence: number): boolean {
    return this.#rows.get(name)?.fence === fence;
  }

  isTakeable({ lease, holder, from }: LeaseStep): boolean {
    const row = this.#rows.get(lease);
    return row ? row.fence === from && this.#isFreeFor(holder, row) : from === 0;
  }

  /** Takes a lease that can be taken. */
  step({ lease, holder, from, forMs }: LeaseStep): void {
    this.#rows.set(lease, { fence: from + 1, holder, untilMs: this.#now() + forMs });
  }

  #isFreeFor(holder: string, row: InMemoryLease): boolean {
    return row.holder === null || row.holder === holder || row.untilMs <= this.#now();
  }
}

export class InMemoryParked implements ParkedStreams {
  readonly #rows = new Map<string, ParkedStream>();
  readonly #now: StoreClock;

  constructor(now: StoreClock) {
    this.#now = now;
  }

  async park(
    row: Pick<ParkedStream, 'consumer' | 'stream' | 'firstPos' | 'reason' | 'tries'>,
  ): Promise<void> {
    const present = this.#rows.get(keyOf(row.consumer, row.stream));
    this.#rows.set(keyOf(row.consumer, row.stream), {
      ...row,
      firstPos: Math.min(row.firstPos, present?.firstPos ?? row.firstPos),
      tries: Math.max(row.tries, present?.tries ?? 0),
      parkedAt: present?.parkedAt ?? isoOf(this.#now()),
      state: 'parked',
    });
  }

  async parkAgain(
    row: Pick<ParkedStream, 'consumer' | 'stream' | 'firstPos' | 'reason' | 'tries'>,
  ): Promise<void> {
    const present = this.#rows.get(keyOf(row.consumer, row.stream));
    if (!present) return;
    this.#rows.set(keyOf(row.consumer, row.stream), { ...present, ...row, state: 'parked' });
  }

  async find(consumer: string, stream: string): Promise<ParkedStream | null> {
    return this.#rows.get(keyOf(consumer, stream)) ?? null;
  }

  async list(consumer?: string): Promise<readonly ParkedStream[]> {
    return [...this.#rows.values()]
      .filter((row) => consumer === undefined || row.consumer === consumer)
      .sort((a, b) => compareText(a.consumer, b.consumer) || a.firstPos - b.firstPos);
  }

  async mark(consumer: string, stream: string, state: ParkedStream['state']): Promise<boolean> {
    const row = this.#rows.get(keyOf(consumer, stream));
    if (!row) return false;
    this.#rows.set(keyOf(consumer, stream), { ...row, state });
    return true;
  }

  async clear(consumer: string, stream: string): Promise<void> {
    this.#rows.delete(keyOf(consumer, stream));
  }
}

export class InMemoryTries implements HandlerTries {
  readonly #rows = new Map<string, Map<number, number>>();

  async count(consumer: string, partition: number, pos: number): Promise<number> {
    const counts = this.#rows.get(keyOf(consumer, partition)) ?? new Map<number, number>();
    this.#rows.set(keyOf(consumer, partition), counts);
    const tries = (counts.get(pos) ?? 0) + 1;
    counts.set(pos, tries);
    return tries;
  }

  async clear(consumer: string, partition: number, pos: number): Promise<void> {
    const counts = this.#rows.get(keyOf(consumer, partition));
    for (const counted of counts?.keys() ?? []) if (counted <= pos) counts?.delete(counted);
  }
}

export class InMemoryDeadLetters implements DeadLetters {
  readonly #rows = new Map<string, DeadLetter>();
  readonly #now: StoreClock;

  constructor(now: StoreClock) {
    this.#now = now;
  }

  async add(row: Omit<DeadLetter, 'at'>): Promise<void> {
    if (!this.#rows.has(row.id)) this.#rows.set(row.id, { ...row, at: isoOf(this.#now()) });
  }

  async list(limit: number): Promise<readonly DeadLetter[]> {
    return [...this.#rows.values()]
      .sort((a, b) => compareText(b.at, a.at) || compareText(a.id, b.id))
      .slice(0, limit);
  }

  async count(): Promise<number> {
    return this.#rows.size;
  }
}
